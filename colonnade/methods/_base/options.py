"""Options of methods: checked when they are given, all problems at once, unknown names refused."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from colonnade.errors import ConfigError, did_you_mean, raise_all


class Options:
    """Base of everything configured by keyword options, each a field of a dataclass."""

    def __new__(cls, **options: Any) -> Any:
        """Refuse unknown options; the dataclass's own error would name no way out."""
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        wrong = [
            f"{name!r} is no option of {cls.__name__}. {did_you_mean(name, known)}"
            for name in options
            if name not in known
        ]
        raise_all(wrong, ConfigError, "Unknown option")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.check_options()

    def check_options(self) -> None:
        """Refuse options that cannot be; numbers of numpy become Python's. Also called before training."""
        for field in fields(self):  # type: ignore[arg-type]
            setattr(self, field.name, plain(getattr(self, field.name)))
        problems: list[str] = []
        self.check(problems)
        raise_all(problems, ConfigError, type(self).__name__)

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All options by name, as in scikit-learn."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **options: Any) -> Any:
        """Change options, as in scikit-learn; they are checked anew."""
        changed = type(self)(**{**self.get_params(), **options})
        for name, value in changed.get_params().items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)  # type: ignore[arg-type]
            if f.default is MISSING or getattr(self, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True)
class Described:
    """One option as a person reads it."""

    name: str
    default: str  # as `--set` takes it
    meaning: str  # the comment beside the field


def describe_options(method: type[Options]) -> list[Described]:
    """The options of a method, in order; meanings are the comments beside the fields, nearest class first."""
    meanings: dict[str, str] = {}
    for cls in method.__mro__:
        if issubclass(cls, Options) and cls is not Options:
            for name, meaning in re.findall(r"^    (\w+): .+?  # (.+)$", inspect.getsource(cls), re.MULTILINE):
                meanings.setdefault(name, meaning)
    found = []
    for field in fields(method):  # type: ignore[arg-type]
        value = list(field.default) if isinstance(field.default, tuple) else field.default
        default = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        found.append(Described(field.name, default, meanings.get(field.name, field.name.replace("_", " "))))
    return found


def parse_value(text: str) -> Any:
    """The value in `--set key=value`: TOML, or text when it is not TOML."""
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = {"none": None, "True": True, "False": False}.get(text, text)
    return tuple(value) if isinstance(value, list) else value


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """`["epochs=5", "join=mean"]` as options."""
    problems = [f"{s!r} is not key=value." for s in settings if "=" not in s]
    raise_all(problems, ConfigError, "--set")
    return {_key(key.strip()): parse_value(value.strip()) for key, _, value in (s.partition("=") for s in settings)}


def _key(text: str) -> str:
    """An option with underscores; the method before the point keeps its dashes, as in `ss-vfl-i.batch-size`."""
    method, point, option = text.rpartition(".")
    return method + point + option.replace("-", "_")


def own_settings(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run of one method: `epochs`, or `METHOD.epochs`, which comes after it."""
    found: dict[str, Any] = {}
    wrong = []
    for key, value in sorted(settings.items(), key=lambda item: "." in item[0]):
        owner, _, option = key.rpartition(".")
        if owner in ("", method):
            found[option] = value
        else:
            wrong.append(f"{key!r} is for {owner!r}, and this run is of {method!r}. Use {method}.{option} or {option}.")
    raise_all(wrong, ConfigError, "--set")
    return found


def plain(value: Any) -> Any:
    """The same value, with numbers and truth values of numpy as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        made = {key: plain(one) for key, one in value.items()}
        return made if any(made[key] is not value[key] for key in made) else value
    if isinstance(value, tuple | list):
        items = [plain(one) for one in value]
        return type(value)(items) if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def is_number(value: object) -> bool:
    """An int or a float, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def at_least(
    problems: list[str], name: str, value: object, least: float, *, whole: bool = True, hint: str = ""
) -> None:
    """A number not below `least`."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if (whole and not is_whole) or not is_number(value) or value < least:  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        problems.append(f"{name} must be {kind} of at least {least:g}. Got {value!r}.{' ' + hint if hint else ''}")


def above(problems: list[str], name: str, value: object, bound: float, hint: str = "") -> None:
    """A number above `bound`."""
    if not is_number(value) or not value > bound:  # type: ignore[operator]
        problems.append(f"{name} must be a number above {bound:g}. Got {value!r}.{' ' + hint if hint else ''}")


def one_of(problems: list[str], name: str, value: object, allowed: tuple[str, ...]) -> None:
    """One of a few names."""
    if value not in allowed:
        problems.append(f"{name} must be one of {', '.join(allowed)}. Got {value!r}.")


def widths(problems: list[str], name: str, value: object) -> None:
    """A tuple of layer widths."""
    good = isinstance(value, tuple | list) and all(isinstance(v, int) and v > 0 for v in value)
    if not good:
        problems.append(f"{name} must be a tuple of layer widths. Got {value!r}. Use e.g. [128, 64], or [] for none.")


def check_mapping(problems: list[str], name: str, value: object) -> None:
    """A mapping by party, or None."""
    if value is not None and not isinstance(value, Mapping):
        problems.append(f"{name} must map party names to modules. Got {type(value).__name__}.")
