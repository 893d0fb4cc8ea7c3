"""Errors that tell the user what to change.

Every error Colonnade raises on purpose derives from `ColonnadeError`. Its text names the place (party, column, option,
file), the value that was found, and the way out. Several problems of one input are reported together.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ColonnadeError(Exception):
    """Base of every error raised on purpose."""


class DataError(ColonnadeError, ValueError):
    """The rows, columns, ids or labels cannot be used as they are."""


class ConfigError(ColonnadeError, ValueError):
    """An option has a value that it cannot have, or does not exist."""


class WireError(ColonnadeError):
    """A message broke the rules of the wire: undeclared kind, wrong shape or type, not finite."""


class MissingDependencyError(ColonnadeError, ImportError):
    """An optional package is needed for what was asked."""


def is_number(value: object) -> bool:
    """An int or a float, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def at_least(
    problems: list[str], name: str, value: object, least: float, *, whole: bool = True, hint: str = ""
) -> None:
    """Report a number below `least`."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if (whole and not is_whole) or not is_number(value) or value < least:  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        problems.append(f"{name} must be {kind} of at least {least:g}. Got {value!r}.{' ' + hint if hint else ''}")


def above(problems: list[str], name: str, value: object, bound: float, hint: str = "") -> None:
    """Report a number that is not above `bound`."""
    if not is_number(value) or not value > bound:  # type: ignore[operator]
        problems.append(f"{name} must be a number above {bound:g}. Got {value!r}.{' ' + hint if hint else ''}")


def one_of(problems: list[str], name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Report a name that is none of a few."""
    if value not in allowed:
        problems.append(f"{name} must be one of {', '.join(allowed)}. Got {value!r}.")


def raise_all(problems: list[str], error: type[ColonnadeError], heading: str) -> None:
    """Raise one `error` that lists all `problems`; do nothing when there are none."""
    if not problems:
        return
    if len(problems) == 1:
        raise error(f"{heading}: {problems[0]}")
    listed = "\n".join(f"  {i}. {problem}" for i, problem in enumerate(problems, 1))
    raise error(f"{heading}: {len(problems)} problems.\n{listed}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause that names the nearest known name, or lists them all."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."
