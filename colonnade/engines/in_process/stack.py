"""Parties of one process whose encoders have equal shapes answer as one, by the stacked forms of their skills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from colonnade.errors import WireError
from colonnade.parties.engine import Requests
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.skill import Operation, Reply
from colonnade.parties.skills.stacked_encoder import EncoderStack, shape_to_stack

MIN_PARTIES = 2
Form = Callable[[Requests], Mapping[str, Tensor] | None]


def stack_parties(parties: Iterable[PassiveParty]) -> list[PartyStack]:
    """Group the parties whose encoders can run as one; none where a skill of the run would not stand it."""
    shapes: dict[Any, list[PassiveParty]] = {}
    for party in parties:
        key = shape_to_stack(party)
        if key is not None and all(skill.beside_stack for skill in party.skills):
            shapes.setdefault(key, []).append(party)
    return [PartyStack(group) for group in shapes.values() if len(group) >= MIN_PARTIES]


class PartyStack:
    """K passive parties that answer as one.

    An operation with a stacked form is carried out for all of them, or for each alone where the form says so. The
    others are carried out party by party, on weights that are slices of the stack's.
    """

    def __init__(self, parties: Sequence[PassiveParty]) -> None:
        self.encoders = EncoderStack(parties)
        self.names = self.encoders.names
        self._forms: dict[str, tuple[Callable[[Requests], bool], Form]] = {}
        self._joint: set[str] = set()  # operations whose state is the stack's
        for skill in parties[0].skills:
            form = skill.stacked(self.encoders)
            if form is None:
                continue
            for name in skill.operations:
                if hasattr(form, name):
                    if form.joint:
                        self._joint.add(name)
                    self._forms[name] = getattr(form, f"can_{name}"), getattr(form, name)

    def can(self, operation: Operation, requests: Requests) -> bool:
        """Whether this call can be made for all parties at once."""
        form = self._forms.get(operation.name)
        if form is None or not self.encoders.intact:
            return False
        if requests.names != self.names and not all(name in requests.names for name in self.names):
            self._refuse_some(operation, requests)
            return False
        return form[0](requests)

    def _refuse_some(self, operation: Operation, requests: Requests) -> None:
        """Refuse a call to some of the parties, where what they answer depends on an earlier call to all of them."""
        if operation.name in self._joint and any(name in requests.names for name in self.names):
            raise WireError(
                f"{operation.name!r} was asked of {', '.join(requests.names)}, and these parties answer as one with "
                f"others: {', '.join(self.names)}. Let the method ask all at once, or say that it does not."
            )

    def form(self, operation: Operation) -> Form:
        """What carries out one operation for all parties; their tensors, where it has an answer."""
        return self._forms[operation.name][1]

    def replies(self, operation: Operation, answer: Mapping[str, Tensor] | None) -> dict[str, Reply | None]:
        """The answer cut into one reply for each party."""
        if operation.answers is None or answer is None:
            return dict.fromkeys(self.names)
        key = next(iter(operation.answers.tensors))
        return {name: Reply({key: tensor}) for name, tensor in answer.items()}
