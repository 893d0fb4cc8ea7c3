"""What the runs of a trade-off say together: means over seeds, differences beyond chance, and sentences.

What a protection changes is a difference between runs of the same seed, which have the same rows. It counts as shown
from as many standard errors on as Student's t asks for at 95 %: 4.3 with three seeds, never below two. A leak counts
from two standard errors on: few seeds must not make one look closed. Both errors are those over seeds, or those that
the number of rows gives, whichever are larger.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from colonnade.lab.report.summary import higher_is_better
from colonnade.lab.report.text import listed

CERTAIN, LEVEL = 2.0, 0.975
ANYONE = "anyone"


@dataclass(frozen=True)
class Point:
    """One run under one attack."""

    method: str
    protection: str  # "" for none
    seed: int
    metric: str
    main: float  # score of the run itself
    rows: int  # test rows that it is the score of; 0 where the record does not say
    attack: str
    adversary: str
    target: str
    attack_metric: str
    score: float  # of the attack
    baseline: float
    prior: float
    advantage: float
    error: float  # standard error of the advantage, over rows
    n: int  # rows attacked

    @property
    def threat(self) -> tuple[str, str, str]:
        """Who does what to learn what."""
        return self.attack, self.adversary, self.target

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def points(records: Iterable[dict[str, Any]]) -> list[Point]:
    """Every finding of the records that have some."""
    found = []
    for record in records:
        trade = record.get("tradeoff") or {}
        rows = (record["config"].get("rows") or {}).get("test", 0)
        for attack in (trade.get("attacks") or {}).values():
            for f in attack["findings"]:
                figures = {name: f[name] for name in ("score", "baseline", "prior", "advantage", "error", "n")}
                found.append(
                    Point(
                        trade["method"], trade["protection"], record["seed"], record["metric"], record["score"], rows,
                        f["attack"], f["adversary"], f["target"], f["metric"], **figures,
                    )
                )  # fmt: skip
    return found


@dataclass(frozen=True)
class Difference:
    """A mean over seeds, and whether it is beyond chance."""

    mean: float
    error: float | None  # standard error; None when one seed cannot tell
    shown: bool


def difference(values: Sequence[float], rows: int = 0) -> Difference:
    """The mean of the differences found with each seed; a single one cannot tell.

    A share that differs by d differs in d of the rows at least, so its variance over rows is (d - d²) / rows at least.

    >>> difference([0.10, 0.11, 0.12]).shown, difference([0.02, 0.11, 0.20]).shown, difference([0.3]).shown
    (True, False, False)
    """
    mean, n = statistics.fmean(values), len(values)
    if n == 1:
        return Difference(mean, None, False)
    from scipy.stats import t

    least = math.sqrt(max(abs(mean) - mean**2, 0.0) / (rows * n)) if rows else 0.0
    error, limit = max(statistics.stdev(values) / math.sqrt(n), least), max(CERTAIN, float(t.ppf(LEVEL, n - 1)))
    return Difference(mean, error, abs(mean) > max(limit * error, 1e-9))


@dataclass(frozen=True)
class Spot:
    """One method at one protection under one attack: its seeds."""

    points: tuple[Point, ...]

    @property
    def method(self) -> str:
        """The method."""
        return self.points[0].method

    @property
    def protection(self) -> str:
        """The protection, "" for none."""
        return self.points[0].protection

    def mean(self, name: str) -> float:
        """Mean of a figure over the seeds."""
        return statistics.fmean(getattr(p, name) for p in self.points)

    def std(self, name: str) -> float | None:
        """Standard deviation of a figure over the seeds; None with one."""
        return statistics.stdev(getattr(p, name) for p in self.points) if len(self.points) > 1 else None

    @property
    def alone(self) -> float:
        """What the adversary has without the run."""
        return statistics.fmean(max(p.baseline, p.prior) for p in self.points)

    @property
    def gain(self) -> Difference:
        """The adversary's advantage; its error is that over seeds or that over rows, whichever is larger."""
        n = len(self.points)
        over_rows = math.sqrt(sum(p.error**2 for p in self.points)) / n
        error = max(over_rows, (self.std("advantage") or 0.0) / math.sqrt(n))
        mean = self.mean("advantage")
        return Difference(mean, error, abs(mean) > max(CERTAIN * error, 1e-9))

    @property
    def leaks(self) -> bool:
        """Whether the attack was shown to gain; gradients that rank the classes the other way round tell as much."""
        return self.gain.shown and (self.gain.mean > 0 or self.points[0].attack.startswith("gradient"))

    def minus(self, other: Spot, name: str) -> Difference:
        """A figure here less the figure there, seed by seed."""
        there = {p.seed: getattr(p, name) for p in other.points}
        values = [getattr(p, name) - there[p.seed] for p in self.points if p.seed in there]
        rows = min(p.rows if name == "main" else p.n for p in self.points)
        return difference(values or [0.0], rows)


def spots(found: Iterable[Point]) -> list[Spot]:
    """One for each threat, method and protection, in the order in which they were asked for."""
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in found:
        groups.setdefault((*point.threat, point.method, point.protection), []).append(point)
    return [Spot(tuple(group)) for group in groups.values()]


def by_threat(every: Iterable[Spot]) -> dict[tuple[str, str, str], list[Spot]]:
    """The spots of each attack, adversary and target."""
    found: dict[tuple[str, str, str], list[Spot]] = {}
    for spot in every:
        found.setdefault(spot.points[0].threat, []).append(spot)
    return found


def unprotected(every: Iterable[Spot], like: Spot) -> Spot | None:
    """The same method under the same attack without protection."""
    threat = like.points[0].threat
    same = [s for s in every if s.method == like.method and s.points[0].threat == threat and not s.protection]
    return same[0] if same else None


def sentence(spot: Spot, before: Spot | None) -> str:
    """Who could learn what at this setting, and what the setting costs."""
    point = spot.points[0]
    who = "anyone with the model" if point.adversary == ANYONE else f"party {point.adversary!r}"
    advantage = f"advantage {spot.gain.mean:+.3f}, standard error {spot.gain.error:.3f}"
    if before is None or not spot.protection:
        does = "could learn" if spot.leaks else "was not shown to learn"
        figures = f"{point.attack_metric} {spot.mean('score'):.3f} where it has {spot.alone:.3f} without the run"
        where = f"With {spot.protection}" if spot.protection else "Without protection"
        return f"{where}, {who} {does} {point.target}: {figures} ({advantage})."
    attack = _moved(f"the attack of {who} on {point.target}", before, spot, "score")
    rest = "still tells more than" if spot.leaks else "is not shown to tell more than"
    return (
        f"With {spot.protection}, {attack} and {rest} the {spot.alone:.3f} that it has without the run ({advantage}); "
        f"{_moved(point.metric, before, spot, 'main')}."
    )


def _moved(what: str, before: Spot, after: Spot, name: str) -> str:
    """A rise or a fall, or that none was shown."""
    a, b = before.mean(name), after.mean(name)
    if not after.minus(before, name).shown:
        return f"{what} shows no difference ({a:.3f}, then {b:.3f})"
    return f"{what} {'rises' if b > a else 'falls'} from {a:.3f} to {b:.3f}"


def headlines(every: Sequence[Spot]) -> list[str]:
    """For each method: what leaks without protection, and what the best protection that stops it costs."""
    return [_headline(name, [s for s in every if s.method == name]) for name in dict.fromkeys(s.method for s in every)]


def _headline(name: str, mine: list[Spot]) -> str:
    leaks = [s.points[0] for s in mine if not s.protection and s.leaks]
    names = dict.fromkeys(s.protection for s in mine if s.protection)
    without = f"{name}: without protection," if names else f"{name}:"
    if not leaks:
        return f"{without} no attack was shown to learn more than the adversary has without the run."
    targets = dict.fromkeys(f"{p.adversary} ({p.target}, by {p.attack})" for p in leaks)
    text = f"{without} these could learn something: {listed(list(targets))}."
    silent = [p for p in names if not any(s.leaks for s in mine if s.protection == p)]
    if not names:
        return text
    if not silent:
        return f"{text} None of the protections tried stops all of it."
    sign = 1 if higher_is_better(mine[0].points[0].metric) else -1
    first = {p: next(s for s in mine if s.protection == p) for p in silent}
    best = max(first.values(), key=lambda s: sign * s.mean("main"))
    before = unprotected(mine, best)
    cost = f"; {_moved(best.points[0].metric, before, best, 'main')}" if before else ""
    left = max((s.gain for s in mine if s.protection == best.protection), key=lambda gain: gain.mean)
    rest = f"the largest advantage left is {left.mean:+.3f}, standard error {left.error:.3f}"
    return f"{text} With {best.protection}, no attack was shown to learn anything ({rest}){cost}."
