"""Federations of one process as a method's loop gets them, and what crosses in them."""

from __future__ import annotations

from typing import Any

import pytest

import colonnade as cn
from colonnade.engines.in_process.engine import InProcess
from colonnade.methods._base.method import no_progress
from colonnade.methods._base.network import assemble
from colonnade.methods._base.prepare import prepare
from colonnade.parties.federation import Federation
from colonnade.parties.party import Party
from colonnade.parties.passive import PassiveParty
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire


def put_together(method: Any, data: cn.VerticalData, *, stack: bool = True, ready: bool = True) -> Federation:
    """The federation as `run` gets it, or as it is before it is prepared."""
    method.task_, method.metric_, method.history_ = data.task, "accuracy", []
    setup = method.setup()
    fed = assemble(method, setup, data, no_progress)
    engine_of(fed).may_stack &= stack
    if ready:
        prepare(fed, setup, method.get_params())
    return fed


def engine_of(fed: Federation) -> InProcess:
    """The engine of one process."""
    assert isinstance(fed.engine, InProcess)
    return fed.engine


def passive_of(fed: Federation) -> dict[str, PassiveParty]:
    """The passive parties by name."""
    return dict(engine_of(fed).parties)


def parties_of(fed: Federation) -> list[Party]:
    """All parties, the active one first."""
    return [fed.active, *passive_of(fed).values()]


def observe(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """All messages that cross any wire from now on, each as its receiver gets it."""
    seen: list[Message] = []
    made = Wire.__post_init__

    def listening(wire: Wire) -> None:
        made(wire)
        wire.observers.append(seen.append)

    monkeypatch.setattr(Wire, "__post_init__", listening)
    return seen
