"""Learning alone from the own rows, before the parties talk; with a privacy budget, an account of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from colonnade.errors import WireError
from colonnade.nets.optimizer import OPTIMIZERS
from colonnade.objectives.side_by_side import learn_together
from colonnade.objectives.training import Lesson, sort_of
from colonnade.parties.skills.bounds import COUNT, FLAG, SIZE, TEXT, TIMES, number, one_of, whole
from colonnade.parties.skills.kinds import LESSON, ORDER
from colonnade.parties.skills.skill import Operation, Reply, Skill, operation
from colonnade.parties.skills.stacked_encoder import EncoderStack, StackedPretraining
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

if TYPE_CHECKING:
    from colonnade.parties.engine import Requests
    from colonnade.parties.passive import PassiveParty

ACCOUNT = Kind("account", "up", "how often and with how much noise a party will train privately, or did; no rows")
LESSONS = {
    "objective": TEXT, "epochs": TIMES, "batch_size": SIZE, "learning_rate": number(0), "weight_decay": number(0),
    "optimizer": one_of(*OPTIMIZERS), "cosine": FLAG, "seed": whole(), "rate": number(0), "temperature": number(0),
    "projection": SIZE, "predictor": SIZE, "momentum": number(0), "queue": SIZE, "frequency": COUNT,
    "assignment": TEXT, "flip": FLAG, "clip": number(0), "noise": number(0),
}  # fmt: skip
DONE = ("done", "squares", "numbers", "uses", "unlikely", "drawn", "offered")


class Pretraining(Skill):
    """Learning alone, from all rows of the own table."""

    beside_stack = True

    @operation(asks=LESSON, takes=LESSONS, price="lesson")
    def pretrain(self, message: Message) -> None:
        """Learn alone; nothing of it leaves the party."""
        self.party.learn(Lesson.of(message.values))

    @classmethod
    def at_once(cls, operation: Operation, parties: Mapping[str, PassiveParty], requests: Requests) -> list[str]:
        """Parties on one GPU with tables of equal length learn side by side; the names of those that did."""
        groups: dict[tuple[str, int], list[str]] = {}
        for name, party in parties.items():
            values = requests.message(name).values
            alone = sort_of(Lesson.of(values)).computed or "clip" in values
            if party.device.type == "cuda" and not alone:
                groups.setdefault((str(sorted(values.items())), len(party.table("train"))), []).append(name)
        taught = []
        for names in groups.values():
            lesson = Lesson.of(requests.message(names[0]).values)
            courses = [parties[name].course(lesson) for name in names] if len(names) > 1 else []
            if courses and all(course.objective.same_steps for course in courses):
                learn_together(courses, partial(parties[names[0]].progress, f"pretrain {len(names)} parties"))
                taught += names
        return taught

    @classmethod
    def stacked(cls, stack: EncoderStack) -> StackedPretraining:
        """`pretrain` for all parties of a stack, where they learn by one objective that can be stacked."""
        return StackedPretraining(stack)


class PrivateAccount(Skill):
    """What private learning will cost, and what it did."""

    beside_stack = True

    @operation(asks=LESSON, answers=ACCOUNT, takes=LESSONS, says=("rate", "steps"), price="nothing")
    def plan_private(self, message: Message) -> Reply:
        """How many steps a private lesson would take here, and which share of the rows each."""
        from colonnade.privacy.course import planned_steps  # deferred: needs Opacus

        plan = planned_steps(Lesson.of(message.values), len(self.party.table("train")))
        return Reply(values={"rate": plan.rate, "steps": plan.steps})

    @operation(asks=ORDER, answers=ACCOUNT, says=DONE, price="nothing")
    def tell_account(self, message: Message) -> Reply:
        """What private learning did: steps, and measurements of its noise and its samples."""
        account = self.party.account
        if account is None:
            raise WireError(f"party {self.party.name!r} was asked for an account of private learning, and did none.")
        seen = account.observed
        return Reply(
            values={
                "done": account.done, "squares": seen.squares, "numbers": seen.numbers, "uses": seen.uses,
                "unlikely": seen.unlikely, "drawn": seen.drawn, "offered": seen.offered,
            },
        )  # fmt: skip
