"""All that any run may declare: the operations and kinds of the skills of all methods, whatever their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import colonnade as cn
from colonnade.parties.skills.skill import Skill, offer_of
from colonnade.wire.codec import Precision, pack
from colonnade.wire.message import Message
from colonnade.wire.protection import Noise
from colonnade.wire.wire import Wire

VARIANTS: tuple[dict[str, Any], ...] = (
    {}, {"aggregate": True}, {"aggregate": True, "secure_aggregation": True}, {"epsilon": 9.0}, {"encrypt": False},
)  # fmt: skip  # options that change which skills a run needs
N = TypeVar("N", bound=Noise)


def variants_of(method: type[cn.Method]) -> list[cn.Method]:
    """A method with each of the options that change its skills, as far as it has them."""
    known = {field.name for field in fields(method)}
    return [method(**options) for options in VARIANTS if known.issuperset(options)]


def skills_of(method: type[cn.Method]) -> tuple[type[Skill], ...]:
    """The skills that a method may need."""
    return tuple(dict.fromkeys(skill for made in variants_of(method) for skill in made.setup().skills))


SKILLS = tuple(dict.fromkeys(skill for method in cn.METHODS.values() for skill in skills_of(method)))
OFFER = offer_of(*SKILLS)
KINDS, OPERATIONS = OFFER.kinds, OFFER.operations


def make_wire(**options: Any) -> Wire:
    """A wire that carries any kind."""
    return Wire(KINDS, **options)


def packed(message: Message, precision: Precision) -> Message:
    """A message as it travels."""
    return pack(message, precision, lossy=KINDS[message.kind].lossy)


def knowing(noise: Callable[..., N]) -> Callable[..., N]:
    """A protection that knows all kinds, as if a wire had told it."""

    def make(*given: Any, **named: Any) -> N:
        made = noise(*given, **named)
        made.learn(KINDS)
        return made

    return make
