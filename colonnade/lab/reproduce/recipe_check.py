"""What can be wrong with a recipe beyond its form: names that do not exist, lengths that do not fit, unread options."""

from __future__ import annotations

from colonnade.data.datasets import DATASETS
from colonnade.data.labelling import LABELLED_ROWS, LABELS_DRAWN
from colonnade.errors import ColonnadeError, did_you_mean, one_of
from colonnade.lab.reproduce.form import CELL_AXES, CHECKS, MEASURES, PAPERS, Claim, Printed, Recipe
from colonnade.lab.reproduce.plan import cells_of, fields_of, reaches, values_along

_NEEDS = {
    "above": ("of", "than"),
    "near": ("of", "than"),
    "improves": ("of", "along"),
    "worsens": ("of", "along"),
    "steady": ("of", "along"),
    "best-at": ("of", "along", "value"),
    "shrinks": ("of", "than", "along"),
    "reach": ("of", "than"),
    "harmless": ("of",),
}


def problems_of(made: Recipe) -> list[str]:
    """All that is wrong."""
    problems: list[str] = []
    one_of(problems, "paper", made.paper, tuple(PAPERS))
    one_of(problems, "protocol", made.protocol, ("inductive", "transductive"))
    one_of(problems, "labels_drawn", made.labels_drawn, LABELS_DRAWN)
    one_of(problems, "labelled_rows", made.labelled_rows, LABELLED_ROWS)
    problems += _twice("data", [d.name for d in made.data]) + _twice("method", [m.name for m in made.method])
    problems += [
        f"method {entry.name!r}: active and the axis 'active' both say who holds the labels. Keep one."
        for entry in made.method
        if entry.active is not None and "active" in {*made.axes, *entry.over, *(a for d in made.data for a in d.axes)}
    ]
    for data in made.data:
        if data.name not in DATASETS:
            problems.append(f"data {data.name!r} does not exist. {did_you_mean(data.name, DATASETS)}")
        if not data.same and not data.why:
            problems.append(f"data {data.name!r} is not the paper's, and why is empty. Say how it differs.")
    problems += [
        f"axis {axis!r} is no property of a cell. {did_you_mean(axis, CELL_AXES)} Options of a method go into its over."
        for axis in made.axes
        if axis not in CELL_AXES
    ]
    if not made.loss:
        problems += _unbuildable(made)
    for i, printed in enumerate(made.printed, 1):
        problems += [f"printed {i}: {problem}" for problem in _printed(made, printed)]
    for i, claim in enumerate(made.claim, 1):
        problems += [f"claim {i} ({claim.says!r}): {problem}" for problem in _claim(made, claim)]
    return problems


def _twice(what: str, names: list[str]) -> list[str]:
    return [f"{what} {name!r} is there twice." for name in dict.fromkeys(names) if names.count(name) > 1]


def _unbuildable(made: Recipe) -> list[str]:
    """Methods and options that do not exist; a setting that reaches no method."""
    problems: list[str] = []
    reached: set[str] = set()
    every: set[str] = set()
    given = [*made.settings, *(key for data in made.data for key in data.settings)]
    for entry in made.method:
        try:
            every |= fields_of(entry)
            reached |= {key for key in given if reaches(key, entry)}
            for data in made.data:
                for quick in (False, True):
                    for _, cell in cells_of(made, data, entry, quick=quick):
                        cell.build()
        except ColonnadeError as error:
            problems.append(f"method {entry.name!r}: {error}")
    unread = [key for key in dict.fromkeys(given) if key not in reached]
    return problems + [f"setting {key!r} reaches no method here. {did_you_mean(key, every)}" for key in unread]


def _printed(made: Recipe, printed: Printed) -> list[str]:
    problems: list[str] = []
    names = [m.name for m in made.method]
    if printed.data not in [d.name for d in made.data]:
        return [f"{printed.data!r} is none of the recipe's data."]
    one_of(problems, "measure", printed.measure, MEASURES)
    for method, values in printed.values.items():
        if method not in names:
            problems.append(f"{method!r} is none of the recipe's methods. {did_you_mean(method, names)}")
            continue
        if printed.along is not None:
            expected = values_along(made, printed.data, method, printed.along)
            if len(values) != len(expected):
                named = ", ".join(expected) or "none"
                problems.append(f"{method!r} has {len(values)} values along {printed.along!r}, which has {named}.")
    return problems


def _claim(made: Recipe, claim: Claim) -> list[str]:
    problems: list[str] = []
    one_of(problems, "check", claim.check, CHECKS)
    one_of(problems, "measure", claim.measure, MEASURES)
    names, data = [m.name for m in made.method], [d.name for d in made.data]
    problems += [
        f"{m!r} is none of the recipe's methods. {did_you_mean(m, names)}"
        for m in (*claim.of, *claim.than)
        if m not in names
    ]
    problems += [f"{d!r} is none of the recipe's data. {did_you_mean(d, data)}" for d in claim.data if d not in data]
    problems += [f"{claim.check} needs {need!r}." for need in _NEEDS.get(claim.check, ()) if not getattr(claim, need)]
    axes = {*made.axes, *(a for m in made.method for a in m.over), *(a for d in made.data for a in d.axes)}
    for axis in (*claim.at, *([claim.along] if claim.along else [])):
        if axis not in axes:
            problems.append(f"there is no axis {axis!r}. {did_you_mean(axis, axes)}")
    return problems
