"""Predictions at a passive site: it encodes the rows that it is asked for with its own part of a model.

Rows are asked for by their place in the list that the site sent in the alignment: no id crosses. What the active side
does with the answers is in `gathering.py`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from colonnade.data.ids import Positions
from colonnade.errors import ConfigError, WireError
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.parties.skills.skill import offer_of
from colonnade.sites.files.say import say
from colonnade.sites.policy.budget import budget_of
from colonnade.sites.policy.policy import RefusedError
from colonnade.sites.prediction.loading import passive_party, read_part
from colonnade.sites.settings.description import SiteFile
from colonnade.sites.settings.table import SiteTable
from colonnade.sites.skills.predict import Predicting
from colonnade.sites.skills.train import Assigning
from colonnade.wire.codec import PRECISIONS
from colonnade.wire.protections import build
from colonnade.wire.protections.asked import Question
from colonnade.wire.protections.text import listed, parse
from colonnade.wire.wire import Wire

TABLE = "asked"
KINDS = offer_of(Predicting, Assigning).kinds  # of messages in predictions


class PredictingSite:
    """A passive party's side: its part of one model, its own table, within what its owner allows."""

    def __init__(self, file: SiteFile, table: SiteTable, active: str, run: bytes) -> None:
        self.file, self.table, self.active, self.run = file, table, active, run
        self.party: PassiveParty | None = None
        self.wire: Wire | None = None  # once a part is open: how its representations travel
        self.asked: set[int] = set()
        self.budget = budget_of(file.policy, file.party, run, file.out)

    def open(self, run: str, digest: str) -> tuple[Tensor, int]:
        """Load this party's part of a run: the places that have no row any more, and how wide it is."""
        if self.table.agreed is None or digest != self.table.same(self.run):
            raise WireError(f"party {self.file.party!r} holds another alignment than {self.active!r}. Align again.")
        if self.party is not None:
            raise WireError("a part is opened once in a run. Start another.")
        part = read_part(self.file.out, run, self.file.party)
        self.file.policy.check_method(str(part.kept.get("method")))
        self.wire = _wire(part.kept, self.active)
        if self.budget is not None:
            if not part.kept.get("private"):
                raise RefusedError("the policy has an epsilon, and this part was learnt without one. Train again.")
            self.budget.promise(self.wire.protections)
        self.party = passive_party(part)
        say(f"predictions by run {part.run} began")
        gone = np.flatnonzero(self.table.at < 0)
        return torch.from_numpy(gone), self.party.width

    def encode(self, places: Tensor) -> Tensor:
        """(n, D) representations of the rows at these places."""
        if self.party is None or self.wire is None:
            raise WireError("rows were asked for before a part was opened.")
        if self.table.view is None:
            raise WireError(f"party {self.file.party!r} has no columns now, and had some in training.")
        found = places.long().numpy()
        self._check(found)
        if self.budget is not None:
            self.budget.release(Question(TABLE, places), "predict", self.wire.protections)
        every = np.arange(len(found), dtype=np.int64)
        self.party.load(TABLE, self.table.view.take(self.table.at[found]).with_ids(every), every)
        try:
            return self.party.encode_table(TABLE)
        finally:
            self.party.tables.pop(TABLE)

    def _check(self, places: Positions) -> None:
        """Each place has a row and is named once; no more rows in a run than the owner allows."""
        known = len(self.table.at)
        inside = not len(places) or 0 <= int(places.min()) <= int(places.max()) < known
        if not inside or (self.table.at[places] < 0).any() or len(np.unique(places)) < len(places):
            raise WireError("rows were asked for that the party does not hold, or one of them twice.")
        asked = self.asked | set(places.tolist())
        self.file.policy.check_rows(len(asked))
        self.asked = asked


def _wire(kept: Mapping[str, object], active: str) -> Wire:
    """As in training: how numbers travel, and noise on representations, from a seed that nobody else knows."""
    codec, protect = kept.get("codec"), str(kept.get("protect") or "")
    if codec not in PRECISIONS:
        raise ConfigError(f"a part was trained with codec {codec!r}, which is none of {', '.join(PRECISIONS)}.")
    asked = [entry for entry in (listed(protect) if protect else ()) if parse(entry).kind == REPRESENTATION.name]
    protections = [*build(tuple(asked), secrets.randbits(62))]
    return Wire(KINDS, precision=codec, protections=[*protections], active=active)
