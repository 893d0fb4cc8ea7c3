"""Train, validation and test rows that cannot leak into one another.

The three parts share no id in any party. Test rows have all their labels and all parties' columns; nothing but scoring
sees them. Validation holds at most as many labels as training, so that "few labels" means few.

`labels` and `aligned` make the virtual dataset of He et al. 2022, Fig. 2, out of the training rows: a fraction of them
is aligned, the rest stays with each party under an id that no other party knows; labels come first to aligned rows.
How labels are drawn is told in `colonnade.data.labelling`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.groups import divided, groups_of, refuse_shared_groups, whole_groups
from colonnade.data.ids import Ids, locate, shown
from colonnade.data.labelling import check_draw, few_labels, few_rows, warn_of_unlabelled
from colonnade.data.labels import Labels
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, DataError, raise_all

TEST, VALID = 0.2, 0.2  # fractions of the rows that are labelled and aligned
_LARGEST = (1 << 63) - 1  # among integer ids


@dataclass(frozen=True, eq=False)
class Split:
    """The parts of a dataset, and how labels were drawn; the transductive protocol has no validation rows."""

    train: VerticalData
    valid: VerticalData | None
    test: VerticalData
    labels_drawn: str = "stratified"
    labelled_rows: str = "any"


def split(
    data: VerticalData,
    *,
    labels: float | None = None,
    aligned: float = 1.0,
    seed: int = 0,
    test: VerticalData | None = None,
    labels_drawn: str = "stratified",
    labelled_rows: str = "any",
    groups: Any = None,
    test_share: float = TEST,
) -> Split:
    """Split `data` by id.

    Args:
        data: all rows, with all the labels there are.
        labels: labelled training rows: a number of rows (above 1) or a fraction of the training rows; None keeps all.
        aligned: fraction of the aligned training rows that stay aligned, in (0, 1].
        seed: of the draw.
        test: rows that the dataset's authors set apart; drawn from `data` when left out.
        labels_drawn: "stratified" gives each class its share of the labels, at least one; "random" does not.
        labelled_rows: "any" labels aligned rows first and then others; "aligned" labels no others.
        groups: which rows belong together, as for `VerticalData`, whose own groups are used by default. All rows of a
            group are in one part; see `colonnade.data.groups`.
        test_share: of the labelled and aligned rows (with groups: of the groups) that are drawn for testing.
    """
    _check(aligned, seed)
    check_draw(labels, labels_drawn, labelled_rows)
    if not 0 < test_share <= 0.5:
        raise ConfigError(f"test_share must be in (0, 0.5]. Got {test_share!r}. Use e.g. {TEST} or 0.1.")
    rng = np.random.default_rng([seed, 0x5711])
    usable = np.intersect1d(data.aligned, data.labels.ids, assume_unique=True)
    if len(usable) < 10:
        raise DataError(f"{len(usable)} rows are labelled and held by all parties. A split needs at least 10.")
    data = data if groups is None else data.grouped(groups)
    parts = _parts(data, usable, (VALID,) if test is not None else (VALID, test_share), rng)
    if not all(len(part) for part in parts):
        raise DataError(
            f"{len(usable)} rows are labelled and held by all parties, but no class has the 3 that a split needs. "
            f"Label more rows."
        )
    held = np.concatenate(parts)
    taken_out = usable[held] if data.groups is None else whole_groups(data.groups, usable[held])
    train = _without(data, taken_out)
    if test is not None:
        _refuse_shared_rows(data, test)
        refuse_shared_groups(data, test, "test")
    else:
        test = data.only(np.sort(usable[parts[1]]))
    valid = data.only(np.sort(usable[parts[0]]))
    taken = np.concatenate([view.ids for part in (data, test) for view in part.views.values()])
    train = few_labels(_partly_aligned(train, aligned, rng, taken), labels, rng, labels_drawn, labelled_rows)
    warn_of_unlabelled(np.union1d(data.classes, test.classes), train, labels_drawn)
    valid = few_rows(valid, len(train.labels), rng, labels_drawn)
    return Split(train, valid, test, labels_drawn, labelled_rows)


def transductive(
    data: VerticalData,
    *,
    labels: float,
    seed: int = 0,
    labels_drawn: str = "stratified",
    labelled_rows: str = "any",
) -> Split:
    """The protocol of Zhang et al. 2024: all rows take part in training, and those without a label are the test rows.

    There are no validation rows. A score under this protocol must not stand beside one of `split`. The paper draws
    labels at random, which is `labels_drawn="random"`.
    """
    _check(1.0, seed)
    check_draw(labels, labels_drawn, labelled_rows)
    if data.groups is not None:
        raise ConfigError(
            "the transductive protocol tests on rows that take part in training, so that groups would be "
            "on both sides. Use the inductive protocol, or data without groups."
        )
    rng = np.random.default_rng([seed, 0x7245])
    train = few_labels(data, labels, rng, labels_drawn, labelled_rows)
    hidden = np.setdiff1d(data.labels.ids, train.labels.ids, assume_unique=True)
    if len(hidden) == 0:
        raise ConfigError(f"labels={labels:g} leaves no row without a label to test on. Ask for fewer.")
    warn_of_unlabelled(data.classes, train, labels_drawn)
    return Split(train, None, data.only(np.sort(hidden)), labels_drawn, labelled_rows)


def _check(aligned: float, seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"seed must be a whole number of at least 0. Got {seed!r}.")
    if not 0 < aligned <= 1:
        raise ConfigError(f"aligned must be in (0, 1]. Got {aligned!r}. Use 1.0 when every row is held by all parties.")


def _parts(
    data: VerticalData, usable: Ids, fractions: tuple[float, ...], rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Positions among `usable`, one array per fraction: by class, or whole groups."""
    if data.groups is not None:
        return divided(groups_of(data.groups, usable), fractions, rng)
    y, _ = data.labels.of(usable)
    return _stratified(y if data.task != "regression" else np.zeros(len(y), dtype=np.int64), fractions, rng)


def _stratified(
    strata: npt.NDArray[np.generic], fractions: tuple[float, ...], rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Disjoint positions, one array per fraction, with each stratum's share."""
    parts: list[list[npt.NDArray[np.int64]]] = [[] for _ in fractions]
    for value in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == value))
        start = 0
        for part, fraction in zip(parts, fractions, strict=True):
            stop = start + round(fraction * len(members))
            part.append(members[start:stop])
            start = stop
    return [np.concatenate(part) for part in parts]


def _refuse_shared_rows(data: VerticalData, test: VerticalData) -> None:
    problems = []
    for name, view in test.views.items():
        both = view.ids[locate(data.views[name].ids, view.ids) >= 0] if name in data.views else view.ids[:0]
        if len(both):
            problems.append(
                f"party {name!r}: {len(both)} test rows have the id of another row, e.g. {shown(both)}. "
                f"Give test rows ids of their own."
            )
    raise_all(problems, DataError, "test")


def _without(data: VerticalData, ids: Ids) -> VerticalData:
    views = {name: view.take(np.flatnonzero(locate(ids, view.ids) < 0)) for name, view in data.views.items()}
    labels = data.labels.take(np.flatnonzero(locate(ids, data.labels.ids) < 0))
    groups = None if data.groups is None else data.groups.take(np.flatnonzero(locate(ids, data.groups.ids) < 0))
    return VerticalData.of(views, labels, data.active, data.task, groups)


def _partly_aligned(data: VerticalData, fraction: float, rng: np.random.Generator, taken: Ids) -> VerticalData:
    """Keep a fraction of the aligned rows aligned; the others get, at each party, an id of that party alone.

    `taken` are all ids that occur anywhere, so that no new id is one of them.
    """
    if fraction == 1.0:
        return data
    shared = data.aligned
    keep = rng.permutation(shared)[: max(1, round(fraction * len(shared)))]
    fresh = _private_ids([view.ids for view in data.views.values()], taken)
    renamed = {
        name: np.where(locate(keep, view.ids) >= 0, view.ids, ids)
        for (name, view), ids in zip(data.views.items(), fresh, strict=True)
    }
    views = {name: view.with_ids(renamed[name]) for name, view in data.views.items()}
    labels = _renamed(data.labels, data, keep, renamed)
    groups = None if data.groups is None else _renamed(data.groups, data, keep, renamed)
    return VerticalData.of(views, labels, data.active, data.task, groups)


def _renamed(values: Labels, data: VerticalData, keep: Ids, renamed: Mapping[str, Ids]) -> Labels:
    """Labels or groups under the active party's new ids; a party with labels only knows the common ids alone."""
    if data.active not in renamed:
        return values.take(np.flatnonzero(locate(keep, values.ids) >= 0))
    at = locate(data.views[data.active].ids, values.ids)
    return Labels(renamed[data.active][at[at >= 0]], values.values[at >= 0])


def _private_ids(ids: list[Ids], taken: Ids) -> list[Ids]:
    """For each party new ids, in the order of its old ones, that occur neither in `taken` nor at another party."""
    if taken.dtype.kind == "U":
        mark = "@"
        while (np.char.find(taken, mark) >= 0).any():
            mark += "@"
        return [np.char.add(own, f"{mark}{k}") for k, own in enumerate(ids, 1)]
    total, high = sum(map(len, ids)), int(taken.max())
    start = high + 1 if high + total < _LARGEST else int(taken.min()) - total
    out = []
    for own in ids:
        ranks = np.empty(len(own), dtype=np.int64)
        ranks[np.argsort(own, kind="stable")] = np.arange(len(own))
        out.append(start + ranks)
        start += len(own)
    return out
