"""Ids in, predictions out: what the service asks, and the predictor that gathers representations for it.

n ids, D width of a representation, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.deploy.serve.cache import Cache, Id
from colonnade.errors import DataError, WireError
from colonnade.parties.active import ActiveParty

if TYPE_CHECKING:
    from colonnade.deploy.serve.source import Found, Rows, Source

TABLE = "serve"  # name of the rows that a party is asked about
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Prediction:
    """What is said about n ids."""

    values: npt.NDArray[Any]  # (n, C) probabilities, or (n,) targets; nothing to be read at `unknown`
    unknown: tuple[int, ...]  # positions of ids that no party holds
    absent: dict[str, int]  # how many of the other rows each party lacks or did not answer for; zero took their place
    unreachable: tuple[str, ...]  # parties that did not answer
    held: dict[str, Flags] = field(default_factory=dict)  # by party (n,): whose row or representation was used


class Predictor(Protocol):
    """What the service needs; it knows nothing of parties, engines or tables."""

    method: str
    task: str
    classes: list[Any]  # in the order of the probabilities; empty for regression

    def predict(self, ids: Sequence[Id]) -> Prediction:
        """Predictions for these ids; `DataError` for ids of the wrong type. May be called by several threads."""

    def unreachable(self) -> tuple[str, ...]:
        """Parties that do not answer at present."""

    def statistics(self) -> Mapping[str, float]:
        """Numbers for /metrics; names that end in _total only grow."""


class GatheringPredictor:
    """Own rows from the own table, the others' representations from a source or the cache, one request at a time."""

    def __init__(self, method: str, active: ActiveParty, own: Rows, source: Source, cache: Cache) -> None:
        self.method = method
        self.task: str = active.targets.task
        self.classes: list[Any] = active.targets.classes.tolist()
        self.active, self.own, self.source, self.cache = active, own, source, cache
        self._lock = Lock()

    def predict(self, ids: Sequence[Id]) -> Prediction:
        """Each id is asked for once, however often it is given."""
        self._check(ids)
        each = list(dict.fromkeys(ids))
        with self._lock:
            received, held, unreachable = self._gather(each)
            if self.active.encoder is not None:
                held[self.active.name] = self.own.load(self.active, each)
            values = self._values(received, len(each))
        known = np.any(list(held.values()), axis=0)
        place = {one: i for i, one in enumerate(each)}
        at = np.array([place[one] for one in ids], dtype=np.int64)
        lacking = {name: int((known & ~mask)[at].sum()) for name, mask in held.items()}
        unknown = tuple(np.flatnonzero(~known[at]).tolist())
        absent = {name: rows for name, rows in lacking.items() if rows}
        return Prediction(values[at], unknown, absent, unreachable, {name: mask[at] for name, mask in held.items()})

    def _check(self, ids: Sequence[Id]) -> None:
        for position, one in enumerate(ids):
            if isinstance(one, str) != self.own.text:
                wanted, got = ("text", "a number") if self.own.text else ("whole numbers", "text")
                raise DataError(f"ids are {wanted} here. Got {got} at position {position}.")

    def _gather(self, ids: list[Id]) -> tuple[dict[str, Tensor], dict[str, Flags], tuple[str, ...]]:
        """Representations (n, D) by party, zero for rows that it lacks; who holds which; who did not answer."""
        known: dict[str, dict[Id, Tensor | None]] = {}
        wanted: dict[str, list[Id]] = {}
        for name in self.active.widths:
            known[name], missing = self.cache.look(name, ids)
            if missing:
                wanted[name] = missing
        found = self.source.gather(wanted) if wanted else {}
        for name, answer in found.items():
            rows = self._rows(name, wanted[name], answer)
            known[name].update(rows)
            self.cache.keep(name, rows)
        received, held = {}, {}
        for name, width in self.active.widths.items():
            mine = [known[name].get(one) for one in ids]
            held[name] = np.array([row is not None for row in mine], dtype=np.bool_)
            zero = torch.zeros(width)
            stacked = torch.stack([zero if row is None else row for row in mine])
            received[name] = stacked.to(self.active.device)
        return received, held, tuple(name for name in wanted if name not in found)

    def _rows(self, name: str, ids: list[Id], answer: Found) -> dict[Id, Tensor | None]:
        width, h = self.active.widths[name], answer.representations
        if len(answer.held) != len(ids) or h.shape != (int(answer.held.sum()), width):
            raise WireError(
                f"party {name!r} was asked for {len(ids)} rows of width {width} and answered with {tuple(h.shape)}."
            )
        rows = iter(h.detach().cpu().float().unbind())
        return {one: next(rows).clone() if has else None for one, has in zip(ids, answer.held, strict=True)}

    def _values(self, received: Mapping[str, Tensor], rows: int) -> npt.NDArray[Any]:
        try:
            return self.active.targets.decode(self.active.predict(TABLE, received, rows))
        finally:
            self.active.tables.pop(TABLE, None)
            self.active.present.pop(TABLE, None)

    def unreachable(self) -> tuple[str, ...]:
        """Parties that do not answer at present."""
        return self.source.unreachable()

    def statistics(self) -> Mapping[str, float]:
        """The cache's and the source's numbers."""
        with self._lock:
            return {**self.cache.statistics(), **self.source.statistics()}
