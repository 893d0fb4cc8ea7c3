"""A party as the owner of columns in trees: what its operations do.

The active party's own columns have an owner too; only passive parties are asked over the wire.

m rows that a tree learns from, M rows to divide, J nodes, F columns, C outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.errors import DataError, WireError
from colonnade.methods.secureboost.trees.bins import Binner
from colonnade.methods.secureboost.trees.columns import NOWHERE, Bytes, Columns, Layout, Mask, Whole
from colonnade.methods.secureboost.trees.packing import Packing
from colonnade.wire.message import Message

if TYPE_CHECKING:
    from colonnade.parties.party import Party

Ints = npt.NDArray[Any]  # whole numbers of any width, as they came


@dataclass
class Owner:
    """One party's columns, and what it was last told of the rows that a tree learns from."""

    party: Party
    columns: Columns
    layout: Layout
    packing: Packing | None = None  # where derivatives come encrypted
    modulus: Any = None
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # (m,) positions in the training table
    values: Ints | None = None  # (m, 2C) derivatives in the clear
    ciphertexts: list[list[Any]] = field(default_factory=list)  # (parts, m)

    @classmethod
    def fit(cls, party: Party, bins: int) -> Owner:
        """Fit the bins on the party's training rows, and make the training table."""
        if party.view is None:
            raise WireError(f"party {party.name!r} was asked to bin its columns a second time.")
        party.preprocessor = binner = Binner.fit_bins(party.view, bins)
        party.tables["train"] = binner.transform(party.view, f"party {party.name!r}")
        party.view = None  # the table has what is needed from here on
        columns = Columns(binner.slots, binner.categorical)
        return cls(party, columns, columns.layout(party.tables["train"].x.numpy()))

    @classmethod
    def restore(cls, party: Party, state: dict[str, Tensor]) -> Owner:
        """An owner with the records of `state`, for predictions."""
        binner = party.preprocessor
        if not isinstance(binner, Binner):
            raise DataError(f"what was saved of party {party.name!r} has no bins. Save the model anew.")
        columns = Columns(
            binner.slots, binner.categorical, state["column"].tolist(), list(state["left"].bool().numpy())
        )
        return cls(party, columns, Layout(binner.slots, binner.categorical, np.zeros_like(binner.slots)))

    def state(self) -> dict[str, Tensor]:
        """The party's lookup table: of each record its column, and which slots go left."""
        left = np.array(self.columns.left, dtype=np.uint8).reshape(-1, self.layout.most)
        return {"column": torch.tensor(self.columns.column, dtype=torch.int32), "left": torch.from_numpy(left)}

    def receive_key(self, key: Bytes, rows: int, outputs: int) -> None:
        """Expect ciphertexts under this public key."""
        from colonnade.methods.secureboost.trees.paillier import as_numbers  # deferred: needs gmpy2

        self.modulus, self.packing = as_numbers(key[None])[0], Packing(8 * len(key), rows, outputs, 1)

    def take(self, derivatives: Ints, rows: Ints | None = None) -> None:
        """Take the derivatives of the next round of trees, (m, 2C); `rows` where they are others than before."""
        self._take_rows(rows, len(derivatives))
        self.values = derivatives

    def take_encrypted(self, ciphertexts: Bytes, rows: Ints | None = None) -> None:
        """The same under encryption."""
        from colonnade.methods.secureboost.trees.paillier import as_numbers  # deferred: needs gmpy2

        if self.packing is None:
            raise WireError(f"party {self.party.name!r} received ciphertexts before it received a key.")
        self._take_rows(rows, len(ciphertexts))
        self.packing = replace(self.packing, parts=ciphertexts.shape[1] // self.packing.size)
        parts = np.split(ciphertexts, self.packing.parts, axis=1)
        self.ciphertexts = [as_numbers(part) for part in parts]

    def _take_rows(self, rows: Ints | None, count: int) -> None:
        self.rows = self.rows if rows is None else rows
        if len(self.rows) != count:
            raise WireError(f"party {self.party.name!r} received {count} derivatives for {len(self.rows)} rows.")

    def add_up(self, nodes: Bytes, count: int, output: int) -> Whole:
        """Alg. 1: sums of one output's g and h by node and slot, (J, T, 2)."""
        if self.values is None:
            raise WireError(f"party {self.party.name!r} was asked for sums before it was told derivatives.")
        self._check_nodes(nodes, count)
        values = self.values[:, 2 * output : 2 * output + 2]
        return self.columns.histogram(self.bins("train")[self.rows], nodes, count, values)

    def add_up_encrypted(self, nodes: Bytes, count: int, output: int) -> Bytes:
        """The same under encryption, (k, size) bytes."""
        from colonnade.methods.secureboost.trees.paillier import add_up  # deferred: needs gmpy2

        if self.packing is None or not self.ciphertexts:
            raise WireError(f"party {self.party.name!r} was asked for encrypted sums before it received ciphertexts.")
        self._check_nodes(nodes, count)
        ciphertexts = self.ciphertexts[output // self.packing.group]
        bins = self.bins("train")[self.rows]
        return add_up(ciphertexts, bins, nodes, count, self.layout, self.modulus, self.packing)

    def _check_nodes(self, nodes: Bytes, count: int) -> None:
        if len(nodes) != len(self.rows) or not 0 < count < NOWHERE or (nodes[nodes != NOWHERE] >= count).any():
            raise WireError(f"party {self.party.name!r} was asked for sums of {count} nodes that do not fit its rows.")

    def divide(self, rows: Ints, sizes: Ints, column: Ints, left: Bytes) -> Mask:
        """Alg. 2: which rows go left, (M,); the first `sizes[0]` rows are of the first node, and so on."""
        members = np.split(rows, np.cumsum(sizes)[:-1])
        return np.concatenate(self.columns.divide(self.bins("train"), members, column.tolist(), left.astype(bool)))

    def visit(self, records: Ints, at: Ints, table: str) -> Mask:
        """Which rows of a table go left at these records; rows that are not held go where missing values go."""
        return self.columns.sides(self.bins(table), records, at)

    def bins(self, table: str) -> Bytes:
        """The slots of a table's rows, (N, F); 0, as for missing values, of rows that the party does not hold."""
        held: Bytes = self.party.tables[table].x.numpy()
        mask = self.party.present.get(table)
        if mask is None:
            return held
        full = np.zeros((len(mask), held.shape[1]), dtype=np.uint8)
        full[mask.numpy()] = held
        return full


def arrays(message: Message) -> dict[str, Ints]:
    """A message's tensors as arrays."""
    return {name: tensor.numpy() for name, tensor in message.tensors.items()}


def as_bits(sides: Mask) -> Tensor:
    """One bit per row."""
    return torch.from_numpy(np.packbits(sides))
