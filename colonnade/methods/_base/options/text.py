"""Options as text: `--set name=value`, and what `colonnade list METHOD` says of each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from colonnade.errors import ConfigError, raise_all
from colonnade.methods._base.options.data import Option, allowed, options_of


@dataclass(frozen=True)
class Described:
    """One option as a person reads it."""

    name: str
    default: str  # as `--set` takes it
    allowed: str  # what a value must be
    meaning: str


def describe_options(method: type[Any]) -> list[Described]:
    """The options of a method, in order."""
    found = []
    for option in options_of(method).values():
        value = list(option.default) if isinstance(option.default, tuple) else option.default
        default = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        found.append(Described(option.name, default, _allowed(option), option.help))
    return found


def _allowed(option: Option) -> str:
    """What a value must be, as it is typed: a tuple is a list there, and None is none."""
    words = [allowed(option).replace("a tuple of layer widths", "a list of layer widths")]
    return ", or ".join(word for word in (*words, "none" if option.may_be_none else "") if word)


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
