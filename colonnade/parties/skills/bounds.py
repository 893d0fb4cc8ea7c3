"""What a value of a request may be. Each operation declares one bound for each value that it takes.

Kinds are shared by operations, so a kind alone cannot say it. `limit` names the entry of a site's policy that holds the
value down further: a site's limits thereby hold for methods that are not written yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from colonnade.wire.message import Value


@dataclass(frozen=True)
class Bound:
    """One value: what it must be, in words, and the policy's limit on it."""

    must: str
    fits: Callable[[Value], bool]
    limit: str = ""

    def numbers(self, value: Value) -> list[float]:
        """The numbers of a value that a limit is compared with."""
        found = value if isinstance(value, list) else [value]
        return [number for number in found if isinstance(number, int | float)]


def whole(least: int = 0, limit: str = "") -> Bound:
    """A whole number."""
    return Bound(f"a whole number of at least {least}", lambda v: _is_whole(v) and v >= least, limit)  # type: ignore[operator]


def number(least: float = -math.inf) -> Bound:
    """A finite number."""
    must = "a number" if math.isinf(least) else f"a number of at least {least:g}"
    return Bound(must, lambda v: _is_number(v) and least <= v < math.inf)  # type: ignore[operator]


def one_of(*names: str) -> Bound:
    """One of a few names."""
    return Bound(f"one of {', '.join(names)}", lambda v: isinstance(v, str) and v in names)


TEXT = Bound("a short text", lambda v: isinstance(v, str))
FLAG = Bound("true or false", lambda v: isinstance(v, bool))
SIZE = whole(0, "width")  # of a layer, a queue or a batch
SIZES = Bound(
    "whole numbers of at least 0",
    lambda v: isinstance(v, list) and all(_is_whole(n) and n >= 0 for n in v),
    "width",
)
TIMES = whole(0, "epochs")  # passes over the rows
COUNT = whole(0)


@dataclass(frozen=True)
class Weights:
    """A rule over two values: the weights between the layers of an encoder, one layer after the other."""

    hidden: str
    last: str
    limit: str = "weights"

    def total(self, values: Mapping[str, Any]) -> int | None:
        """The number of weights that these values ask for; None where one of them is missing."""
        hidden, last = values.get(self.hidden), values.get(self.last)
        if not isinstance(hidden, list) or not isinstance(last, int):
            return None
        return sum(int(a * b) for a, b in pairwise([*hidden, last]))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
