"""The trials of a trade-off: methods x protections x seeds, and everything that can be wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from colonnade.data.splits import Split
from colonnade.errors import ColonnadeError, ConfigError, did_you_mean, raise_all
from colonnade.lab.attacks import ANYONE, ATTACKS
from colonnade.lab.attacks.auxiliary import count_auxiliary
from colonnade.lab.attacks.judge import BY_ACTIVE, BY_ANYONE
from colonnade.lab.compare.compare import _settings_by_method
from colonnade.lab.run.cell import Cell, parse_method
from colonnade.methods.registry import method_named
from colonnade.parties.skills.kinds import GRADIENT, REPRESENTATION
from colonnade.wire.kind import Kind
from colonnade.wire.protections.text import listed, parse

T = TypeVar("T")


@dataclass(frozen=True)
class Need:
    """What an adversary must have been sent."""

    says: str
    fits: Callable[[Kind], bool]  # whether a kind of message is that


def _tells_of_rows(kind: Kind) -> bool:
    """Whether a passive party receives numbers that other parties' rows or labels made."""
    return kind.direction == "down" and kind.holds_floats and (kind.row_by_row or kind.one_vector)


NEEDS = {  # the other attacks read the released model
    "label-inference": Need("no gradient and no target and no average", _tells_of_rows),
    "gradients": Need("no gradient", lambda kind: kind.name == GRADIENT.name),
    "reconstruction": Need("no representation", lambda kind: kind.name == REPRESENTATION.name),
}


@dataclass(frozen=True)
class Asked:
    """How every finished run is attacked."""

    attacks: tuple[str, ...]
    adversary: str | None = None  # a party, or "anyone"; everyone who can be one by default
    auxiliary: int | None = None

    @property
    def details(self) -> dict[str, Any]:
        """What decides whether findings on disk are the ones asked for."""
        return {"adversary": self.adversary, "auxiliary": self.auxiliary}


@dataclass(frozen=True)
class Trial:
    """One run to be trained and attacked: a method under one protection, or "" for none."""

    cell: Cell  # its method carries the protection as an option
    method: str
    protection: str


def trials(
    methods: Sequence[str],
    protections: Sequence[str],
    asked: Asked,
    setting: Cell,
    *,
    seeds: int,
    settings: dict[str, Any] | None = None,
) -> list[Trial]:
    """Every method without protection and with each of its own; all that is wrong is said before the first runs.

    Args:
        methods: as in a comparison, "splitnn" or "splitnn:join=mean".
        protections: as the option `protect`; "fedhssl.iso:target:1" is for that method alone.
        asked: how finished runs are attacked.
        setting: data, labels, aligned and parties of all runs; its method and seed are not read.
        seeds: 0, 1, … for each of them.
        settings: options of the methods, as in a comparison.
    """
    problems = _repeated({"--methods": methods, "--protect": protections, "--attack": asked.attacks})
    problems += [f"there is no attack {a!r}. {did_you_mean(a, ATTACKS)}" for a in asked.attacks if a not in ATTACKS]
    problems += _wrong_protections(methods, protections)
    good = [method for method in methods if _collect(problems, _name, method)]
    options = _collect(problems, _settings_by_method, good, settings or {}) if good else {}
    found = []
    for method in good:
        cell = replace(setting, method=method, seed=0, options=(options or {}).get(method, {}))
        found += _of_method(cell, ["", *_mine(method, protections)], problems)
    split = _collect(problems, setting.split)
    problems += _unfit(found, asked, split[0]) if split else []
    raise_all(list(dict.fromkeys(problems)), ConfigError, "tradeoff")
    return [replace(trial, cell=replace(trial.cell, seed=seed)) for seed in range(seeds) for trial in found]


def _repeated(given: dict[str, Sequence[str]]) -> list[str]:
    return [
        f"{option} names {value!r} twice."
        for option, values in given.items()
        for value in dict.fromkeys(v for v in values if list(values).count(v) > 1)
    ]


def _collect(problems: list[str], act: Callable[..., T], *given: Any) -> T | None:
    """What it gives; where it fails, None, and the reason is added to the problems."""
    try:
        return act(*given)
    except ColonnadeError as error:
        problems.append(str(error))
        return None


def _name(method: str) -> str:
    """The name of a method that exists."""
    return method_named(parse_method(method)[0]).name


def _owner(protection: str) -> str | None:
    """The method before the dot of "fedhssl.iso:target:1"."""
    found = re.match(r"([^.:]+)\.(?=[^:.]*:)", protection)
    return found and found[1]


def _mine(method: str, protections: Sequence[str]) -> list[str]:
    """The protections for everyone and for this method, if they can be read."""
    name = parse_method(method)[0]
    rest = [p if _owner(p) is None else p.removeprefix(f"{name}.") for p in protections if _owner(p) in (None, name)]
    return [p for p in rest if all(_collect([], parse, entry) for entry in listed(p))]


def _wrong_protections(methods: Sequence[str], protections: Sequence[str]) -> list[str]:
    """What is wrong with the protections themselves, whichever the method."""
    problems: list[str] = []
    names = {method.partition(":")[0].strip() for method in methods}
    for protection in protections:
        owner = _owner(protection)
        if owner is not None and owner not in names:
            problems.append(f"--protect {protection!r}: {owner!r} is none of the methods. {did_you_mean(owner, names)}")
        for entry in listed(protection.removeprefix(f"{owner}.")):
            _collect(problems, parse, entry)
    return problems


def _of_method(cell: Cell, protections: list[str], problems: list[str]) -> list[Trial]:
    """The trials of one method; the method's own check says which protections it has no message for."""
    found = []
    for protection in protections:
        text = f"{cell.method}:protect={protection}" if protection else cell.method
        trial = Trial(replace(cell, method=text), cell.method, protection)
        model = _collect(problems, trial.cell.build)
        if not protection and (model is None or getattr(model, "protect", None)):
            if model is not None:
                problems.append(f"{cell.method}: give protections by --protect, so that each is held against none.")
            return []  # once is enough
        found += [trial] if model is not None else []
    return found


def _unfit(found: Sequence[Trial], asked: Asked, parts: Split) -> list[str]:
    """Attacks, adversaries and protections that do not fit the methods or the data."""
    train, problems = parts.train, []
    two = "tell two classes apart" if train.task != "binary" else ""
    for attack in (a for a in asked.attacks if a in ATTACKS):
        if attack == "gradients" and two:
            problems.append(f"attack gradients: norm and cosine {two}, and this task is {train.task}.")
        if attack == "label-inference" and train.task == "regression":
            problems.append("attack label-inference: it names a class, and this task is regression.")
        for trial in (t for t in found if not t.protection):
            model = trial.cell.build()
            setup, need = model.setup(), NEEDS.get(attack)
            sent = [kind for name, kind in setup.offer.kinds.items() if name in setup.sends]
            if need is not None and not any(need.fits(kind) for kind in sent):
                problems.append(f"attack {attack}: {trial.method} sends {need.says}.")
        who = _who(attack, parts)
        if asked.adversary is not None and asked.adversary not in who:
            problems.append(f"attack {attack}: --adversary must be one of {', '.join(who)}. Got {asked.adversary!r}.")
    if two and any(parse(e).name == "marvell" for t in found if t.protection for e in listed(t.protection)):
        problems.append(f"protect marvell: it hides which of two classes a row has, and this task is {train.task}.")
    if {"label-inference", "reconstruction"} & set(asked.attacks):
        least = len(train.classes) if "label-inference" in asked.attacks and train.task != "regression" else 2
        _collect(problems, count_auxiliary, asked.auxiliary, len(parts.test.labels), least)
    return problems


def _who(attack: str, parts: Split) -> list[str]:
    """Who can perform an attack."""
    active = parts.train.active
    if attack in BY_ANYONE:
        return [ANYONE]
    return [active] if attack in BY_ACTIVE else [name for name in parts.train.views if name != active]
