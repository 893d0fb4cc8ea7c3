"""Pre-training with others: the skills of FedHSSL's family (He et al. 2022, Alg. 1) at a passive party.

B rows of a batch, P width of a projection, L length of a flat part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from colonnade.errors import WireError
from colonnade.objectives.training import Lesson
from colonnade.parties.skills.aggregation import Masks, contribution
from colonnade.parties.skills.bounds import COUNT, FLAG, TEXT, TIMES, number, one_of
from colonnade.parties.skills.kinds import LESSON, ORDER, SHAPE
from colonnade.parties.skills.pretraining import LESSONS
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.parties.skills.towers import SHARED, CrossTower, Towers, build_towers
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

if TYPE_CHECKING:
    from colonnade.parties.passive import PassiveParty

PROJECTOR = "batch norm mixes the rows of a batch in a projector"
TARGET = Kind(
    "target", "down", "the active party's projection of aligned rows, in pre-training between parties",
    tensors={"rows": ("int", 1), "target": ("float", 2)},
    lossy=True, asks_about_rows=True, row_by_row=True, mixes=PROJECTOR,
)  # fmt: skip
PROJECTION = Kind(
    "projection", "up", "a passive party's projection of them",
    tensors={"projection": ("float", 2)}, lossy=True, row_by_row=True, mixes=PROJECTOR,
)  # fmt: skip
KEY = Kind("key", "up", "a public key for secure aggregation", tensors={"key": ("int", 1)})
KEYS = Kind("keys", "down", "the public keys of all parties", tensors={"keys": ("int", 2)})
PARAMETERS = Kind(
    "parameters", "up", "the part of a model that is averaged, times the party's rows",
    tensors={"parameters": ("float", 1)}, one_vector=True, weighed=True,
)  # fmt: skip
MASKED = Kind(
    "masked", "up", "the same, masked: only the sum over all parties can be read", tensors={"masked": ("int", 1)}
)
AVERAGE = Kind("average", "down", "the averaged part", tensors={"average": ("float", 1)}, one_vector=True)

ENROLMENT = {
    **LESSONS, "towers": one_of("cross", "local", "both"), "updates": TIMES, "staleness": COUNT, "shared": TEXT,
}  # fmt: skip


class Enrolment(Skill):
    """The towers of a party."""

    beside_stack = True
    found: Towers | None = None  # during pre-training
    shared: tuple[str, ...] = ()  # parts of the local tower that are averaged

    @operation(asks=LESSON, answers=SHAPE, takes=ENROLMENT, says=("width", "projection", *SHARED))
    def enrol(self, message: Message) -> Reply:
        """Build the towers; say how wide a projection is and which shapes will be averaged."""
        values: dict[str, Any] = dict(message.values)
        self.shared = tuple(values["shared"].split()) if values["shared"] else ()
        lesson = Lesson.of(values)
        self.found = build_towers(self.party, lesson, values["towers"], values["updates"], values["staleness"])
        return Reply(values={"width": self.party.width, **self.found.describe(self.shared)})

    @property
    def towers(self) -> Towers:
        """The towers, once they are built."""
        if self.found is None:
            raise WireError(f"party {self.party.name!r} was asked to pre-train with others before it was enrolled.")
        return self.found

    def rest(self) -> None:
        """Drop the towers: fine-tuning reads the encoder alone."""
        self.found = None


def towers_of(party: PassiveParty) -> Towers:
    """The towers of a party."""
    return party.skill(Enrolment).towers


class Studying(Skill):
    """Learning alone, guided by the tower that learns with others."""

    beside_stack = True

    @operation(asks=ORDER, takes={"gamma": number(0)})
    def study(self, message: Message) -> None:
        """l.16-23: one pass of guided local SSL; nothing of it leaves the party."""
        gamma: Any = message.values["gamma"]
        towers_of(self.party).study(gamma)


class Crossing(Skill):
    """Agreement with what the active party sends for aligned rows."""

    beside_stack = True

    @operation(asks=TARGET, answers=PROJECTION, takes={"first": FLAG}, may_be_late=True)
    def cross(self, message: Message) -> Reply:
        """l.4-11: send z_c, and agree with the active party's."""
        tower = self._tower()
        if message.values.get("first"):
            tower.begin_pass()
        z = tower.emit(message.tensors["rows"])
        tower.agree({message.sender: message.tensors["target"]})
        return Reply({"projection": z})

    @operation(asks=ORDER)
    def cross_again(self, message: Message) -> None:
        """l.4-11 with the projections that were last received."""
        self._tower().agree_again()

    def _tower(self) -> CrossTower:
        tower = towers_of(self.party).cross
        if tower is None:
            raise WireError(f"party {self.party.name!r} was enrolled to learn alone, and asked to agree with others.")
        return tower


class _Averaged(Skill):
    """A part of the local tower that is averaged over the parties."""

    beside_stack = True

    @operation(asks=AVERAGE)
    def adopt(self, message: Message) -> None:
        """l.30: the averaged part takes the place of the own."""
        towers_of(self.party).adopt(self.party.skill(Enrolment).shared, message.tensors["average"])

    def contribution(self) -> Tensor:
        """f_lt ∘ h_l, times the party's rows: (L + 1,)."""
        part = towers_of(self.party).part(self.party.skill(Enrolment).shared)
        return contribution(part, len(self.party.table("train")))


class Sharing(_Averaged):
    """Averaging of parts that the active party can read."""

    @operation(asks=ORDER, answers=PARAMETERS)
    def share(self, message: Message) -> Reply:
        """l.27: f_lt ∘ h_l, times the party's rows."""
        return Reply({"parameters": self.contribution()})


class MaskedSharing(_Averaged):
    """Averaging of masked parts, of which only the sum over all parties can be read."""

    masks: Masks | None = None

    @operation(asks=ORDER, answers=KEY)
    def introduce(self, message: Message) -> Reply:
        """A public key for secure aggregation."""
        self.masks = Masks(self.party.secret_for("masks"))
        return Reply({"key": self.masks.public})

    @operation(asks=KEYS, answers=MASKED, takes={"turn": COUNT})
    def share_masked(self, message: Message) -> Reply:
        """l.27, so that only the sum over all parties can be read."""
        turn = message.values.get("turn")
        if self.masks is None or not isinstance(turn, int):
            raise WireError(f"party {self.party.name!r} was asked for a masked part before it was asked for a key.")
        return Reply({"masked": self.masks.mask(self.contribution(), message.tensors["keys"], turn)})

    def rest(self) -> None:
        """Drop the key pair."""
        self.masks = None
