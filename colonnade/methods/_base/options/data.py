"""Options as data: a field's type, its bounds and its help stand beside it, and everything else reads them there.

    epochs: Annotated[int, Ge(1), Help("Training epochs at most. Early stopping may end earlier.")] = 200

Bounds are annotated-types' (`Ge`, `Gt`, `Le`, `Lt`), and the two below. Errors, `colonnade list`, JSON schema, tuning
and the strategies of the contract test come from the same data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

__all__ = ["Ge", "Gt", "Help", "Le", "Lt", "Must", "OneOf", "Option", "options_of", "problem_of"]


@dataclass(frozen=True)
class Help:
    """What an option does, for people: unit, effect, and when to change it."""

    text: str
    hint: str = ""  # the way out, added to an error


@dataclass(frozen=True)
class OneOf:
    """One of a few names."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Must:
    """A rule in words, and whether a value keeps it."""

    text: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Option:
    """One option of a method."""

    name: str
    default: Any
    sort: Any  # its type without the metadata
    may_be_none: bool
    rules: tuple[Any, ...]
    help: str
    hint: str

    def rule(self, sort: type[Any]) -> Any | None:
        """The rule of a sort, where the option has one."""
        return next((rule for rule in self.rules if isinstance(rule, sort)), None)


def options_of(method: Any) -> Mapping[str, Option]:
    """The options of a method by name, in order."""
    return _options_of(method)


@cache
def _options_of(method: Any) -> Mapping[str, Option]:
    hints = get_type_hints(method, include_extras=True)
    return {field.name: _option(field.name, field.default, hints[field.name]) for field in fields(method)}


def _option(name: str, default: Any, hint: Any) -> Option:
    rules: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rules_ = get_args(hint)
        rules = tuple(rules_)
    told = next((rule for rule in rules if isinstance(rule, Help)), Help(""))
    sorts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    left = tuple(sort for sort in sorts if sort is not type(None))
    sort = left[0] if len(left) == 1 else Union[left]  # noqa: UP007
    return Option(name, default, sort, type(None) in sorts, rules, told.text, told.hint)


def problem_of(option: Option, value: Any) -> str | None:
    """What is wrong with a value of an option, and the way out; None where nothing is."""
    if value is None and option.may_be_none:
        return None
    must = _must(option, value)
    if must is None:
        return None
    return f"{option.name} must be {must}. Got {value!r}.{' ' + option.hint if option.hint else ''}"


def _must(option: Option, value: Any) -> str | None:
    """The rule that a value breaks, in words."""
    own, names = option.rule(Must), option.rule(OneOf)
    if own is not None:
        return None if own.fits(value) else str(own.text)
    if names is not None:
        return None if isinstance(value, str) and value in names.names else f"one of {', '.join(names.names)}"
    if option.sort is bool:
        return None if isinstance(value, bool) else "true or false"
    if option.sort in (int, float):
        return _must_be_number(option, value)
    if option.sort == tuple[int, ...]:
        good = isinstance(value, tuple | list) and all(type(v) is int and v > 0 for v in value)
        return None if good else "a tuple of layer widths"
    if option.sort is str:
        return None if isinstance(value, str) else "a text"
    return None


def _must_be_number(option: Option, value: Any) -> str | None:
    kind = "a whole number" if option.sort is int else "a number"
    allowed = int if option.sort is int else int | float
    least, above, most, below = (option.rule(sort) for sort in (Ge, Gt, Le, Lt))
    good = (
        isinstance(value, allowed)
        and not isinstance(value, bool)
        and value == value
        and (least is None or value >= least.ge)
        and (above is None or value > above.gt)
        and (most is None or value <= most.le)
        and (below is None or value < below.lt)
    )
    if good:
        return None
    if least is not None and most is not None:
        return f"{kind} from {least.ge:g} to {most.le:g}"
    said = [f"of at least {least.ge:g}"] if least is not None else []
    said += [f"above {above.gt:g}"] if above is not None else []
    said += [f"of at most {most.le:g}"] if most is not None else []
    said += [f"below {below.lt:g}"] if below is not None else []
    return " ".join([kind, " and ".join(said)]).strip()
