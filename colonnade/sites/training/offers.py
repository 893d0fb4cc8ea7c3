"""What a passive site offers besides training: alignment and predictions, one of them in a run."""

from __future__ import annotations

from dataclasses import dataclass

from colonnade.errors import WireError
from colonnade.parties.skills.skill import Operation, Reply, Skill, offer_of
from colonnade.sites.alignment.aligning import AligningSite
from colonnade.sites.prediction.predicting import PredictingSite
from colonnade.sites.settings.description import SiteFile
from colonnade.sites.settings.table import SiteTable
from colonnade.sites.skills.align import Aligning
from colonnade.sites.skills.predict import Predicting
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire


@dataclass(frozen=True)
class Work:
    """One sort of work: its skill, its name for people, and the phase in which all its answers travel."""

    skill: Skill
    name: str
    phase: str


class Offers:
    """Alignment and predictions in one run."""

    skills = (Aligning, Predicting)
    offer = offer_of(*skills)

    def __init__(self, file: SiteFile, table: SiteTable, active: str, run: bytes) -> None:
        self._predicting = PredictingSite(file, table, active, run)
        self._works = (
            Work(Aligning(AligningSite(file, table)), "alignment", "align"),
            Work(Predicting(self._predicting), "predictions", "predict"),
        )
        self._present: Work | None = None

    @property
    def wire(self) -> Wire | None:
        """How answers travel, where an opened part says it."""
        return self._predicting.wire

    def perform(self, operation: Operation, message: Message) -> tuple[Reply | None, str]:
        """Carry out one of its operations; the answer, and the phase in which it travels."""
        work = next(work for work in self._works if operation.name in work.skill.operations)
        if self._present is not None and self._present is not work:
            raise WireError(f"{operation.name!r} was asked in a run of {self._present.name}. Start another.")
        self._present = work
        reply: Reply | None = getattr(work.skill, operation.name)(message)
        return reply, work.phase
