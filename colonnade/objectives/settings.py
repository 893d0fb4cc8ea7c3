"""Rules for the settings of objectives, checked when an objective is built.

Each rule returns the problem in words, or None; `check` raises one error for all problems of one objective.
"""

from __future__ import annotations

import math

from colonnade.errors import ConfigError, raise_all


def check(place: str, *problems: str | None) -> None:
    """Raise one `ConfigError` that lists the problems found, if any."""
    raise_all([problem for problem in problems if problem is not None], ConfigError, place)


def whole(option: str, value: object, way_out: str, least: int = 1) -> str | None:
    """`value` must be an int of at least `least`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return None
    return f"{option} must be an integer of at least {least}. Got {value!r}. {way_out}"


def width_of(value: object) -> str | None:
    """`width` must be the width of the encoder's output."""
    return whole("width", value, "Pass the number of columns of the encoder's output.")


def above_zero(option: str, value: object, way_out: str) -> str | None:
    """`value` must be a finite number above 0."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return None
    return f"{option} must be a finite number above 0. Got {value!r}. {way_out}"


def fraction(option: str, value: object, way_out: str) -> str | None:
    """`value` must be a number in [0, 1]."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return None
    return f"{option} must be a number in [0, 1]. Got {value!r}. {way_out}"
