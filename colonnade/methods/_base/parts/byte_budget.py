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
from colonnade.wire.message import Message, Value


class ByteBudget:
    """Lets batches pass as long as their exchange, and what ends training after it, fit into `most` bytes; None: all.

    All traffic of the run counts, set-up and validation too. What ends training is kept in reserve: a look at the
    validation rows, the order to keep the weights and the order to recall the best ones; nothing without such rows.
    """

    def __init__(self, fed: Federation, phase: str, most: int | None, first: int) -> None:
        self.fed, self.phase, self.most, self.first = fed, phase, most, first
        self.reached = False
        if most is None:
            return
        valid = fed.active.y.get("valid")
        self.reserve = 0
        if valid is not None:
            asked = self._cost("validate", "rows", table="valid") + self._cost("validate", "representation", len(valid))
            self.reserve = asked + 2 * self._cost("validate", "order")
        self._need(most)

    def ends(self, last: bool) -> bool:
        """Whether the budget ends training after an epoch, which may be the last one anyway."""
        return self.most is not None and (self.reached or not (last or self._pays_for(self.first, self.most)))

    def within(self, batches: Iterable[Tensor]) -> Iterator[Tensor]:
        """The batches, until one costs too much."""
        for batch in batches:
            if self.most is not None and not self._pays_for(len(batch), self.most):
                self.reached = True
                return
            yield batch

    def _pays_for(self, rows: int, most: int) -> bool:
        """Whether one more exchange about so many rows fits."""
        return self.fed.wire.traffic.bytes + self.exchange(rows) + self.reserve <= most

    def exchange(self, rows: int) -> int:
        """Bytes of one exchange with all passive parties: rows down, representations up, gradients down."""
        return sum(self._cost(self.phase, kind, rows) for kind in ("rows", "representation", "gradient"))

    def _need(self, most: int) -> None:
        """Refuse a budget that does not pay for a single batch."""
        if self._pays_for(self.first, most):
            return
        spent, once = self.fed.wire.traffic.bytes, self.exchange(self.first)
        reserve = f", the validation after it {self.reserve:,}" if self.reserve else ""
        raise ConfigError(
            f"max_bytes={most} does not pay for one batch: {spent:,} bytes went before training, one exchange "
            f"about {self.first} rows costs {once:,}{reserve}. Allow at least {spent + once + self.reserve}, or lower "
            f"batch_size or width."
        )

    def _cost(self, phase: str, kind: str, rows: int | None = None, **values: Value) -> int:
        """Bytes of one message of this kind to or from each passive party."""
        active, total = self.fed.active, 0
        for name, width in active.widths.items():
            shape = () if rows is None else (rows,) if kind == "rows" else (rows, width)
            dtype = torch.int32 if kind == "rows" else torch.float32
            tensors = {kind: torch.empty(shape, dtype=dtype, device="meta")} if shape else {}
            declared = self.fed.wire.kinds[kind]
            ends = (name, active.name) if declared.direction == "up" else (active.name, name)
            message = Message(kind, *ends, phase, tensors, dict(values))
            total += frame_size(pack(message, self.fed.wire.precision, lossy=declared.lossy))
        return total
