"""From a recipe to the cells of an ordinary comparison, each with its place in the table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from colonnade.lab.reproduce.form import CELL_AXES, Axes, Data, Entry, Recipe, text
from colonnade.lab.run.cell import Cell, parse_method
from colonnade.methods.registry import method_named

QUICK = {"epochs": 2, "pretrain_epochs": 1, "trees": 5}
QUICK_VALUES = 2  # of each axis: the first and the last


@dataclass(frozen=True)
class Place:
    """Where in the table a number stands."""

    data: str  # ours
    method: str  # the paper's
    at: tuple[tuple[str, str], ...]  # axis, and what the paper calls its value

    def value(self, axis: str) -> str | None:
        """What the paper calls the value of an axis here; None where the method does not depend on it."""
        return dict(self.at).get(axis)

    def without(self, axis: str) -> Place:
        """The same place, whatever the value of an axis."""
        return Place(self.data, self.method, tuple(pair for pair in self.at if pair[0] != axis))


@dataclass(frozen=True)
class Planned:
    """A run and where its number goes."""

    place: Place
    cell: Cell


def plan(
    made: Recipe,
    *,
    quick: bool = False,
    seeds: int | None = None,
    settings: Mapping[str, Any] | None = None,
    skip: tuple[str, ...] = (),
) -> list[Planned]:
    """All runs of a recipe.

    Args:
        made: the recipe.
        quick: one seed, few epochs and rows, the first and the last value of each axis.
        seeds: how many, 0, 1, …; the recipe's own number by default.
        settings: options of methods, as in a comparison; they come after the recipe's own.
        skip: data sets to leave out.
    """
    found = []
    for data in made.data:
        if data.name in skip or (quick and made.quick.data and data.name not in made.quick.data):
            continue
        number = 1 if quick else seeds or data.seeds or made.seeds
        for entry in made.method:
            if not entry.data or data.name in entry.data:
                for place, cell in cells_of(made, data, entry, quick=quick, settings=settings):
                    found += [
                        Planned(place, replace(cell, seed=seed, with_map=made.maps and seed == 0))
                        for seed in range(number)
                    ]
    return found


def cells_of(
    made: Recipe, data: Data, entry: Entry, *, quick: bool = False, settings: Mapping[str, Any] | None = None
) -> Iterator[tuple[Place, Cell]]:
    """The cells of one method on one data set, for seed 0."""
    if entry.data and data.name not in entry.data:
        return
    axes = axes_of(made, data, entry, quick=quick)
    options = _options(made, data, entry, quick, settings or {})
    for names in itertools.product(*axes.values()):
        values = {axis: axes[axis][name] for axis, name in zip(axes, names, strict=True)}
        at = tuple((axis, name) for axis, name in zip(axes, names, strict=True) if axis not in entry.fixed)
        own = "".join(f":{axis}={_written(v)}" for axis, v in values.items() if axis not in CELL_AXES)
        yield Place(data.name, entry.name, at), _cell(made, data, entry, own, values, options, quick)


def _cell(
    made: Recipe,
    data: Data,
    entry: Entry,
    own: str,
    values: dict[str, Any],
    options: dict[str, Any],
    quick: bool,
) -> Cell:
    """One cell; `own` are the options that axes set. A draw of labels is named only where it is not the default."""
    labels, share = values.get("labels"), values.get("bias")
    rows = [n for n in (data.rows, made.quick.rows if quick else None) if n is not None]
    return Cell(
        entry.run + own,
        data.name,
        None if labels in (None, "all") else labels,
        float(values.get("aligned", 1.0)),
        parties=values.get("parties", data.parties),
        options=options,
        protocol=made.protocol,
        active=values.get("active", entry.active or data.active),
        rows=min(rows) if rows else None,
        bias=None if share is None else (float(share), data.dominant or 1),
        labels_drawn=None if made.labels_drawn == "stratified" else made.labels_drawn,
        labelled_rows=None if made.labelled_rows == "any" else made.labelled_rows,
    )


def axes_of(made: Recipe, data: Data, entry: Entry, *, quick: bool = False) -> Axes:
    """The axes of one method on one data set, with their values here; one that it does not depend on has its first."""
    axes = {axis: data.axes.get(axis, values) for axis, values in (*made.axes.items(), *entry.over.items())}
    axes |= {axis: values for axis, values in data.axes.items() if axis in CELL_AXES}
    if quick:
        axes = {axis: made.quick.axes.get(axis, _ends(values)) for axis, values in axes.items()}
    return {axis: dict(list(v.items())[:1]) if axis in entry.fixed else v for axis, v in axes.items()}


def _ends(values: dict[str, Any]) -> dict[str, Any]:
    pairs = list(values.items())
    return dict(pairs if len(pairs) <= QUICK_VALUES else [pairs[0], pairs[-1]])


def values_along(made: Recipe, data: str, method: str, axis: str) -> list[str]:
    """What the paper calls the values of an axis for which it prints numbers of a method."""
    entry = next(m for m in made.method if m.name == method)
    values = entry.over.get(axis) or made.axes.get(axis)
    if values is None:
        values = next(d for d in made.data if d.name == data).axes.get(axis, {})
    return list(values)


def fields_of(entry: Entry) -> set[str]:
    """The options of a method."""
    return {f.name for f in fields(method_named(parse_method(entry.run)[0]))}


def reaches(key: str, entry: Entry) -> bool:
    """Whether a setting for many is one of this method's: "epochs", "splitnn.epochs", or by the paper's name of it."""
    owner, _, option = key.rpartition(".")
    return option in fields_of(entry) and owner in ("", parse_method(entry.run)[0], entry.name)


def _options(made: Recipe, data: Data, entry: Entry, quick: bool, more: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a method: for all methods, then for it by name, the recipe's before the data's; then its own, then
    those asked for. The last wins."""
    found: dict[str, Any] = {}
    for named in (False, True):
        for source in (made.settings, data.settings):
            found |= _mine({key: value for key, value in source.items() if ("." in key) == named}, entry)
    found |= entry.settings
    if quick:
        found |= _mine({**QUICK, **made.quick.settings}, entry)
    found |= _mine(more, entry)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def _mine(source: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """Of settings for many, those that reach this method; one that names it comes after one for all."""
    mine = [key for key in source if reaches(key, entry)]
    return {key.rpartition(".")[2]: source[key] for key in sorted(mine, key=lambda key: "." in key)}


def _written(value: Any) -> str:
    """A value as an option in the name of a method takes it."""
    return str(value).lower() if isinstance(value, bool) else text(value)
