"""The wire and the engine of a run, as a method's options ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.engines.in_process.engine import InProcess
from colonnade.methods._base.setup import Setup
from colonnade.parties.passive import PassiveParty
from colonnade.wire.codec import Precision
from colonnade.wire.protections import build
from colonnade.wire.wire import Wire

if TYPE_CHECKING:
    from colonnade.methods._base.method import Method


def late_parties(method: Method) -> tuple[str, ...]:
    """The parties that are always late."""
    late = getattr(method, "late", ())
    return (late,) if isinstance(late, str) else tuple(late)


def wire_of(method: Method, setup: Setup) -> Wire:
    """The wire between the parties."""
    protections = build(getattr(method, "protect", ()), method.seed)
    precision: Precision = getattr(method, "codec", "float32")
    return Wire(setup.offer.kinds, precision, [*protections, *setup.noise], observers=[*method.observers])


def in_process(method: Method, setup: Setup, passive: list[PassiveParty], *, stack: bool = True) -> InProcess:
    """The engine of one process, with what the method says about waiting."""
    return InProcess(
        passive, wire_of(method, setup), setup.offer,
        stack=stack and not setup.one_by_one,
        response_limit=getattr(method, "response_limit", None), always_late=late_parties(method),
    )  # fmt: skip
