"""All owners of columns, as the active party sees them: its own, and the passive ones over the wire.

Parties are numbered in the order of the data, so that ties between columns fall as they would in one table.

n training rows, m of them that a tree learns from, J nodes, C outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.methods.secureboost.trees.columns import Bytes, Layout, Mask, Whole
from colonnade.methods.secureboost.trees.derivatives import Counted
from colonnade.methods.secureboost.trees.forest import Visits
from colonnade.methods.secureboost.trees.owner import Owner
from colonnade.methods.secureboost.trees.packing import Packing
from colonnade.methods.secureboost.trees.splits import Split
from colonnade.parties.federation import Federation

if TYPE_CHECKING:
    from colonnade.methods.secureboost.trees.paillier import Keys


@dataclass
class Owners:
    """Who may be asked for sums, divisions and sides."""

    fed: Federation
    names: tuple[str, ...]  # of the parties with columns, in the order of the data
    own: Owner | None  # None: the active party has labels only
    layouts: list[Layout]
    records: list[int]  # splits of each party so far
    rows: Whole  # (n,) the training rows, as positions in the agreed order
    outputs: int
    most_nodes: int  # that a tree asks sums of
    keys: Keys | None = None  # None: derivatives go in the clear
    alone: bool = False  # whether the next tree is of the active party's columns alone
    told: Whole | None = None  # the sample that passive parties were last told

    @property
    def asked(self) -> list[int]:
        """The parties whose columns the next tree may use."""
        return [k for k, name in enumerate(self.names) if not self.alone or name == self.fed.active.name]

    @property
    def packing(self) -> Packing:
        """How numbers share a ciphertext."""
        assert self.keys is not None
        slots = sum(x.width for x, name in zip(self.layouts, self.names, strict=True) if name in self.fed.passive)
        return Packing.cheapest(self.keys.bits, len(self.rows), self.outputs, slots * self.most_nodes)

    def tell(self, counted: Counted, sample: Whole) -> None:
        """Tell everyone the derivatives of a round, of the rows at `sample`, (m,)."""
        values, rows = counted.values[sample], self.rows[sample]
        if self.own is not None:
            self.own.take(values, rows)
        if self.alone:
            return
        same = self.told is not None and np.array_equal(self.told, sample)
        self.told = sample
        named = {} if same else {"rows": _tensor(rows, np.int32)}
        if self.keys is None:
            self.fed.tell("take_derivatives", derivatives=_tensor(values, np.int32), **named)
        else:
            ciphertexts = self.keys.encrypt(self.packing.pack(values))
            self.fed.tell("take_encrypted", ciphertexts=_tensor(ciphertexts, np.uint8), **named)

    def sums(self, nodes: Bytes, totals: Whole, output: int) -> list[Whole]:
        """Alg. 1 at every party: sums by node and slot, (J, T, 2) each; `nodes` (m,), `totals` (J, 2)."""
        question: dict[str, Tensor | int] = {"nodes": _tensor(nodes, np.uint8), "count": len(totals), "output": output}
        answers: Mapping[str, Tensor] = {}
        if not self.alone:
            answers = self.fed.ask("add_up" if self.keys is None else "add_up_encrypted", **question)
        found = []
        for k in self.asked:
            answer = answers.get(self.names[k])
            if answer is None:
                assert self.own is not None
                found.append(self.own.add_up(nodes, len(totals), output))
            elif self.keys is None:
                found.append(answer.numpy())
            else:
                numbers = self.keys.decrypt(answer.numpy())  # Alg. 2: D(<G_kv>), D(<H_kv>)
                found.append(self.packing.read(numbers, output, totals, self.layouts[k]))
        return found

    def divide(self, splits: Sequence[Split], rows: Sequence[Whole]) -> tuple[list[int], list[Mask]]:
        """Alg. 2 at each split's owner: its record, and which of the node's rows go left."""
        by_party: dict[int, list[int]] = {}
        for i, split in enumerate(splits):
            by_party.setdefault(split.party, []).append(i)
        questions = {k: self._question(splits, rows, which) for k, which in by_party.items()}
        answers = self._put("divide", questions)
        records, sides = [0] * len(splits), [np.zeros(0, dtype=bool)] * len(splits)
        for k, which in by_party.items():
            parts = np.split(answers[k], np.cumsum([len(rows[i]) for i in which])[:-1])
            for i, part in zip(which, parts, strict=True):
                records[i], sides[i] = self.records[k], part
                self.records[k] += 1
        return records, sides

    def _question(
        self, splits: Sequence[Split], rows: Sequence[Whole], which: Sequence[int]
    ) -> dict[str, npt.NDArray[np.generic]]:
        """What one owner is asked to divide."""
        return {
            "rows": self.rows[np.concatenate([rows[i] for i in which])].astype(np.int32),
            "sizes": np.array([len(rows[i]) for i in which], dtype=np.int32),
            "column": np.array([splits[i].column for i in which], dtype=np.int32),
            "left": np.stack([splits[i].left for i in which]).astype(np.uint8),
        }

    def sides(self, table: str, visits: Visits) -> dict[int, Mask]:
        """Which rows of a table go left at the records that they came to."""
        questions = {
            k: {"records": records.astype(np.int32), "at": at.astype(np.int32)} for k, (records, at) in visits.items()
        }
        return self._put("visit", questions, table=table)

    def _put(
        self, operation: str, questions: Mapping[int, Mapping[str, npt.NDArray[np.generic]]], **values: str
    ) -> dict[int, Mask]:
        """Put a question to each party that has one; answers of the own columns come without the wire."""
        sent: dict[str, dict[str, Tensor]] = {}
        answers: dict[int, Mask] = {}
        for k, question in questions.items():
            if self.names[k] == self.fed.active.name:
                assert self.own is not None
                answers[k] = getattr(self.own, operation)(**question, **values)
                continue
            for key, content in question.items():
                sent.setdefault(key, {})[self.names[k]] = torch.from_numpy(content)
        if sent:
            for name, bits in self.fed.ask(operation, **sent, **values).items():
                k = self.names.index(name)
                count = len(questions[k]["rows" if operation == "divide" else "at"])
                answers[k] = np.unpackbits(bits.numpy(), count=count).astype(bool)
        return answers


def _tensor(values: npt.NDArray[np.generic], dtype: type[np.generic]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=dtype))
