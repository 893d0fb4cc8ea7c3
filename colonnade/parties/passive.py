"""Passive parties: columns and no labels, and the skills of the run.

What may be asked of a party is the operations of its skills, and nothing else. The same operations are called in one
process and between sites.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from colonnade.errors import WireError
from colonnade.parties.party import Party
from colonnade.parties.skills.skill import Offer, Operation, Reply, Skill, offer_of
from colonnade.wire.message import Message

S = TypeVar("S", bound=Skill)
Carry = Callable[[Message], Reply | None]


class PassiveParty(Party):
    """A party with columns and no labels."""

    def __init__(self, *args: Any, skills: tuple[type[Skill], ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.skills = {skill: skill(self) for skill in skills}
        self.offer: Offer = offer_of(*skills)
        self._carry: dict[str, Carry] = {
            name: getattr(skill, name) for skill in self.skills.values() for name in skill.operations
        }

    def skill(self, sort: type[S]) -> S:
        """The skill of a sort, which the run has."""
        found = self.skills.get(sort)
        if not isinstance(found, sort):
            had = ", ".join(skill.__name__ for skill in self.skills) or "none"
            raise WireError(f"party {self.name!r} does not have {sort.__name__} in this run. Its skills: {had}.")
        return found

    def carry_out(self, operation: Operation) -> Carry:
        """What carries out an operation of the run."""
        return self._carry[operation.name]

    def owner(self, operation: Operation) -> type[Skill]:
        """The skill that has an operation."""
        return next(skill for skill in self.skills if operation.name in skill.operations)

    def perform(self, name: str, message: Message) -> Reply | None:
        """Carry out an operation by its name; refuse any other, and values that it does not take."""
        operation = self.offer.operation(name)
        operation.check(message, self.name)
        return self._carry[name](message)

    def rest(self) -> None:
        """Let every skill drop what served an earlier phase alone."""
        for skill in self.skills.values():
            skill.rest()
