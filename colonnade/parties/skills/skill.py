"""Skills: the operations of a passive party, each with what it takes and what it answers.

A skill is a small class, made for one run, with a reference to its party and the state that it alone needs. Its
operations are its methods that `@operation` declares. What a run may ask of a party is the operations of the skills
that its method names, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from torch import Tensor

from colonnade.errors import WireError
from colonnade.parties.skills.bounds import Bound, Weights
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message, Value

if TYPE_CHECKING:
    from colonnade.parties.engine import Requests
    from colonnade.parties.passive import PassiveParty

Price = Literal["nothing", "lesson", "representation", "unpriced"]
DIGEST = 8  # hexadecimal digits


@dataclass(frozen=True)
class Reply:
    """What an operation answers; the engine makes a message of it."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One thing that may be asked of a passive party.

    Attributes:
        name: as in requests.
        asks: the kind of the question.
        answers: the kind of the answer, if there is one.
        takes: the values of the question, each with its bound.
        says: the names of the values in the answer.
        rules: bounds over two values.
        price: what it costs in differential privacy; "unpriced" is refused by a site whose policy has an ε.
        readies: whether the party has its table and its encoder afterwards, and can load further rows.
        may_be_late: whether a run can go on without the answer, as if it were zero.
    """

    name: str
    asks: Kind
    answers: Kind | None = None
    takes: Mapping[str, Bound] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    rules: tuple[Weights, ...] = ()
    price: Price = "unpriced"
    readies: bool = False
    may_be_late: bool = False

    def check(self, message: Message, party: str) -> None:
        """Refuse a question of another kind, and values that the operation does not take or that cannot be."""
        if message.kind != self.asks.name:
            raise WireError(
                f"party {party!r} refuses {self.name!r} with a {message.kind!r}. It takes a {self.asks.name!r}."
            )
        self.check_values(message.values, party)

    def check_values(self, values: Mapping[str, Value], party: str) -> None:
        """Refuse values that the operation does not take or that cannot be."""
        unknown = [name for name in values if name not in self.takes]  # before a value is looked at
        if unknown:
            known = ", ".join(self.takes) or "none"
            raise WireError(f"party {party!r} refuses {self.name!r} with the value {unknown[0]!r}. It takes: {known}.")
        for name, value in values.items():
            bound = self.takes[name]
            if not bound.fits(value):
                raise WireError(f"party {party!r} refuses {self.name!r}: {name} must be {bound.must}. Got {value!r}.")


Carry = TypeVar("Carry", bound=Callable[..., Reply | None])


def operation(
    *,
    asks: Kind,
    answers: Kind | None = None,
    takes: Mapping[str, Bound] | None = None,
    says: tuple[str, ...] = (),
    rules: tuple[Weights, ...] = (),
    price: Price = "unpriced",
    readies: bool = False,
    may_be_late: bool = False,
) -> Callable[[Carry], Carry]:
    """Declare a method of a skill as an operation; see `Operation`."""

    def declare(method: Carry) -> Carry:
        method.declared = Operation(  # type: ignore[attr-defined]
            method.__name__, asks, answers, takes or {}, says, rules, price, readies, may_be_late
        )
        return method

    return declare


class Skill:
    """Base of skills."""

    operations: ClassVar[Mapping[str, Operation]] = {}
    beside_stack: ClassVar[bool] = False  # whether parties of the run may answer as one, on weights that are slices

    def __init_subclass__(cls) -> None:
        members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
        cls.operations = {name: m.declared for name, m in members.items() if hasattr(m, "declared")}
        offer_of(cls)  # a kind that is declared twice, and differently, is refused here

    def __init__(self, party: PassiveParty) -> None:
        self.party = party

    def rest(self) -> None:
        """Let go of what served an earlier phase of the run alone."""

    @classmethod
    def at_once(cls, operation: Operation, parties: Mapping[str, PassiveParty], requests: Requests) -> Iterable[str]:
        """Carry an operation out for several parties of one process at once; the names of those that are done."""
        return ()

    @classmethod
    def stacked(cls, stack: Any) -> Any | None:
        """The same operations for all parties of a stack at once; None where there is no such form."""
        return None


@dataclass(frozen=True)
class Offer:
    """What may be asked in one run, and what may cross: the operations of some skills, and their kinds."""

    operations: Mapping[str, Operation] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def operation(self, name: str) -> Operation:
        """An operation by its name; one that the run does not have is refused."""
        found = self.operations.get(name)
        if found is None:
            raise WireError(f"{name!r} is no operation of this run. Its operations: {', '.join(self.operations)}.")
        return found

    @property
    def digest(self) -> str:
        """A few digits that tell versions of these declarations apart; help is left out. It is no security."""
        operations = {
            name: [made.asks.name, made.answers and made.answers.name, made.says, made.price, made.readies]
            + [[value, bound.must, bound.limit] for value, bound in sorted(made.takes.items())]
            + [asdict(rule) for rule in made.rules]
            for name, made in sorted(self.operations.items())
        }
        kinds = {
            name: {k: sorted(v) if isinstance(v, frozenset) else v for k, v in asdict(kind).items() if k != "meaning"}
            for name, kind in sorted(self.kinds.items())
        }
        text = json.dumps([operations, kinds], sort_keys=True)
        return hashlib.blake2b(text.encode()).hexdigest()[:DIGEST]


def offer_of(*skills: type[Skill]) -> Offer:
    """The operations and kinds of some skills. Two that contradict each other are refused."""
    operations: dict[str, Operation] = {}
    owners: dict[str, str] = {}
    for skill in skills:
        for name, made in skill.operations.items():
            if name in operations and operations[name] is not made:
                raise TypeError(f"{skill.__name__} and {owners[name]} both offer {name!r}. Rename one.")
            operations[name], owners[name] = made, skill.__name__
    return Offer(operations, kinds_of(operations.values()))


def kinds_of(operations: Iterable[Operation]) -> dict[str, Kind]:
    """The kinds of some operations, each with the values that any of them takes or says."""
    kinds: dict[str, Kind] = {}
    for made in operations:
        said: Sequence[tuple[Kind | None, Iterable[str]]] = ((made.asks, made.takes), (made.answers, made.says))
        for kind, values in said:
            if kind is None:
                continue
            before = kinds.get(kind.name)
            if before is not None and replace(before, values=frozenset()) != replace(kind, values=frozenset()):
                raise TypeError(f"the kind {kind.name!r} is declared twice, and differently. Use one declaration.")
            known = before.values if before is not None else frozenset()
            kinds[kind.name] = replace(kind, values=known | frozenset(values))
    return kinds
