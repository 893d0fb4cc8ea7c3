"""The parties of a run, prepared and not yet trained: what benchmarks time by themselves."""

from __future__ import annotations

from colonnade.data.vertical import VerticalData
from colonnade.methods._base.method import Method, no_progress
from colonnade.methods._base.network import assemble
from colonnade.methods._base.prepare import prepare
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty


def ready(method: Method, data: VerticalData) -> Federation:
    """The federation as a method's loop gets it, without validation rows."""
    setup = method.setup()
    fed = assemble(method, setup, data, no_progress)
    prepare(fed, setup, method.get_params())
    return fed


def passive_of(fed: Federation) -> list[PassiveParty]:
    """The passive parties, which are in this process."""
    return list((fed.engine.promises.parties or {}).values())
