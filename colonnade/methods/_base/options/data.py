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

__all__ = ["Ge", "Gt", "Help", "Le", "Lt", "Must", "OneOf", "Option", "allowed", "options_of", "problem_of"]


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
    if (value is None and option.may_be_none) or _fits(option, value):
        return None
    return f"{option.name} must be {allowed(option)}. Got {value!r}.{' ' + option.hint if option.hint else ''}"


def allowed(option: Option) -> str:
    """What a value of the option must be, in words; empty where only the method can tell."""
    own, names = option.rule(Must), option.rule(OneOf)
    if own is not None:
        return str(own.text)
    if names is not None:
        return f"one of {', '.join(names.names)}"
    if option.sort in (int, float):
        return _number_in_words(option)
    words = {bool: "true or false", tuple[int, ...]: "a tuple of layer widths", str: "a text"}
    return words.get(option.sort, "")


def _number_in_words(option: Option) -> str:
    least, above, most, below = (option.rule(sort) for sort in (Ge, Gt, Le, Lt))
    kind = "a whole number" if option.sort is int else "a number"
    if least is not None and most is not None:
        return f"{kind} from {least.ge:g} to {most.le:g}"
    said = [f"of at least {least.ge:g}"] if least is not None else []
    said += [f"above {above.gt:g}"] if above is not None else []
    said += [f"of at most {most.le:g}"] if most is not None else []
    said += [f"below {below.lt:g}"] if below is not None else []
    return " ".join([kind, " and ".join(said)]).strip()


def _fits(option: Option, value: Any) -> bool:
    """Whether a value keeps the option's rules."""
    own, names = option.rule(Must), option.rule(OneOf)
    if own is not None:
        return bool(own.fits(value))
    if names is not None:
        return isinstance(value, str) and value in names.names
    if option.sort is bool:
        return isinstance(value, bool)
    if option.sort in (int, float):
        return _is_number_within(option, value)
    if option.sort == tuple[int, ...]:
        return isinstance(value, tuple | list) and all(type(v) is int and v > 0 for v in value)
    return isinstance(value, str) or option.sort is not str


def _is_number_within(option: Option, value: Any) -> bool:
    least, above, most, below = (option.rule(sort) for sort in (Ge, Gt, Le, Lt))
    return (
        isinstance(value, int if option.sort is int else int | float)
        and not isinstance(value, bool)
        and value == value
        and (least is None or value >= least.ge)
        and (above is None or value > above.gt)
        and (most is None or value <= most.le)
        and (below is None or value < below.lt)
    )
