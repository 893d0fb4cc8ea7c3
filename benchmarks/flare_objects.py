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
from colonnade.engines.remote import Link, Remote
from colonnade.parties.engine import Requests
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.skill import Reply, Skill, offer_of, operation
from colonnade.parties.skills.together import PROJECTION, TARGET
from colonnade.sites.running.components import call_of, files
from colonnade.sites.settings.table import read_site_table
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.envelope import run_of
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire


class Echo(Skill):
    """Sends back what came."""

    @operation(asks=TARGET, answers=PROJECTION)
    def echo(self, message: Message) -> Reply:
        return Reply({"projection": message.tensors["target"]})


OFFER = offer_of(Echo)


class Answerer:
    """A passive site with both ways in: bare, and ours."""

    site: PassiveSite

    @collab.init
    def open(self) -> None:
        file, federation = files()
        table = read_site_table(file)
        self.site = PassiveSite(file.party, federation.active, table, file.policy, run_of(collab.fl_ctx.get_job_id()))
        self.site.party = PassiveParty(file.party, table.view, table.aligned, skills=(Echo,))
        self.site.offer, self.site.wire = OFFER, Wire(OFFER.kinds, active=federation.active)

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
        names = ("shop", "telco")
        engine = Remote(names, Wire(OFFER.kinds, active="bank"), link, OFFER)
        asked, requests = OFFER.operation("echo"), Requests(TARGET.name, "bank", "bench", names, {}, {})

        def bare() -> None:
            results = collab.clients.echo(x)
            assert len(list(results)) == 2

        def ours() -> None:
            requests.tensors = {"rows": rows, "target": target}
            assert len(engine.call(asked, requests).first) == 2

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
