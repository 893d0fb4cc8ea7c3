"""What a value of a request may be. Each operation declares one bound for each value that it takes.

Kinds are shared by operations, so a kind alone cannot say it. `limit` names the entry of a site's policy that holds the
value down further: a site's limits thereby hold for methods that are not written yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from colonnade.wire.message import Value


@dataclass(frozen=True)
class Bound:
    """One value: what it must be, in words, and the policy's limit on it.

    `fits` is a function of a module, not a lambda, so that what has a bound can be pickled.
    """

    must: str
    fits: Callable[[Value], bool]
    limit: str = ""

    def numbers(self, value: Value) -> list[float]:
        """The numbers of a value that a limit is compared with."""
        found = value if isinstance(value, list) else [value]
        return [number for number in found if isinstance(number, int | float)]


def whole(least: int = 0, limit: str = "") -> Bound:
    """A whole number."""
    return Bound(f"a whole number of at least {least}", partial(_is_whole, least), limit)


def number(least: float = -math.inf) -> Bound:
    """A finite number."""
    must = "a number" if math.isinf(least) else f"a number of at least {least:g}"
    return Bound(must, partial(_is_number, least))


def one_of(*names: str) -> Bound:
    """One of a few names."""
    return Bound(f"one of {', '.join(names)}", partial(_is_one_of, names))


def between(least: int, most: int, limit: str = "") -> Bound:
    """A whole number in a range."""
    return Bound(f"a whole number from {least} to {most}", partial(_is_whole, least, most=most), limit)


def _is_whole(least: int, value: object, most: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_number(least: float, value: object) -> bool:
    sort = isinstance(value, int | float) and not isinstance(value, bool)
    return sort and -math.inf < value < math.inf and value >= least  # type: ignore[operator]


def _is_one_of(names: tuple[str, ...], value: object) -> bool:
    return isinstance(value, str) and value in names


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_whole(value: object) -> bool:
    return isinstance(value, list) and all(_is_whole(0, one) for one in value)


TEXT = Bound("a short text", _is_text)
FLAG = Bound("true or false", _is_flag)
SIZE = whole(0, "width")  # of a layer, a queue or a batch
SIZES = Bound("whole numbers of at least 0", _are_whole, "width")
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
