"""What a site's owner allows. Enforced at the site itself, for every request, before anything is done with it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from colonnade.data.description import check_keys
from colonnade.errors import WireError, did_you_mean
from colonnade.methods.registry import METHODS
from colonnade.parties.skills.skill import Offer, Operation, offer_of
from colonnade.sites.intersection.frames import REVEALS
from colonnade.sites.skills.align import Aligning
from colonnade.sites.skills.predict import Predicting
from colonnade.sites.skills.train import ASSIGNMENT, Assigning
from colonnade.wire.message import Message

PRIVACY = ("epsilon", "delta", "covers", "epsilon_total")
COVERS = ("all", "models")


class RefusedError(WireError):
    """The site's owner does not allow what was asked."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Limits of one site; None means no limit of that sort."""

    methods: tuple[str, ...] | None = None  # that may be trained
    operations: tuple[str, ...] | None = None  # that may be asked of the party
    kinds: tuple[str, ...] | None = None  # of messages that may arrive or leave
    rows: int | None = None  # rows that take part in one run, of training or of predictions, altogether
    rounds: int | None = None  # requests in one run
    align: tuple[str, ...] | None = None  # what an alignment may reveal: "both", or only the "size"; [] forbids it
    ids: int | None = None  # with which the active party may come to an alignment
    alignments: int | None = None  # that are begun in 24 hours
    epochs: int | None = None  # of learning alone
    bytes: int = 1 << 28  # of one message
    width: int = 4096  # of any layer, queue or batch that the site is asked to make
    weights: int = 1 << 26  # between the layers of an encoder that it is asked to make
    epsilon: float | None = None  # the largest ε of one run; with one, only what can be priced is done (budget.py)
    delta: float = 1e-5  # at which
    covers: str = "all"  # "models": the active party is trusted with representations, and lessons alone are priced
    epsilon_total: float | None = None  # the largest ε of all runs together, at the same δ

    def check_request(self, operation: Operation, message: Message, number: int) -> None:
        """Refuse the `number`-th request of a run unless it is allowed; operations declare what limits their values."""
        self._listed("operations", operation.name, *Assigning.operations)
        self._listed("kinds", message.kind, ASSIGNMENT.name)
        self._at_most("rounds", number, self.rounds)
        for name, bound in operation.takes.items():
            for found in bound.numbers(message.values.get(name)) if bound.limit else ():
                self._value_at_most(name, found, bound.limit)
        for rule in operation.rules:
            self._at_most(rule.limit, rule.total(message.values) or 0, getattr(self, rule.limit))

    def check_alignment(self, reveal: str, number: int) -> None:
        """Refuse the `number`-th alignment of the last 24 hours unless it is allowed."""
        self._listed("align", reveal)
        self._at_most("alignments", number, self.alignments)

    def check_rows(self, rows: int) -> None:
        """Refuse a run in which more rows take part."""
        self._at_most("rows", rows, self.rows)

    def check_method(self, method: str) -> None:
        """Refuse a method that may not be trained."""
        self._listed("methods", method)

    def check_answer(self, message: Message) -> None:
        """Refuse to let out a message of a kind that is not allowed."""
        self._listed("kinds", message.kind)

    def _listed(self, limit: str, name: str, *always: str) -> None:
        allowed: Collection[str] | None = getattr(self, limit)
        if allowed is not None and name not in (*allowed, *always):
            raise RefusedError(f"the policy refuses {name!r}: {limit} = {list(allowed)}.")

    def _at_most(self, what: str, found: float, most: int | None) -> None:
        if most is not None and found > most:
            raise RefusedError(f"the policy refuses {found} {what}: {what} = {most}.")

    def _value_at_most(self, name: str, found: float, limit: str) -> None:
        most: int | None = getattr(self, limit)
        if most is not None and found > most:
            raise RefusedError(f"the policy refuses {name} = {found}: {limit} = {most}.")


@cache
def everything() -> Offer:
    """What any run may ask of a site: the operations of all installed methods, and those of the sites themselves."""
    offers = [offer_of(*method.skills) for method in METHODS.values()]
    offers.append(offer_of(Assigning, Aligning, Predicting))
    return Offer(
        {name: made for offer in offers for name, made in offer.operations.items()},
        {name: kind for offer in offers for name, kind in offer.kinds.items()},
    )


def read_policy(content: Mapping[str, Any], where: str, problems: list[str]) -> Policy:
    """A policy from a TOML section; what is wrong with it is appended to `problems`."""
    offer = everything()
    known: dict[str, Collection[str]] = {
        "methods": METHODS, "operations": offer.operations, "kinds": offer.kinds, "align": REVEALS,
    }  # fmt: skip
    check_keys(content, [field.name for field in fields(Policy)], where, problems)
    limits: dict[str, Any] = {}
    for name, value in content.items():
        if name in known:
            names = value if isinstance(value, list) and all(isinstance(v, str) for v in value) else None
            if names is None:
                problems.append(f'{where}: {name} = {value!r} is no list of names. Write {name} = ["…"].')
            for unknown in [v for v in names or [] if v not in known[name]]:
                problems.append(f"{where}: {name} names {unknown!r}. {did_you_mean(unknown, known[name])}")
            limits[name] = tuple(names or [])
        elif name in PRIVACY:
            limits[name] = _privacy(name, value, where, problems)
        elif type(value) is not int or value < 1:
            problems.append(f"{where}: {name} must be a whole number of at least 1. Got {value!r}.")
        else:
            limits[name] = value
    if "epsilon" not in content:
        problems += [f"{where}: {name} needs epsilon beside it." for name in content if name in PRIVACY]
    return Policy(**{k: v for k, v in limits.items() if k in {f.name for f in fields(Policy)}})


def _privacy(name: str, value: object, where: str, problems: list[str]) -> object:
    """One of the entries about differential privacy."""
    if name == "covers":
        if value not in COVERS:
            problems.append(f"{where}: covers must be one of {', '.join(COVERS)}. Got {value!r}.")
        return value
    most, usual = (1.0, "1e-5") if name == "delta" else (math.inf, "4.0")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < most:
        problems.append(f"{where}: {name} must be a number above 0{' and below 1' * (most == 1)}. Got {value!r}. "
                        f"Write e.g. {name} = {usual}.")  # fmt: skip
        return None
    return float(value)
