"""The active party at its own site: assigns rows, runs a method as in one process, and writes what came of it.

Nothing here knows FLARE: `link` reaches the passive sites.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.ids import Ids, locate
from colonnade.data.splits import Split, split
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError
from colonnade.federate.description import FederationFile, SiteFile
from colonnade.federate.known import known_rows
from colonnade.federate.parts import kept_of, write_json, write_part
from colonnade.federate.resume import Memory, find_together
from colonnade.federate.table import SiteTable
from colonnade.federation import RemoteData
from colonnade.methods.base import Method
from colonnade.methods.network import NetworkMethod
from colonnade.methods.store import method_named
from colonnade.metrics import scores
from colonnade.wire.engines.flare import ASSIGN, FINISH, Flare, Link
from colonnade.wire.message import KINDS, Message, Value
from colonnade.wire.protection import Noise
from colonnade.wire.protections.text import text_of
from colonnade.wire.wire import Wire

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class ActiveSite:
    """The active party in one run."""

    federation: FederationFile
    site: SiteFile
    table: SiteTable
    link: Link
    memory: Memory | None = None  # of the run from before a crash; None: it cannot go on after one
    title: str = ""  # name of the run; by default the digits of its 16 bytes

    def train(self, name: str, options: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Train a method with the passive sites; the record. This party's part of the model goes to `out`."""
        method = _network_method(name, options)
        parts = split(known_rows(self.federation, self.site, self.table), labels=self.site.labels, seed=self.site.seed)
        assert parts.valid is not None
        if self.memory is not None:
            find_together(self.link, self.memory.replies)
        overhead = self.assign(method, parts)
        started = time.perf_counter()
        method.fit(self._remote(parts.train), self._remote(parts.valid), progress=progress)
        seconds = time.perf_counter() - started
        record = self._record(method, parts, seconds, overhead)
        self._tell(FINISH, "order", {}, {})
        write_part(self.site.out, method.federation_.active, record["run"], kept_of(method, record["absent"]))
        write_json(self.site.out / f"{record['run']}-audit.json", method.federation_.wire.audit_json())
        write_json(self.site.out / f"{record['run']}.json", record)  # the last one: it says that the others are there
        if self.memory is not None:
            self.memory.remove()
        return record

    def assign(self, method: NetworkMethod, parts: Split) -> dict[str, Any]:
        """Tell every site which aligned rows train, validate and test; the traffic of it."""
        assert parts.valid is not None
        rows = {
            "train": self._positions(parts.train.aligned),
            "valid": self._positions(np.sort(parts.valid.labels.ids)),
            "test": self._positions(np.sort(parts.test.labels.ids)),
        }
        names = {"train": "train", "valid": "valid", "test": "predict"}
        self.link.absent.rows = {names[part]: len(positions) for part, positions in rows.items()}
        noises = [made for made in method.wire().protections if isinstance(made, Noise) and made.scale]
        up = [text_of(made) for made in noises if KINDS[made.kind].direction == "up"]  # also those of its own
        values: dict[str, Value] = {"digest": self.table.digest(self.link.run), "method": method.name,
                  "codec": getattr(method, "codec", "float32"), "protect": "+".join(up)}  # fmt: skip
        return self._tell(ASSIGN, "assignment", rows, values)

    def _tell(self, operation: str, kind: str, tensors: dict[str, Tensor], values: dict[str, Value]) -> dict[str, Any]:
        """Put something to all sites that is no part of the method; the traffic of it."""
        me, wire = self.site.party, Wire(active=self.site.party)
        requests = {
            party: Message(kind, me, party, operation, dict(tensors), dict(values)) for party in self.federation.passive
        }
        self.link.exchange(wire, operation, requests)
        return wire.traffic.to_json()

    def _positions(self, ids: Ids) -> Tensor:
        at = locate(self.table.aligned, ids)
        assert (at >= 0).all()
        return torch.from_numpy(at.astype(np.int32))

    def _remote(self, data: VerticalData) -> RemoteData:
        remote = RemoteData.of(data.views, data.labels, data.active, data.task)
        assert isinstance(remote, RemoteData)
        remote.reach = lambda names, wire: Flare(names, wire, self.link)
        if self.memory is not None:
            remote.keeper, remote.secret = self.memory.courses, self.memory.secret
        return remote

    def _record(self, method: NetworkMethod, parts: Split, seconds: float, overhead: dict[str, Any]) -> dict[str, Any]:
        self.link.settle()
        best = max((h for h in method.history_ if "validation" in h), key=lambda h: h["epoch"], default={})
        found = self._scores(method, parts.test)
        parties = [self.site.party, *self.federation.passive]
        return {
            "run": self.title or self.link.run.hex(), "data": self.federation.name, "method": method.name,
            "kind": method.kind, "task": method.task_, "metric": method.metric_, "score": found[method.metric_],
            "scores": _finite(found), "validation": best.get("validation"),
            "traffic": method.traffic_.to_json(), "assignment": overhead,
            "seconds": seconds, "seed": method.seed,
            "config": {
                **method.options_json(), "labels": self.site.labels, "parties": parties, "active": self.site.party,
                "rows": _sizes(parts),
            },
            "history": [_finite(epoch) for epoch in method.history_], "parties": parties,
            "absent": sorted(self.link.absent.names),
            "resumed": 0 if self.memory is None else self.memory.replies.count,
        }  # fmt: skip

    def _scores(self, method: NetworkMethod, test: VerticalData) -> dict[str, float]:
        """The metrics on the test rows, whose representations each site computes from its own."""
        ids, values = rows_to_test(test)
        fed = method.federation_
        if fed.active.preprocessor is not None:
            fed.active.load("predict", test.views[self.site.party], ids)
        with fed.phase("predict"):
            received = fed.ask("represent", table="predict")
        out = fed.active.targets.decode(fed.active.predict("predict", received, len(ids)))
        return scores(values, out, method.classes_, test.task)


def _sizes(parts: Split) -> dict[str, int]:
    """How many rows of each sort the run had."""
    assert parts.valid is not None
    return {
        "train_aligned": len(parts.train.aligned), "train_labelled": len(parts.train.labels),
        "valid_labelled": len(parts.valid.labels), "test": len(parts.test.labels),
    }  # fmt: skip


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Without numbers that JSON cannot hold."""
    return {k: v for k, v in values.items() if not isinstance(v, float) or math.isfinite(v)}


def rows_to_test(test: VerticalData) -> tuple[Ids, npt.NDArray[Any]]:
    """Ids and labels of the test rows, in the order in which every site holds them."""
    ids = np.sort(test.labels.ids)
    return ids, test.labels.of(ids)[0]


def _network_method(name: str, options: dict[str, Any]) -> NetworkMethod:
    method: Method = method_named(name)(**options)
    if not isinstance(method, NetworkMethod) or method.kind == "pooled":
        raise ConfigError(f"{name} does not train between sites. Use e.g. splitnn, fedonce or fedhssl.")
    return method
