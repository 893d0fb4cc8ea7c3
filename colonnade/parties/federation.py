"""The federation as a method sees it: its own active party, and the passive parties, all at once.

`ask` puts a question to all passive parties and returns their answers; `tell` puts to them what has no answer.
Which engine carries the calls, a method does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from torch import Generator, Tensor

from colonnade.data.vertical import VerticalData
from colonnade.nets.dropout import generators_of
from colonnade.nets.graphs import StepGraph
from colonnade.objectives.training import Keeper
from colonnade.parties.active import ActiveParty
from colonnade.parties.passive import OPERATIONS
from colonnade.parties.stacked import Stacked
from colonnade.wire.message import KINDS, Message, Value
from colonnade.wire.wire import Wire


class Engine(Protocol):
    """Carries calls to the passive parties and brings back their answers."""

    wire: Wire
    names: tuple[str, ...]

    @property
    def recordable(self) -> bool:
        """Whether a step with its messages can be replayed as one."""

    @property
    def generators(self) -> list[Generator]:
        """What a step of the passive parties draws from, where it can be replayed."""

    def call(self, operation: str, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Put a request to each party, all at once; answers by party, without the parties that have none."""

    def call_stacked(
        self, operation: str, sender: str, phase: str, content: Mapping[str, object]
    ) -> tuple[bool, Stacked | None]:
        """Put one question to all parties as one, where the engine can; whether it did, and the answers."""


class RemoteData(VerticalData):
    """The active party's rows; of the passive parties the ids alone, as their rows are at other sites.

    `fit` takes it like any data, and reaches the passive parties by the engine that `reach` gives. `keeper` and
    `secret` are the active party's: what lets a run that was cut go on.
    """

    reach: Callable[[tuple[str, ...], Wire], Engine]
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
        drawn = [*generators_of(*self.active.modules().values()), *self.engine.generators]
        return StepGraph(drawn, wire=self.wire, possible=self.engine.recordable)

    def ask(self, operation: str, **content: Value | Tensor | Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Put a question to all passive parties; their tensors by party.

        Tensors and values go to every party; a mapping gives each party one of its own.
        """
        done, stacked = self._call_stacked(operation, content)
        if done:
            return stacked if stacked is not None else {}
        answers = self._call(operation, content)
        return {name: next(iter(message.tensors.values())) for name, message in answers.items()}

    def ask_values(
        self, operation: str, **content: Value | Tensor | Mapping[str, Tensor]
    ) -> dict[str, dict[str, Value]]:
        """Put a question whose answer is values, not tensors."""
        return {name: message.values for name, message in self._call(operation, content).items()}

    def tell(self, operation: str, **content: Value | Tensor | Mapping[str, Tensor]) -> None:
        """Put something to all passive parties that has no answer."""
        done, _ = self._call_stacked(operation, content)
        if not done:
            self._call(operation, content)

    def _call_stacked(self, operation: str, content: Mapping[str, object]) -> tuple[bool, Stacked | None]:
        done, answer = self.engine.call_stacked(operation, self.active.name, self._phase, content)
        if done:
            self.wire.count_round(self._phase)
        return done, answer

    def _call(self, operation: str, content: Mapping[str, Value | Tensor | Mapping[str, Tensor]]) -> dict[str, Message]:
        if not self.passive:
            return {}
        kind = OPERATIONS[operation].request
        declared = KINDS[kind].tensors
        every = {k: v for k, v in content.items() if k not in declared}
        requests = {}
        for name in self.passive:
            tensors = {}
            for key in declared:
                given = content.get(key)
                if isinstance(given, Mapping):
                    given = given.get(name)
                if isinstance(given, Tensor):
                    tensors[key] = given
            if declared and not tensors and any(isinstance(content.get(key), Mapping) for key in declared):
                continue  # nothing for this party
            values = {k: v[name] if isinstance(v, Mapping) else v for k, v in every.items()}
            requests[name] = Message(kind, self.active.name, name, self._phase, tensors, values)  # type: ignore[arg-type]
        self.wire.count_round(self._phase)
        return self.engine.call(operation, requests)
