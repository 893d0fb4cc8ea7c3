"""A recipe: one table or figure of a paper as data, read from TOML and checked, all problems at once.

A recipe says what was claimed (`printed` numbers, and `claim`s that a check decides), and what is run: data sets,
methods, settings, and axes along which runs are repeated. An axis is a property of a cell (labels, aligned, parties,
active, bias) or an option of a method; its values are listed, or mapped from what the paper says to what is run here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from colonnade.errors import ConfigError, did_you_mean, raise_all

Axis = dict[str, Any]  # what the paper calls a value -> the value here
Axes = dict[str, Axis]

RECIPES = "colonnade.lab.reproduce.recipes"
RECIPES = "colonnade.lab.reproduce.recipes"
PAPERS = {
    "000": ("FedHSSL", "He et al. 2022, A Hybrid Self-Supervised Learning Framework for VFL"),
    "001": ("SS-VFL", "Castiglia et al. 2022, Self-Supervised VFL"),
    "002": ("SSVFL", "Zhang et al. 2024, Toward Few-Label VFL"),
    "003": ("VFLHLP", "Li et al. 2024, VFL Hybrid Local Pre-training"),
    "004": ("FedOnce", "Wu et al. 2022, Practical VFL with Unsupervised Representation Learning"),
    "digits": ("order", "Claims of Castiglia et al. 2022 (001) and Zhang et al. 2024 (002), on data of neither"),
}
CELL_AXES = ("labels", "aligned", "parties", "active", "bias")
MEASURES = ("score", "bytes", "seconds", "bytes-to", "silhouette", "loss", "attack", "attack-baseline", "epsilon")
CHECKS = ("above", "near", "improves", "worsens", "steady", "best-at", "shrinks", "reach", "harmless")


@dataclass(frozen=True)
class Data:
    """A data set of the table, or what stands in for it."""

    name: str  # ours
    paper: str  # the paper's name of it, or of what it stands in for
    same: bool = False  # whether the paper's numbers can be expected here: the same rows and columns, about as many
    why: str = ""  # how it differs from the paper's
    axes: Axes = field(default_factory=dict)  # values that replace the recipe's
    settings: dict[str, Any] = field(default_factory=dict)
    parties: int | None = None
    active: str | None = None
    rows: int | None = None
    dominant: int | None = None  # columns that a biased division tells apart
    metric: str | None = None  # the data set's own by default
    factor: float = 1.0  # from our unit of the metric to the paper's
    seeds: int | None = None
    adversary: str | None = None  # of the recipe's attack


@dataclass(frozen=True)
class Absent:
    """A data set of the paper that Colonnade has no rows of."""

    name: str
    get: str  # how to get it


@dataclass(frozen=True)
class Entry:
    """A method of the table."""

    name: str  # the paper's
    run: str  # ours, as in a comparison: "splitnn:join=mean"
    settings: dict[str, Any] = field(default_factory=dict)
    over: Axes = field(default_factory=dict)  # further axes, of this method alone: its options
    fixed: tuple[str, ...] = ()  # axes that it does not depend on
    data: tuple[str, ...] = ()  # only on these
    ours: bool = False  # not in the paper's table


@dataclass(frozen=True)
class Printed:
    """Numbers of the paper: for each method one per value of an axis, or one alone."""

    data: str
    values: dict[str, list[float | str]]
    along: str | None = None
    at: dict[str, str] = field(default_factory=dict)  # the other axes
    measure: str = "score"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and the check that decides whether it holds here."""

    says: str
    check: str
    of: tuple[str, ...] = ()  # methods that it is about
    than: tuple[str, ...] = ()  # those they are compared with
    data: tuple[str, ...] = ()  # all by default
    at: dict[str, tuple[str, ...]] = field(default_factory=dict)  # only at these values of an axis
    along: str | None = None
    measure: str = "score"
    by: float = 0.0  # more than this
    within: float = 0.0  # at most this
    times: float = 1.0  # at least so many times
    value: tuple[str, ...] = ()  # of `along`, where the best is
    remark: str = ""  # what the measurement shows, in words, once it is known


@dataclass(frozen=True)
class Quick:
    """How to prove in moments that a recipe runs."""

    rows: int | None = None
    axes: Axes = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = ()  # only these


@dataclass(frozen=True)
class Recipe:
    """One table or figure."""

    paper: str
    table: str  # "table-2", "fig-5"
    title: str
    data: tuple[Data, ...]
    method: tuple[Entry, ...]
    claim: tuple[Claim, ...] = ()
    printed: tuple[Printed, ...] = ()
    absent: tuple[Absent, ...] = ()
    axes: Axes = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    protocol: str = "inductive"
    seeds: int = 3
    tolerance: float = 0.02  # by which a number may fall short of the paper's
    differs: tuple[str, ...] = ()  # from the paper, for all data
    targets: dict[str, float] = field(default_factory=dict)  # for `bytes-to`: value of `labels` -> score to reach
    attack: dict[str, Any] = field(default_factory=dict)  # name, auxiliary, target: runs are attacked too
    loss: dict[str, float] = field(default_factory=dict)  # rows, batch, epochs, noise, delta: ε alone, nothing trained
    maps: bool = False  # keep the map of the joint representation of the first seed
    heat: tuple[str, ...] = ()  # two axes that a heat map shows
    quick: Quick = field(default_factory=Quick)

    @property
    def name(self) -> str:
        """As its file is called."""
        return f"{self.paper}-{self.table}"


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
    from colonnade.lab.reproduce.recipe_check import problems_of

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


def text(value: Any) -> str:
    """A value of an axis as it is named."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def data_named(made: Recipe, name: str) -> Data:
    """The entry of a data set."""
    return next(d for d in made.data if d.name == name)
