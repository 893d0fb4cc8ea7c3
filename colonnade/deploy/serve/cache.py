"""Representations by party and id, for a limited time and in limited number. A row that a party lacks is known, too."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from torch import Tensor

Id = int | str


class Cache:
    """The rows used last, at most `rows` of them, none older than `seconds`; `rows=0` keeps nothing."""

    def __init__(self, rows: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rows, self.seconds, self.clock = rows, seconds, clock
        self.hits = self.misses = 0
        self._kept: OrderedDict[tuple[str, Id], tuple[float, Tensor | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def look(self, party: str, ids: Sequence[Id]) -> tuple[dict[Id, Tensor | None], list[Id]]:
        """What is known of these rows, None for one that the party lacks; and the ids of which nothing is."""
        now, known, missing = self.clock(), {}, []
        for one in ids:
            entry = self._kept.get((party, one))
            if entry is not None and entry[0] > now:
                self._kept.move_to_end((party, one))
                known[one] = entry[1]
            else:
                missing.append(one)
        self.hits += len(known)
        self.misses += len(missing)
        return known, missing

    def keep(self, party: str, rows: dict[Id, Tensor | None]) -> None:
        """Remember rows from now on."""
        until = self.clock() + self.seconds
        for one, row in rows.items():
            self._kept[(party, one)] = (until, row)
            self._kept.move_to_end((party, one))
        while len(self._kept) > self.rows:
            self._kept.popitem(last=False)

    def statistics(self) -> dict[str, float]:
        """Counts for /metrics."""
        asked = self.hits + self.misses
        return {
            "cache_hits_total": self.hits, "cache_misses_total": self.misses, "cache_rows": len(self._kept),
            "cache_hit_rate": self.hits / asked if asked else 0.0,
        }  # fmt: skip
