"""A recipe: one table or figure of a paper as data, read from TOML and checked, all problems at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from colonnade.errors import ConfigError, did_you_mean, raise_all
from colonnade.lab.reproduce.form import PAPERS, Axes, Recipe, text
from colonnade.lab.reproduce.recipe_check import problems_of

RECIPES = "colonnade.lab.reproduce.recipes"


def names() -> list[str]:
    """The names of all recipes that come with Colonnade, in order."""
    found = [f.name.removesuffix(".toml") for f in files(RECIPES).iterdir() if f.name.endswith(".toml")]
    return sorted(found, key=_order)


def _order(name: str) -> tuple[str, int, int, str]:
    """Tables first, then figures, by number."""
    paper, kind, number = (*name.split("-", 2), "")[:3]
    kinds = ("table", "fig", "appendix")
    return paper, kinds.index(kind) if kind in kinds else 3, int(number) if number.isdigit() else 0, name


def chosen(paper: str, table: str | None = None) -> list[str]:
    """The recipes of a paper, or the one of a table: "2" or "table-2", "fig-4"; a paper by number or short name."""
    number = next((n for n, (short, _) in PAPERS.items() if paper.lower() in (n, short.lower())), None)
    if number is None:
        known = ", ".join(f"{n} ({short})" for n, (short, _) in PAPERS.items())
        raise ConfigError(f"there is no paper {paper!r}. Known: {known}.")
    mine = [name for name in names() if name.startswith(f"{number}-")]
    if table is None:
        return mine
    word = table.lower().replace("figure", "fig").replace(" ", "-").replace(".", "")
    words = (word, f"table-{word}", word.replace("fig", "fig-"), word.replace("table", "table-"))
    found = [name for name in mine if name in {f"{number}-{w}" for w in words}]
    if not found:
        tables = ", ".join(name.removeprefix(f"{number}-") for name in mine)
        raise ConfigError(f"paper {number} has no recipe of {table!r}. Known: {tables}.")
    return found


def recipe(name: str) -> Recipe:
    """A recipe that comes with Colonnade."""
    if name not in names():
        raise ConfigError(f"there is no recipe {name!r}. {did_you_mean(name, names())}")
    return parse(tomllib.loads(files(RECIPES).joinpath(f"{name}.toml").read_text("utf-8")), name)


def read(path: Path) -> Recipe:
    """A recipe of one's own."""
    try:
        return parse(tomllib.loads(path.read_text(encoding="utf-8")), path.name)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}. Correct that line; text needs quotation marks."
        ) from None


def parse(content: Mapping[str, Any], where: str) -> Recipe:
    """The recipe in a TOML file's content; a `ConfigError` lists all that is wrong with it."""
    problems: list[str] = []
    made: Recipe = _made(Recipe, dict(content), "the recipe", problems)
    raise_all(problems, ConfigError, where)
    raise_all(problems_of(made), ConfigError, where)
    return made


def _made(cls: Any, table: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    """A dataclass from a table of the same keys."""
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}
    problems += [f"{where}: {key!r} is not known. {did_you_mean(key, known)}" for key in table if key not in known]
    values = {}
    for key, value in table.items():
        if key in known:
            values[key] = _value(value, hints[key], f"{where}, {key}", problems)
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    lacking = [n for n in needed if n not in table]
    problems += [f"{where}: {name!r} is missing." for name in lacking]
    return None if lacking else cls(**values)


def _value(value: Any, hint: Any, where: str, problems: list[str]) -> Any:
    """`value` as the type that a field has."""
    if get_origin(hint) is UnionType:
        hint = next(h for h in get_args(hint) if h is not NoneType)
    if hint == Axes:
        return _axes(value) if isinstance(value, dict) else value
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        entries = value if isinstance(value, list) else [value]
        return tuple(_value(v, inner, f"{where} {i}", problems) for i, v in enumerate(entries, 1))
    if hasattr(hint, "__dataclass_fields__"):
        if isinstance(value, dict):
            return _made(hint, value, where, problems)
        problems.append(f"{where} must be a table. Got {value!r}.")
        return None
    if hint == dict[str, tuple[str, ...]] and isinstance(value, dict):
        return {k: tuple(map(str, v if isinstance(v, list) else [v])) for k, v in value.items()}
    kind = get_origin(hint) or hint
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (kind in (int, float) and isinstance(value, bool)):
        problems.append(f"{where} must be {getattr(kind, '__name__', kind)}. Got {value!r}.")
    return float(value) if kind is float and fits else value


def _axes(given: Mapping[str, Any]) -> Axes:
    """Values by the paper's name of them; a list names its values itself."""
    return {
        axis: dict(values) if isinstance(values, dict) else {text(v): v for v in _listed(values)}
        for axis, values in given.items()
    }


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]
