"""What a site's owner lets a run cost in differential privacy, by the site's own account.

With `epsilon` in its policy, a site does only what has a price: lessons by DP-SGD, and representations that leave
clipped and with Gaussian noise. Each is priced before it is done, with all that the run did here before; what would
cost more than ε at δ is refused. Nothing that the active party says about its own accounting is believed.

With `covers = "models"` the active party is trusted with the representations (Wu et al. 2022, §4.2): they leave as they
are, and lessons alone are priced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from colonnade.errors import WireError
from colonnade.objectives.training import Lesson
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.parties.skills.skill import Operation
from colonnade.sites.policy.policy import Policy, RefusedError
from colonnade.sites.policy.prices import Diary, Price, cost
from colonnade.wire.message import Message
from colonnade.wire.protection import Protection
from colonnade.wire.protections import ClippedGaussian
from colonnade.wire.protections.asked import Asked, Question
from colonnade.wire.protections.clipped import Tally


class Budget:
    """What one run has cost at this site.

    Args:
        policy: with an `epsilon`.
        party: the site's.
        run: which run.
        out: the site's folder, where `privacy.json` has the prices of all runs; None: they are not written down.
    """

    def __init__(self, policy: Policy, party: str, run: bytes, out: Path | None) -> None:
        if policy.epsilon is None:
            raise TypeError("a budget needs a policy with an epsilon")
        self.policy, self.epsilon, self.party = policy, policy.epsilon, party
        self.diary = Diary(out, run.hex())
        self.lessons: list[Price] = []
        self.released: dict[float, dict[str, Tally]] = {}  # by noise multiplier and table

    def admit(
        self, operation: Operation, message: Message, party: PassiveParty, protections: Iterable[Protection]
    ) -> None:
        """Refuse an operation of a training that has no price, or too high a one; else it counts as done."""
        match operation.price:
            case "unpriced":
                priced = [name for name, made in party.offer.operations.items() if made.price != "unpriced"]
                raise RefusedError(
                    f"the policy refuses {operation.name!r}: epsilon = {self.epsilon:g} allows {', '.join(priced)} "
                    f"alone, as nothing bounds what others give away. fedonce-l1 keeps to these."
                )
            case "lesson":
                self._learn(Lesson.of(message.values), len(party.tables["train"]))
            case "representation":
                asked = Asked(party.offer.kinds)
                asked.note(message)
                if message.receiver not in asked.last:
                    raise WireError(f"{operation.name!r} came with a {message.kind!r}, not with rows.")
                self.release(asked.last[message.receiver], message.phase, protections)

    def promise(self, protections: Iterable[Protection]) -> None:
        """Refuse a run whose representations could not leave even once; nothing counts as done."""
        if self.policy.covers == "models":
            return
        found = [p.noise_multiplier for p in _private(protections)]
        if not found:
            raise RefusedError(self._lacks_noise(""))
        self._check([Price(False, max(found), 1.0, 1)], "even one representation of each row")

    def release(self, question: Question, phase: str, protections: Iterable[Protection]) -> None:
        """Refuse to let representations out that would cost too much; else they count as released."""
        if self.policy.covers == "models":
            return
        answer = Message(REPRESENTATION.name, self.party, "", phase)
        found = [p.noise_multiplier for p in _private(protections) if p.concerns(answer)]
        if not found:
            raise RefusedError(self._lacks_noise(f" in phase {phase!r}"))
        best = max(found)  # the other noise, before it or after, takes nothing from its guarantee
        tables = {name: Tally(t.whole, t.rows.clone()) for name, t in self.released.get(best, {}).items()}
        _count(tables, question)
        released = {**self.released, best: tables}
        self._spend([*self.lessons, *_prices(released)], "representations of these rows")
        self.released = released

    def _learn(self, lesson: Lesson, rows: int) -> None:
        """Price a lesson."""
        from colonnade.privacy.course import has_epsilon, planned_steps  # deferred: needs Opacus

        known = has_epsilon(lesson)
        if known and type(lesson.epochs) is int and lesson.epochs <= 0:
            return  # the encoder stays as it was drawn
        if lesson.clip is None or lesson.noise is None:
            raise RefusedError(
                f"the policy refuses a lesson without differential privacy: epsilon = {self.epsilon:g}. Use fedonce-l1 "
                f"with an epsilon."
            )
        if not known:
            raise RefusedError(
                f"the policy refuses to learn {lesson.objective!r} with assignment {lesson.assignment!r}: epsilon = "
                f"{self.epsilon:g}, and an ε is known for 'nat' with assignment 'fixed' alone."
            )
        planned = planned_steps(lesson, rows)
        lessons = [*self.lessons, Price(True, float(lesson.noise), planned.rate, planned.steps)]
        self._spend([*lessons, *_prices(self.released)], "this lesson")
        self.lessons = lessons

    def _lacks_noise(self, where: str) -> str:
        return (
            f"the policy refuses representations without a guarantee{where}: epsilon = {self.epsilon:g}. Train with "
            f"protect='gaussian:representation:CLIP:SIGMA', or let the owner set covers = \"models\"."
        )

    def _spend(self, prices: list[Price], what: str) -> None:
        """Write the run's prices down, if they are not too high, before what they are for is done."""
        with self.diary.held():
            self._check(prices, what)
            self.diary.write(prices)

    def _check(self, prices: list[Price], what: str) -> None:
        """Refuse what costs more than the run, or all runs together, may."""
        limits = [("epsilon", self.epsilon, prices)]
        if self.policy.epsilon_total is not None and not self.diary.paid(prices):
            limits.append(("epsilon_total", self.policy.epsilon_total, [*self.diary.others(), *prices]))
        for name, limit, spent in limits:
            found = cost(spent, self.party, self.policy.delta)
            if not found <= limit:
                raise RefusedError(
                    f"the policy refuses {what}: with what was done before, it would cost ε = {found:.4g} at δ = "
                    f"{self.policy.delta:g}, and {name} = {limit:g}."
                )


def budget_of(policy: Policy, party: str, run: bytes, out: Path | None) -> Budget | None:
    """A fresh budget, where the owner set one."""
    return None if policy.epsilon is None else Budget(policy, party, run, out)


def _private(protections: Iterable[Protection]) -> list[ClippedGaussian]:
    return [p for p in protections if isinstance(p, ClippedGaussian) and p.kind == REPRESENTATION.name]


def _count(tables: dict[str, Tally], question: Question) -> None:
    """Take a release into the tallies."""
    for table, rows in ((question.table, question.rows), (question.also, None)):
        if table is None:
            continue
        tally = tables.setdefault(table, Tally())
        if rows is None:
            tally.whole += 1
        else:
            tally.add(rows)


def _prices(released: Mapping[float, Mapping[str, Tally]]) -> list[Price]:
    """Of releases: a row is in one table, and the one that left most often counts."""
    return [Price(False, noise, 1.0, max(t.most for t in tables.values())) for noise, tables in released.items()]
