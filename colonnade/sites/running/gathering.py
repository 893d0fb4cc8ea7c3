"""Representations from the sites, as the predictor of `colonnade.deploy.serve` wants them.

A row that a site does not hold is not asked for; a site that does not answer is left out of the answer. Zero takes the
place of what is missing, and the predictor says of which party.

n ids, D width of a representation.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from colonnade.data.ids import Positions
from colonnade.deploy.serve.cache import Cache, Id
from colonnade.deploy.serve.predictor import GatheringPredictor
from colonnade.deploy.serve.source import Found, Rows
from colonnade.engines.remote import Call, Link
from colonnade.errors import ColonnadeError, ConfigError, WireError
from colonnade.methods._base.method import Method
from colonnade.parties.skills.skill import Operation, offer_of
from colonnade.sites.prediction.loading import Part, active_model
from colonnade.sites.provisioning.channel import AbsentError
from colonnade.sites.settings.table import SiteTable, ids_alone
from colonnade.sites.skills.predict import MODEL, PLACES, Predicting
from colonnade.wire.envelope import open_reply
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire

OPEN, ENCODE = Predicting.operations["open"], Predicting.operations["encode"]
log = logging.getLogger("colonnade.deploy.serve")


class Opened:
    """A site that has opened its part of the model in one run of the link."""

    def __init__(self, name: str, active: str, call: Call, run: bytes, wire: Wire) -> None:
        self.name, self.active, self.wire = name, active, wire
        self.absent = self.refused = ""  # why it gave no answer, or would not answer
        self.gone: set[int] = set()  # places without a row
        self._call = call
        self._link = Link({name: self._watched}, run)

    def _watched(self, request: bytes) -> object:
        try:
            data = self._call(request)
        except AbsentError as error:
            self.absent = str(error)
            raise
        reply = open_reply(data)
        self.refused = reply.reason if reply.ended == "refused" else ""
        return data

    def close(self) -> None:
        """Ask no more."""
        self._link.close()

    def ask(self, operation: Operation, request: Message) -> Message | None:
        """The site's answer; None where there is no site to answer, which is no error."""
        try:
            return self._link.exchange(self.wire, operation, {self.name: request}).get(self.name)
        except WireError:
            if not self.absent:
                raise
            return None

    def open(self, trained: str, digest: str, width: int) -> bool:
        """Let it open its part of a trained run; whether it is there."""
        told = {"run": trained, "digest": digest}
        answer = self.ask(OPEN, Message(MODEL.name, self.active, self.name, "predict", {}, {**told}))
        if answer is None:
            return False
        if answer.values.get("width") != width:
            raise WireError(f"site {self.name!r} opened a part of another width than the head of run {trained} reads.")
        self.gone = set(answer.tensors["gone"].tolist())
        return True

    def encode(self, places: Positions, width: int) -> torch.Tensor | None:
        """(n, D) representations of the rows at these places, each named once; None where it is not there."""
        answer = self.ask(
            ENCODE, Message(PLACES.name, self.active, self.name, "predict", {"places": torch.from_numpy(places)})
        )
        if answer is None:
            return None
        h = answer.tensors["representation"]
        if h.shape != (len(places), width):
            raise WireError(f"site {self.name!r} was asked for {len(places)} rows and answered with {tuple(h.shape)}.")
        return h


@dataclass(frozen=True)
class Missing:
    """Sites that cannot be asked, and why: they gave no answer, or refused."""

    absent: dict[str, str]
    refused: dict[str, str]


class SitesSource:
    """Asks the sites that `connect` named last.

    One that does not answer is left alone until it is connected again. One that refuses is an error or, in a `lasting`
    source, left alone for good: another run would only go round what its owner allows in one.
    """

    def __init__(
        self, model: Method, trained: str, table: SiteTable, left: Collection[str] = (), *, lasting: bool = False
    ) -> None:
        self.left = set(left)  # sites without a part: they had left the training when it ended
        self.lasting, self.refusing = lasting, dict[str, str]()
        self.model, self.trained, self.table = model, trained, table
        self.active, self.widths = model.federation_.active.name, model.federation_.active.widths
        self.known = Rows(ids_alone(table.known), table.text)
        kinds, precision = offer_of(Predicting).kinds, model.federation_.wire.precision
        self.wires = {name: Wire(kinds, precision, active=self.active) for name in self.widths}
        self._opened: dict[str, Opened] = {}
        self._turn = threading.Lock()
        self._threads = ThreadPoolExecutor(max(1, len(self.widths)), thread_name_prefix="gather")

    def connect(self, calls: Mapping[str, Call], run: bytes) -> Missing:
        """Let the sites that can be called open their parts, and ask them from now on; who cannot be asked, and why."""
        there = [name for name in self.widths if name in calls and name not in {*self.left, *self.refusing}]
        sites = {name: Opened(name, self.active, calls[name], run, self.wires[name]) for name in there}
        absent = {name: "it is not connected." for name in self.widths if name not in calls}
        missing = Missing(absent | dict.fromkeys(self.left, "the training ended without it."), self.refusing)
        digest = self.table.same(run)

        def opens(site: Opened) -> None:
            try:
                if not site.open(self.trained, digest, self.widths[site.name]):
                    missing.absent[site.name] = site.absent
            except ColonnadeError as error:
                missing.refused[site.name] = str(error)

        with ThreadPoolExecutor(max(1, len(sites))) as threads:  # of its own: requests go on meanwhile
            list(threads.map(opens, sites.values()))
        opened = {name: site for name, site in sites.items() if name not in {**missing.absent, **missing.refused}}
        with self._turn:
            before, self._opened = self._opened, opened
        for site in {*before.values(), *sites.values()} - {*opened.values()}:
            site.close()
        return missing

    def gather(self, wanted: Mapping[str, Sequence[Id]]) -> dict[str, Found]:
        """Ask each site for the rows that it holds, all at once; without the sites that do not answer."""
        with self._turn:
            answers = self._threads.map(lambda name: self._gather(name, wanted[name]), wanted)
            return {name: found for name, found in zip(wanted, answers, strict=True) if found is not None}

    def _gather(self, name: str, ids: Sequence[Id]) -> Found | None:
        site, width = self._opened.get(name), self.widths[name]
        places = self._places(name, ids)
        if site is not None and site.gone:
            places[np.isin(places, list(site.gone))] = -1
        held = places >= 0
        if not held.any():
            return Found(held, torch.zeros(0, width))
        each, back = np.unique(places[held], return_inverse=True)
        h = None if site is None else self._encode(site, each)
        if h is None:
            if site is not None:
                self._opened.pop(name).close()
            return None
        return Found(held, h[torch.from_numpy(back)])

    def _encode(self, site: Opened, places: Positions) -> torch.Tensor | None:
        try:
            return site.encode(places, self.widths[site.name])
        except WireError:
            if not site.refused or not self.lasting:
                raise
            log.warning("%s refuses, and is left out from now on: %s", site.name, site.refused)
            self.refusing[site.name] = site.refused
            return None

    def _places(self, name: str, ids: Sequence[Id]) -> Positions:
        """Where the site's list holds each id; -1 where it does not, or where nothing is known of the id."""
        agreed = self.table.agreed
        at, places = self.known.find(ids), np.full(len(ids), -1, dtype=np.int64)
        if agreed is not None and name in agreed.places:
            places[at >= 0] = agreed.places[name][at[at >= 0]]
        return places

    def unreachable(self) -> tuple[str, ...]:
        """Sites that do not answer at present."""
        return tuple(name for name in self.widths if name not in self._opened)

    def statistics(self) -> dict[str, float]:
        """What crossed between the sites."""
        traffic = [wire.traffic for wire in self.wires.values()]
        return {
            "wire_bytes_total": sum(t.bytes for t in traffic), "wire_messages_total": sum(t.messages for t in traffic),
        }  # fmt: skip


def predictor_between_sites(
    part: Part, table: SiteTable, cache: Cache, *, lasting: bool = False
) -> tuple[GatheringPredictor, SitesSource]:
    """A predictor over the active party's part of a model and its own table; its source is not yet connected."""
    model = active_model(part)
    active = model.federation_.active
    if active.encoder is not None and table.view is None:
        raise ConfigError(f"party {active.name!r} trained with columns of its own, and its table has none now.")
    own = Rows(ids_alone(table.ids) if table.view is None else table.view, table.text)
    if active.preprocessor is not None and table.view is not None:
        none = np.zeros(0, dtype=np.int64)
        active.preprocessor.transform(table.view.take(none), f"party {active.name!r}")  # columns are those of training
    source = SitesSource(model, part.run, table, part.kept["absent"], lasting=lasting)
    return GatheringPredictor(model.name, active, own, source, cache), source
