"""What `benchmarks.flare` runs inside a FLARE job."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nvflare.collab import collab

from benchmarks.flare import BLOCKS, ROUNDS, SHAPE
from colonnade.engines.remote import Flare, Link
from colonnade.parties.passive import PassiveParty, Reply
from colonnade.sites.alignment.table import read_site_table
from colonnade.sites.provisioning.components import call_of, files
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.envelope import run_of
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire


class Echo(PassiveParty):
    """A party that sends back what it got."""

    def cross(self, message: Message) -> Reply:
        return Reply({"projection": message.tensors["target"]}, {})


class Answerer:
    """A passive site with both ways in: bare, and ours."""

    site: PassiveSite

    @collab.init
    def open(self) -> None:
        file, federation = files()
        table = read_site_table(file)
        self.site = PassiveSite(file.party, federation.active, table, file.policy, run_of(collab.fl_ctx.get_job_id()))
        self.site.party = Echo(file.party, table.view, table.aligned)
        self.site.wire.active = federation.active

    @collab.publish
    def echo(self, x: Any) -> Any:
        return x

    @collab.publish
    def perform(self, frame: bytes) -> bytes:
        return self.site.answer(frame)


class Asker:
    """The active side: blocks of both loops in turn."""

    @collab.main
    def measure(self) -> None:
        x = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
        rows, target = torch.arange(SHAPE[0], dtype=torch.int32), torch.from_numpy(x)
        calls = {proxy.name: call_of(proxy, 60.0) for proxy in collab.clients}
        link = Link(calls, run_of(collab.fl_ctx.get_job_id()))
        engine = Flare(("shop", "telco"), Wire(active="bank"), link)

        def bare() -> None:
            results = collab.clients.echo(x)
            assert len(list(results)) == 2

        def ours() -> None:
            tensors = {"rows": rows, "target": target}
            requests = {n: Message("target", "bank", n, "bench", tensors) for n in engine.names}
            assert len(engine.call("cross", requests)) == 2

        rates: dict[str, list[float]] = {"bare": [], "ours": []}
        for block in range(BLOCKS + 1):
            for name, trip in (("bare", bare), ("ours", ours)):
                rate = _rate(trip)
                if block:  # the first is for warming up
                    rates[name].append(rate)
        draft = Path(os.environ["COLONNADE_BENCH"] + ".draft")
        draft.write_text(json.dumps(rates))
        draft.rename(os.environ["COLONNADE_BENCH"])


def _rate(trip: Callable[[], None]) -> float:
    started = time.perf_counter()
    for _ in range(ROUNDS):
        trip()
    return ROUNDS / (time.perf_counter() - started)
