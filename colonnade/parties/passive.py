"""Passive parties: columns and no labels, and the operations that the active party may ask of them.

Each operation takes a message of one kind and may answer with one of another. The same operations are called in one
process and between sites.

B rows of a batch, D width of a representation, P width of a projection, K parties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from colonnade.errors import WireError
from colonnade.methods.linear_view import LinearView
from colonnade.methods.secureboost.trees.owner import Owner, arrays, as_bits
from colonnade.nets.optimizer import make_optimizer
from colonnade.objectives.training import Lesson
from colonnade.parties.party import Party
from colonnade.parties.skills.aggregation import Masks, contribution
from colonnade.parties.skills.towers import CrossTower, Towers, build_towers
from colonnade.wire.message import Message, Value


@dataclass(frozen=True)
class Reply:
    """What an operation answers; the engine makes a message of it."""

    tensors: Mapping[str, Tensor]
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Operation:
    """One thing that may be asked of a passive party: the kind of the question and of the answer, if there is one."""

    request: str
    reply: str | None = None


OPERATIONS: dict[str, Operation] = {
    "prepare": Operation("plan", "shape"),
    "begin": Operation("order"),
    "forward": Operation("rows", "representation"),
    "backward": Operation("gradient"),
    "represent": Operation("rows", "representation"),
    "pretrain": Operation("lesson"),
    "plan_private": Operation("lesson", "account"),
    "tell_account": Operation("order", "account"),
    "enrol": Operation("lesson", "shape"),
    "cross": Operation("target", "projection"),
    "cross_again": Operation("order"),
    "study": Operation("order"),
    "introduce": Operation("order", "key"),
    "share": Operation("order", "parameters"),
    "share_masked": Operation("keys", "masked"),
    "adopt": Operation("average"),
    "fit_linear": Operation("consensus", "representation"),
    "keep": Operation("order"),
    "recall": Operation("order"),
    "bin": Operation("binning", "layout"),
    "take_derivatives": Operation("derivatives"),
    "take_encrypted": Operation("ciphertexts"),
    "add_up": Operation("nodes", "histogram"),
    "add_up_encrypted": Operation("nodes", "sums"),
    "divide": Operation("division", "sides"),
    "visit": Operation("visit", "sides"),
}

AT_SITES: dict[str, Operation] = {  # what a site offers besides: alignment and predictions (colonnade/federate)
    "align": Operation("seeking", "holding"),
    "agree": Operation("alignment"),
    "open": Operation("model", "opened"),
    "encode": Operation("places", "representation"),
}


class PassiveParty(Party):
    """A party with columns and no labels. Its public methods are the operations."""

    output: Tensor | None = None  # of the last forward, with its graph
    optimizer: torch.optim.Optimizer | None = None
    towers: Towers | None = None  # during pre-training with others
    shared: tuple[str, ...] = ()  # parts of the local tower that are averaged
    masks: Masks | None = None
    linear: LinearView | None = None  # in MMVFL
    trees: Owner | None = None  # in SecureBoost

    def prepare(self, message: Message) -> Reply:
        """Fit the preprocessing, build the encoder, and say how wide its representation is."""
        plan: dict[str, Any] = message.values
        self.precision = plan["precision"]
        if "train" not in self.tables:
            self.fit_preprocessor()
        self.build_encoder(**{k: v for k, v in plan.items() if k != "precision"})
        return Reply({}, {"width": self.width})

    def begin(self, message: Message) -> None:
        """Start training with a fresh optimizer; what served pre-training alone is dropped."""
        assert self.encoder is not None
        self.drop_pretraining()
        settings: dict[str, Any] = message.values
        self.optimizer = make_optimizer(
            self.encoder.parameters(), settings["optimizer"], settings["learning_rate"], settings["weight_decay"]
        )

    def drop_pretraining(self) -> None:
        """Let go of what served pre-training with others alone."""
        self.towers = self.masks = None

    def forward(self, message: Message) -> Reply:
        """Representations of the asked rows; the graph stays here, for `backward`."""
        self.output = self.encode(self.tables["train"].batch(message.tensors["rows"]), train=True)  # (B, D)
        return Reply({"representation": self.output.detach()}, {})

    def backward(self, message: Message) -> None:
        """One update from the gradient by the last representation."""
        gradient = message.tensors["gradient"]
        if self.output is None or self.optimizer is None:
            raise WireError(f"party {self.name!r} received a gradient before it was asked for a representation.")
        if gradient.shape != self.output.shape:
            raise WireError(
                f"party {self.name!r} sent a representation of shape {tuple(self.output.shape)} "
                f"and received a gradient of shape {tuple(gradient.shape)}."
            )
        self.optimizer.zero_grad()
        self.output.backward(gradient)  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.output = None

    def represent(self, message: Message) -> Reply:
        """Representations without a graph: of the asked rows, or of all rows of a table, and of a further table."""
        h = self.encode_table(str(message.values.get("table", "train")), message.tensors.get("rows"))
        also = message.values.get("also")
        if also is not None:
            h = torch.cat([h, self.encode_table(str(also))])
        return Reply({"representation": h}, {})

    def pretrain(self, message: Message) -> None:
        """Learn alone; nothing of it leaves the party."""
        self.learn(Lesson.of(message.values))

    def plan_private(self, message: Message) -> Reply:
        """How many steps a private lesson would take here, and which share of the rows each."""
        from colonnade.privacy.course import planned_steps  # deferred: needs Opacus

        plan = planned_steps(Lesson.of(message.values), len(self.tables["train"]))
        return Reply({}, {"rate": plan.rate, "steps": plan.steps})

    def tell_account(self, message: Message) -> Reply:
        """What private learning did: steps, and measurements of its noise and its samples."""
        if self.account is None:
            raise WireError(f"party {self.name!r} was asked for an account of private learning, and did none.")
        seen = self.account.observed
        return Reply(
            {},
            {
                "done": self.account.done, "squares": seen.squares, "numbers": seen.numbers, "uses": seen.uses,
                "unlikely": seen.unlikely, "drawn": seen.drawn, "offered": seen.offered,
            },
        )  # fmt: skip

    # pre-training with others: FedHSSL (He et al. 2022, Alg. 1) ----------------------------------------------------

    def enrol(self, message: Message) -> Reply:
        """Build the towers; say how wide a projection is and which shapes will be averaged."""
        values: dict[str, Any] = message.values
        self.shared = tuple(values["shared"].split()) if values["shared"] else ()
        self.towers = build_towers(self, Lesson.of(values), values["towers"], values["updates"], values["staleness"])
        return Reply({}, {"width": self.width, **self.towers.describe(self.shared)})

    def cross(self, message: Message) -> Reply:
        """l.4-11: send z_c, and agree with the active party's."""
        tower = self._cross_tower()
        if message.values.get("first"):
            tower.begin_pass()
        z = tower.emit(message.tensors["rows"])
        tower.agree({message.sender: message.tensors["target"]})
        return Reply({"projection": z}, {})

    def cross_again(self, message: Message) -> None:
        """l.4-11 with the projections that were last received."""
        self._cross_tower().agree_again()

    def study(self, message: Message) -> None:
        """l.16-23: one pass of guided local SSL; nothing of it leaves the party."""
        gamma = message.values["gamma"]
        assert isinstance(gamma, int | float)
        self._towers().study(gamma)

    def introduce(self, message: Message) -> Reply:
        """A public key for secure aggregation."""
        self.masks = Masks(self.secret_for("masks"))
        return Reply({"key": self.masks.public}, {})

    def share(self, message: Message) -> Reply:
        """l.27: f_lt ∘ h_l, times the party's rows."""
        return Reply({"parameters": self._contribution()}, {})

    def share_masked(self, message: Message) -> Reply:
        """l.27, so that only the sum over all parties can be read."""
        turn = message.values["turn"]
        if self.masks is None or not isinstance(turn, int):
            raise WireError(f"party {self.name!r} was asked for a masked part before it was asked for a key.")
        return Reply({"masked": self.masks.mask(self._contribution(), message.tensors["keys"], turn)}, {})

    def adopt(self, message: Message) -> None:
        """l.30: the averaged part takes the place of the own."""
        self._towers().adopt(self.shared, message.tensors["average"])

    def _contribution(self) -> Tensor:
        return contribution(self._towers().part(self.shared), len(self.tables["train"]))

    def _cross_tower(self) -> CrossTower:
        tower = self._towers().cross
        if tower is None:
            raise WireError(f"party {self.name!r} was enrolled to learn alone, and asked to agree with others.")
        return tower

    def _towers(self) -> Towers:
        if self.towers is None:
            raise WireError(f"party {self.name!r} was asked to pre-train with others before it was enrolled.")
        return self.towers

    def fit_linear(self, message: Message) -> Reply:
        """MMVFL, steps 2-3: fit the linear model to the pseudo-labels; its prediction of these rows."""
        rows, consensus = message.tensors["rows"], message.tensors["consensus"]
        settings: dict[str, Any] = message.values
        if self.linear is None or not torch.equal(self.linear.rows, rows):
            self.linear = LinearView(self, rows, consensus)
        return Reply({"representation": self.linear.learn(consensus=consensus, **settings).float()}, {})

    # boosted trees: SecureBoost (Cheng et al. 2021) -----------------------------------------------------------------

    def bin(self, message: Message) -> Reply:
        """Bin the columns, and say how many slots each has."""
        values: dict[str, Any] = message.values
        self.trees = Owner.fit(self, values["bins"])
        if "key" in message.tensors:
            self.trees.receive_key(message.tensors["key"].numpy(), values["rows"], values["outputs"])
        return Reply({"layout": self.trees.layout.tensor()}, {})

    def take_derivatives(self, message: Message) -> None:
        """g and h of the next round of trees, in the clear."""
        self._trees().take(**arrays(message))

    def take_encrypted(self, message: Message) -> None:
        """g and h of the next round of trees, which nobody here can read."""
        self._trees().take_encrypted(**arrays(message))

    def add_up(self, message: Message) -> Reply:
        """Alg. 1: sums by node and slot."""
        values: dict[str, Any] = message.values
        sums = self._trees().add_up(message.tensors["nodes"].numpy(), values["count"], values["output"])
        return Reply({"histogram": torch.from_numpy(sums)}, {})

    def add_up_encrypted(self, message: Message) -> Reply:
        """Alg. 1 on ciphertexts."""
        values: dict[str, Any] = message.values
        sums = self._trees().add_up_encrypted(message.tensors["nodes"].numpy(), values["count"], values["output"])
        return Reply({"sums": torch.from_numpy(sums)}, {})

    def divide(self, message: Message) -> Reply:
        """Alg. 2: which rows go left; what divides them stays here."""
        return Reply({"sides": as_bits(self._trees().divide(**arrays(message)))}, {})

    def visit(self, message: Message) -> Reply:
        """Which rows of a table go left at splits of this party's."""
        return Reply({"sides": as_bits(self._trees().visit(**arrays(message), table=str(message.values["table"])))}, {})

    def _trees(self) -> Owner:
        if self.trees is None:
            raise WireError(f"party {self.name!r} was asked to take part in trees before its columns were binned.")
        return self.trees

    # ------------------------------------------------------------------------------------------------------------------

    def keep(self, message: Message) -> None:
        """Remember the present weights: the best so far, or those under a name."""
        self.keep_weights(str(message.values.get("name", "best")))

    def recall(self, message: Message) -> None:
        """Go back to the best weights, or to those kept under a name."""
        self.recall_weights(str(message.values.get("name", "best")))

    def perform(self, operation: str, message: Message) -> Reply | None:
        """Carry out a declared operation; refuse anything else."""
        declared = OPERATIONS.get(operation)
        if declared is None or message.kind != declared.request:
            raise WireError(
                f"party {self.name!r} refuses {operation!r} with a {message.kind!r}. It offers {list(OPERATIONS)}."
            )
        carry_out: Callable[[Message], Reply | None] = getattr(self, operation)
        return carry_out(message)
