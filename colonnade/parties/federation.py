"""The federation as a method sees it: its own active party, and the passive parties, all at once.

`ask` puts a question to all passive parties and returns their answers; `tell` puts to them what has no answer.
Which engine carries the calls, a method does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor

from colonnade.data.vertical import VerticalData
from colonnade.nets.dropout import generators_of
from colonnade.nets.graphs import StepGraph
from colonnade.objectives.training import Keeper
from colonnade.parties.active import ActiveParty
from colonnade.parties.engine import Answers, Engine, Requests
from colonnade.parties.skills.skill import Offer, Operation
from colonnade.wire.message import Value
from colonnade.wire.wire import Wire

Given = Value | Tensor | Mapping[str, Tensor] | Mapping[str, Value]


class RemoteData(VerticalData):
    """The active party's rows; of the passive parties the ids alone, as their rows are at other sites.

    `fit` takes it like any data, and reaches the passive parties by the engine that `reach` gives. `keeper` and
    `secret` are the active party's: what lets a run that was cut go on.
    """

    reach: Callable[[tuple[str, ...], Wire, Offer], Engine]
    keeper: Keeper | None = None
    secret: bytes | None = None


class Federation:
    """One active party and an engine that reaches the passive ones."""

    def __init__(self, active: ActiveParty, engine: Engine) -> None:
        self.active = active
        self.engine = engine
        self.wire = engine.wire
        self.wire.active = active.name
        self.passive = engine.names
        self._phase = "setup"

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what happens inside, for the meter and the audit log."""
        before, self._phase = self._phase, name
        try:
            yield
        finally:
            self._phase = before

    def steps(self) -> StepGraph:
        """Runs one step after another, with the messages in it: as one CUDA graph where the engine allows it."""
        promises = self.engine.promises
        drawn = [*generators_of(*self.active.modules().values()), *promises.generators]
        return StepGraph(drawn, wire=self.wire, possible=promises.recordable)

    def ask(self, operation: str, **content: Given) -> Mapping[str, Tensor]:
        """Put a question to all passive parties; their tensors by party.

        Tensors and values go to every party; a mapping gives each party one of its own.
        """
        return self._call(operation, content).first

    def ask_values(self, operation: str, **content: Given) -> Mapping[str, Mapping[str, Value]]:
        """Put a question whose answer is values, not tensors."""
        return self._call(operation, content).values

    def tell(self, operation: str, **content: Given) -> None:
        """Put something to all passive parties that has no answer."""
        self._call(operation, content)

    def _call(self, name: str, content: Mapping[str, Given]) -> Answers:
        """Put a request to those that there is something for; nobody, where all of them were late."""
        if not self.passive:
            return Answers()
        operation, requests = self._requests(name, content)
        return self.engine.call(operation, requests) if requests.names else Answers()

    def _requests(self, name: str, content: Mapping[str, Given]) -> tuple[Operation, Requests]:
        """An operation of the run, and what is put to whom."""
        operation = self.engine.offer.operation(name)
        declared = operation.asks.tensors
        tensors, values = {}, {}
        for key, given in content.items():
            if key not in declared:
                values[key] = given
            elif given is not None:
                tensors[key] = given
        self.wire.count_round(self._phase)
        names = _addressed(self.passive, tensors)
        return operation, Requests(operation.asks.name, self.active.name, self._phase, names, tensors, values)  # type: ignore[arg-type]


def _addressed(passive: tuple[str, ...], tensors: Mapping[str, Given]) -> tuple[str, ...]:
    """The parties that there is something for: those of each mapping, if tensors come by party alone."""
    some: set[str] = set()
    for given in tensors.values():
        if not isinstance(given, Mapping) or len(given) == len(passive):
            return passive
        some.update(given)
    return tuple(name for name in passive if name in some) if tensors else passive
