"""What a recipe is made of.

A recipe says what was claimed (`printed` numbers, and `claim`s that a check decides), and what is run: data sets,
methods, settings, and axes along which runs are repeated. An axis is a property of a cell (labels, aligned, parties,
active, bias) or an option of a method; its values are listed, or mapped from what the paper says to what is run here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Axis = dict[str, Any]  # what the paper calls a value -> the value here
Axes = dict[str, Axis]

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
    active: str | None = None  # who holds the labels in its runs; as the data say by default
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
    labels_drawn: str = "stratified"  # or "random"
    labelled_rows: str = "any"  # or "aligned"
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


def text(value: Any) -> str:
    """A value of an axis as it is named."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def data_named(made: Recipe, name: str) -> Data:
    """The entry of a data set."""
    return next(d for d in made.data if d.name == name)
