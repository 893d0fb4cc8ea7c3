"""Where representations come from: `Source`, and the one that asks parties in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from colonnade.data.ids import Positions
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View, as_view
from colonnade.deploy.serve.cache import Cache, Id
from colonnade.deploy.serve.predictor import TABLE, Flags, GatheringPredictor
from colonnade.errors import ConfigError, DataError, above, at_least, raise_all
from colonnade.methods._base.method import Method
from colonnade.methods._base.parts.rows import categorical_fields, no_rows
from colonnade.parties.federation import Federation
from colonnade.parties.party import Party

CACHE_ROWS, CACHE_SECONDS = 100_000, 300.0
_LIMIT = 1 << 63


@dataclass(frozen=True)
class Found:
    """A party's answer about n ids."""

    held: Flags  # (n,) which of them it holds
    representations: Tensor  # (number held, D), in the order of the ids


class Source(Protocol):
    """Gathers representations; an engine between sites offers the same."""

    def gather(self, wanted: Mapping[str, Sequence[Id]]) -> Mapping[str, Found]:
        """Ask each party named for its own ids, all at once; the answers, without parties that gave none."""

    def unreachable(self) -> tuple[str, ...]:
        """Parties that do not answer at present."""

    def statistics(self) -> Mapping[str, float]:
        """Numbers for /metrics."""


class Rows:
    """A party's table by id, its ids sorted once."""

    def __init__(self, view: View, text: bool) -> None:
        self.view, self.text = view, text
        self.order = np.argsort(view.ids, kind="stable")
        self.ids = view.ids[self.order]
        self.longest = self.ids.dtype.itemsize // 4 if text else 0

    def find(self, ids: Sequence[Id]) -> Positions:
        """Position of each id in the table; -1 where it is absent."""
        at = np.full(len(ids), -1, dtype=np.int64)
        fitting = [i for i, one in enumerate(ids) if self._fits(one)]
        if not fitting or not len(self.ids):
            return at
        wanted = np.array([ids[i] for i in fitting], dtype=self.ids.dtype)
        slot = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        at[fitting] = np.where(self.ids[slot] == wanted, self.order[slot], -1)
        return at

    def _fits(self, one: Id) -> bool:
        """Whether it can be among the ids at all: numpy would cut or wrap others."""
        if isinstance(one, str):
            return self.text and len(one) <= self.longest and not one.endswith("\0")
        return not self.text and -_LIMIT <= one < _LIMIT

    def load(self, party: Party, ids: Sequence[Id]) -> Flags:
        """Give the party its rows of these ids; which of them it holds."""
        at = self.find(ids)
        held: Flags = at >= 0
        party.load(TABLE, self.view.take(at[held]).with_ids(np.flatnonzero(held)), np.arange(len(ids)))
        return held


class InProcessSource:
    """Passive parties in this process, each with its own table; asked over the wire, as in prediction."""

    def __init__(self, fed: Federation, tables: Mapping[str, Rows]) -> None:
        self.fed, self.tables, self.parties = fed, tables, fed.engine.promises.parties or {}

    def gather(self, wanted: Mapping[str, Sequence[Id]]) -> dict[str, Found]:
        """Each party is asked for the rows that it holds, and not at all where it holds none."""
        held: dict[str, Flags] = {}
        rows: dict[str, Tensor] = {}
        for name in (name for name in wanted if name in self.tables):
            table, party = self.tables[name], self.parties[name]
            held[name] = table.find(wanted[name]) >= 0
            mine = [one for one, has in zip(wanted[name], held[name], strict=True) if has]
            if mine:
                table.load(party, mine)
                rows[name] = torch.arange(len(mine), dtype=torch.int32, device=party.device)
        try:
            with self.fed.phase("predict"):
                answers = self.fed.ask("represent", rows=rows, table=TABLE) if rows else {}
        finally:
            for party in self.parties.values():
                party.tables.pop(TABLE, None)
                party.present.pop(TABLE, None)
        empty = {name: torch.zeros(0, self.parties[name].width) for name in held if name not in rows}
        return {name: Found(held[name], h) for name, h in {**answers, **empty}.items()}

    def unreachable(self) -> tuple[str, ...]:
        """Parties without a table."""
        return tuple(name for name in self.parties if name not in self.tables)

    def statistics(self) -> dict[str, float]:
        """What crossed the wire."""
        traffic = self.fed.wire.traffic
        return {"wire_bytes_total": traffic.bytes, "wire_messages_total": traffic.messages}


def predictor_of(
    model: Method,
    data: VerticalData | Mapping[str, Any],
    *,
    cache_rows: int = CACHE_ROWS,
    cache_seconds: float = CACHE_SECONDS,
) -> GatheringPredictor:
    """A predictor over a trained model and the parties' tables in this process.

    Args:
        model: a federated method, or `local`.
        data: the tables to answer from, by party; a party without one counts as absent.
        cache_rows: representations that are kept, at most; 0 keeps none.
        cache_seconds: for how long.
    """
    problems: list[str] = []
    at_least(problems, "cache_rows", cache_rows, 0)
    above(problems, "cache_seconds", cache_seconds, 0)
    if not isinstance(model, Method) or model.kind == "pooled" or not model.trained().has_networks:
        problems.append(
            f"{getattr(model, 'name', type(model).__name__)} has no encoder at every party, so there are no "
            f"representations to gather. Serve a method with encoders, e.g. splitnn, or local."
        )
    raise_all(problems, ConfigError, "serve")
    fed = model.federation_
    views = _views(fed, data.views if isinstance(data, VerticalData) else data)
    text = next(iter(views.values())).ids.dtype.kind == "U"
    tables = {name: Rows(view, text) for name, view in views.items()}
    active = fed.active
    if active.encoder is not None and active.name not in tables:
        tables[active.name] = Rows(no_rows(fed, active.name), text)
    own = tables.pop(active.name, None) or Rows(next(iter(views.values())).take(np.zeros(0, np.int64)), text)
    return GatheringPredictor(model.name, active, own, InProcessSource(fed, tables), Cache(cache_rows, cache_seconds))


def _views(fed: Federation, given: Mapping[str, Any]) -> dict[str, View]:
    """The tables of the parties that the model reads, columns checked."""
    own: dict[str, Party] = {} if fed.active.encoder is None else {fed.active.name: fed.active}
    parties = {**own, **(fed.engine.promises.parties or {})}
    problems: list[str] = []
    views = {n: as_view(given[n], n, categorical_fields(fed, n), problems) for n in parties if n in given}
    if not views:
        problems.append(f"no party of the model has a table. Give those of {', '.join(map(repr, parties))}.")
    raise_all(problems, DataError, "serve")
    kinds = {name: "text" if view.ids.dtype.kind == "U" else "whole numbers" for name, view in views.items()}
    if len(set(kinds.values())) > 1:
        raise DataError(f"serve: ids differ in type between parties: {kinds}. Use one type at all of them.")
    for name, view in views.items():
        parties[name].fitted_preprocessor().transform(view.take(np.zeros(0, dtype=np.int64)), f"party {name!r}")
    return views
