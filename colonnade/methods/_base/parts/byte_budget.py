"""A limit on the bytes of a run: what the next exchange will cost is known before it is made.

SplitNN-Comm of Wu et al. 2022 (§5.2) is SplitNN that stops when it has cost as much as FedOnce.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from colonnade.errors import ConfigError
from colonnade.parties.federation import Federation
from colonnade.wire.codec import frame_size, pack
from colonnade.wire.message import KINDS, Message, Value


class ByteBudget:
    """Lets batches pass as long as their exchange, and what ends training after it, fit into `most` bytes.

    All traffic of the run counts, set-up and validation too. What ends training is kept in reserve: a look at the
    validation rows, the order to keep the weights and the order to recall the best ones; nothing without such rows.
    """

    def __init__(self, fed: Federation, phase: str, most: int) -> None:
        self.fed, self.phase, self.most = fed, phase, most
        self.reached = False
        valid = fed.active.y.get("valid")
        self.reserve = 0
        if valid is not None:
            asked = self._cost("validate", "rows", table="valid") + self._cost("validate", "representation", len(valid))
            self.reserve = asked + 2 * self._cost("validate", "order")

    def within(self, batches: Iterable[Tensor]) -> Iterator[Tensor]:
        """The batches, until one costs too much."""
        for batch in batches:
            if not self.pays_for(len(batch)):
                self.reached = True
                return
            yield batch

    def pays_for(self, rows: int) -> bool:
        """Whether one more exchange about so many rows fits."""
        return self.fed.wire.traffic.bytes + self.exchange(rows) + self.reserve <= self.most

    def exchange(self, rows: int) -> int:
        """Bytes of one exchange with all passive parties: rows down, representations up, gradients down."""
        return sum(self._cost(self.phase, kind, rows) for kind in ("rows", "representation", "gradient"))

    def need(self, rows: int) -> None:
        """Refuse a budget that does not pay for a single batch of so many rows."""
        if self.pays_for(rows):
            return
        spent, once = self.fed.wire.traffic.bytes, self.exchange(rows)
        reserve = f", the validation after it {self.reserve:,}" if self.reserve else ""
        raise ConfigError(
            f"max_bytes={self.most} does not pay for one batch: {spent:,} bytes went before training, one exchange "
            f"about {rows} rows costs {once:,}{reserve}. Allow at least {spent + once + self.reserve}, or lower "
            f"batch_size or width."
        )

    def _cost(self, phase: str, kind: str, rows: int | None = None, **values: Value) -> int:
        """Bytes of one message of this kind to or from each passive party."""
        active, total = self.fed.active, 0
        for name, width in active.widths.items():
            shape = () if rows is None else (rows,) if kind == "rows" else (rows, width)
            dtype = torch.int32 if kind == "rows" else torch.float32
            tensors = {kind: torch.empty(shape, dtype=dtype, device="meta")} if shape else {}
            ends = (name, active.name) if KINDS[kind].direction == "up" else (active.name, name)
            message = Message(kind, *ends, phase, tensors, dict(values))
            total += frame_size(pack(message, self.fed.wire.precision))
        return total
