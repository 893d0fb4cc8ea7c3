"""What a site can be asked around a training: to take its rows, and to end it."""

from __future__ import annotations

from typing import Protocol

from colonnade.parties.skills.bounds import TEXT, one_of
from colonnade.parties.skills.kinds import ORDER
from colonnade.parties.skills.skill import Skill, operation
from colonnade.wire.codec import PRECISIONS
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

SKILLS = ("skills", "skills2", "skills3", "skills4")  # values that name the skills of a run: one holds a short text
ASSIGNMENT = Kind(
    "assignment", "down",
    "between sites, before training: which aligned rows train, validate and test, as positions in the agreed order; "
    "and what the run may ask",
    tensors={"train": ("int", 1), "valid": ("int", 1), "test": ("int", 1)},
)  # fmt: skip
ASSIGNED = {
    "digest": TEXT, "method": TEXT, "codec": one_of(*PRECISIONS), "protect": TEXT,
    **dict.fromkeys(SKILLS, TEXT), "declarations": TEXT,
}  # fmt: skip


class Trains(Protocol):
    """A site that can take part in a training."""

    def assign(self, message: Message) -> None:
        """Take the rows and the skills of a run."""

    def finish(self) -> None:
        """End the run."""


class Assigning(Skill):
    """Begin and end of a run. It belongs to a site, not to a party of a run."""

    def __init__(self, site: Trains) -> None:
        self.site = site

    @operation(asks=ASSIGNMENT, takes=ASSIGNED, price="nothing")
    def assign(self, message: Message) -> None:
        """Take the rows and the skills of a run."""
        self.site.assign(message)

    @operation(asks=ORDER, price="nothing")
    def finish(self, message: Message) -> None:
        """End the run: this party's part of the model is kept here, and nothing more is answered."""
        self.site.finish()


ASSIGN, FINISH = Assigning.operations["assign"], Assigning.operations["finish"]
