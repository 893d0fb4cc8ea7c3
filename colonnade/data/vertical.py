"""`VerticalData`: several parties' columns about partly the same people.

Rows are joined by sample id. A row is *aligned* when every party holds its id, *labelled* when the active party knows
its label. The rows that are neither are kept: most methods learn from them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from colonnade.data.frames import parts_of
from colonnade.data.ids import Ids, common, locate, shown, usable
from colonnade.data.joining import Join, by_position, check_join, needs_ids, positioned_labels
from colonnade.data.labels import Labels, Task, as_labels, check_task, infer_task
from colonnade.data.leaks import find_label
from colonnade.data.view import MISSING, View, as_view
from colonnade.errors import DataError, did_you_mean, raise_all

SERVER = "server"  # a party that has labels and no columns (Castiglia et al. 2022, Zhang et al. 2024)


class VerticalData:
    """Views of several parties and the active party's labels.

    Args:
        views: party name to DataFrame (index = sample id), array, tensor, sparse matrix, or `(array, ids)`. An array
            without ids has the ids 0, 1, 2, …
        labels: Series by id, `(array, ids)`, or an array in the row order of the active party's view. Missing means
            unlabelled.
        active: the party that holds the labels; the first view by default. "server" is a party that has labels and no
            columns.
        task: "binary", "multiclass" or "regression"; inferred from the labels when left out.
        categorical: party name to the columns that hold categories although they look like numbers.
        join: "id" joins rows by the index, also where it is 0, 1, 2, …; "position" joins row k of every table. By
            default rows are joined by id, and tables whose index nobody set are refused.
        label_only: whether `active` is a party with labels and no columns, under a name other than "server".
        groups: which rows belong together, e.g. the patient of each: a Series by id, `(array, ids)`, or an array in the
            row order of the active party's view. A split puts all rows of a group on one side.
    """

    views: dict[str, View]
    labels: Labels
    active: str
    task: Task
    groups: Labels | None = None

    def __init__(
        self,
        views: Mapping[str, Any],
        labels: Any,
        active: str | None = None,
        *,
        task: Task | None = None,
        categorical: Mapping[str, Sequence[str]] | None = None,
        join: Join | None = None,
        label_only: bool = False,
        groups: Any = None,
    ) -> None:
        check_task(task)
        check_join(join)
        problems: list[str] = []
        if not isinstance(views, Mapping) or not views:
            raise DataError("views must map party names to tables. Got none. Use {'bank': bank_df, 'shop': shop_df}.")
        given = {str(name): view for name, view in views.items()}
        categorical = categorical or {}
        for name in categorical:
            if name not in views:
                problems.append(f"categorical names the party {name!r}, which has no view. {did_you_mean(name, views)}")
        self.views = {str(n): as_view(v, str(n), categorical.get(n, ()), problems) for n, v in views.items()}
        self.active = next(iter(given)) if active is None else str(active)
        _check_active(self.active, given, label_only, problems)
        if join is None and (reason := needs_ids(given)) is not None:
            raise_all([*problems, reason], DataError, "The data cannot be used")
        rows = self.views.get(self.active)
        if join == "position":
            self.views = by_position(given, self.views, problems)
            rows = next(iter(self.views.values()))
            labels = positioned_labels(labels, rows.ids, problems)
        unreadable: list[str] = []
        where = f"labels of party {self.active!r}"
        self.labels = as_labels(labels, None if rows is None else rows.ids, where, unreadable)
        problems += unreadable
        self.task = task or infer_task(self.labels.values)
        for name, view in self.views.items():
            _check_columns(view, f"party {name!r}", problems)
        _check_ids(self.views, problems)
        if not unreadable:
            self.labels = _with_a_row(self.labels, self.active, self.views, problems)
            _check_labels(self.labels, self.task, self.active, problems)
        raise_all(problems, DataError, "The data cannot be used")
        self._look_for_label(str(getattr(labels, "name", "")))
        if self.task == "regression":
            self.labels = Labels(self.labels.ids, self.labels.values.astype(np.float64))
        if groups is not None:
            self.groups = self.grouped(groups).groups

    def _look_for_label(self, name: str) -> None:
        """Refuse the label among the active party's columns; warn once of columns that nearly are it."""
        view = self.views.get(self.active)
        if view is None:
            return
        refused, warned = find_label(view, self.labels, self.task, f"party {self.active!r}", name)
        raise_all(refused, DataError, "The data cannot be used")
        if warned:
            warnings.warn(" ".join(warned), UserWarning, stacklevel=3)

    @classmethod
    def from_frames(
        cls,
        frames: Mapping[str, Any],
        id: str | Mapping[str, str],
        label: str,
        active: str | None = None,
        *,
        task: Task | None = None,
        categorical: Mapping[str, Sequence[str]] | None = None,
    ) -> VerticalData:
        """Data from one DataFrame per party, as `pd.read_csv` gives them.

        Args:
            frames: party name to DataFrame.
            id: the column that says whose row it is, or the index of that name; one name, or one by party.
            label: the column with the labels, which one party has.
            active: that party; found by the column when left out. With no column but id and label, it takes part with
                its labels alone.
            task: as for `VerticalData`.
            categorical: as for `VerticalData`.
        """
        parts = parts_of(frames, id, label, active)
        return cls(
            parts.views, parts.labels, parts.active, task=task, categorical=categorical, join="id",
            label_only=parts.label_only,
        )  # fmt: skip

    @classmethod
    def of(cls, views: dict[str, View], labels: Labels, active: str, task: Task, groups: Labels | None = None) -> Self:
        """Data from parts that were checked before, e.g. rows of checked data."""
        data = cls.__new__(cls)
        data.views, data.labels, data.active, data.task, data.groups = views, labels, active, task, groups
        return data

    @property
    def passive(self) -> tuple[str, ...]:
        """Names of the parties without labels."""
        return tuple(name for name in self.views if name != self.active)

    @property
    def aligned(self) -> Ids:
        """Ids that every party's view holds, sorted."""
        return common([view.ids for view in self.views.values()])

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes among the labels, sorted; empty for regression."""
        return np.unique(self.labels.values) if self.task != "regression" else np.zeros(0)

    def only(self, ids: Ids) -> VerticalData:
        """The rows with these ids, where a party holds them, in the order of `ids`."""
        views = {}
        for name, view in self.views.items():
            at = locate(view.ids, ids)
            views[name] = view.take(at[at >= 0])
        at = locate(self.labels.ids, ids)
        groups = None if self.groups is None else self.groups.take(np.flatnonzero(locate(ids, self.groups.ids) >= 0))
        return VerticalData.of(views, self.labels.take(at[at >= 0]), self.active, self.task, groups)

    def labelled(self, labels: Labels) -> VerticalData:
        """The same rows with these labels alone."""
        return VerticalData.of(self.views, labels, self.active, self.task, self.groups)

    def grouped(self, groups: Any) -> VerticalData:
        """The same rows, and which of them belong together; as for `VerticalData`."""
        problems: list[str] = []
        view = self.views.get(self.active)
        found = as_labels(groups, None if view is None else view.ids, "groups", problems)
        raise_all(problems, DataError, "The groups cannot be used")
        return VerticalData.of(self.views, self.labels, self.active, self.task, found)

    def __repr__(self) -> str:
        rows = ", ".join(
            f"{name}{'*' if name == self.active else ''} {len(v)}x{v.width}" for name, v in self.views.items()
        )
        return f"VerticalData({rows}; {len(self.aligned)} aligned, {len(self.labels)} labelled, {self.task})"


def _check_active(active: str, views: Mapping[str, Any], label_only: bool, problems: list[str]) -> None:
    """The active party has a view, or is said to have none."""
    if label_only and active in views:
        problems.append(f"label_only=True, but party {active!r} has columns. Leave label_only out, or its view.")
    elif not label_only and active not in views and active != SERVER:
        problems.append(
            f"active={active!r} has no view. {did_you_mean(active, [*views, SERVER])} "
            f"Use active='server', or label_only=True, for a party that has labels and no columns."
        )


def _check_columns(view: View, where: str, problems: list[str]) -> None:
    """Rows and columns there, values finite, no column empty or constant."""
    if len(view) == 0 or view.width == 0:
        problems.append(f"{where}: the table is empty ({len(view)} rows, {view.width} columns). Leave the party out.")
        return
    if view.is_image:
        if view.x.dtype.kind == "f" and not np.isfinite(view.x).all():
            problems.append(f"{where}: images hold NaN or infinity. Replace those pixels.")
        return
    infinite = np.isinf(view.x).any(axis=0)
    if infinite.any():
        names = shown(np.array(view.columns)[infinite])
        problems.append(f"{where}: column {names} holds infinity. Replace it by a number or by missing (NaN).")
    with np.errstate(invalid="ignore"):
        first = np.nanmax(np.where(np.isnan(view.x), -np.inf, view.x), axis=0, initial=-np.inf)
        last = np.nanmin(np.where(np.isnan(view.x), np.inf, view.x), axis=0, initial=np.inf)
    empty = [c for c, top in zip(view.columns, first, strict=True) if top == -np.inf]
    has_missing = np.isnan(view.x).any(axis=0)
    constant = [
        c for c, top, low, gap in zip(view.columns, first, last, has_missing, strict=True) if top == low and not gap
    ]
    for field, codes in zip(view.fields, view.codes.T, strict=True):
        if (codes == MISSING).all():
            empty.append(field)
        elif len(codes) > 1 and (codes == codes[0]).all():
            constant.append(field)
    if empty:
        problems.append(f"{where}: column {shown(empty)} is empty. Leave it out, e.g. df.drop(columns=…).")
    if constant and len(view) > 1:
        problems.append(
            f"{where}: column {shown(constant)} has one value in all rows. Leave it out, e.g. df.drop(columns=…)."
        )


def _check_ids(views: Mapping[str, View], problems: list[str]) -> None:
    """Ids of one type at all parties, and at least one in common."""
    if not all(usable(view.ids) for view in views.values()):
        return
    kinds = {name: "integers" if view.ids.dtype.kind in "iu" else "text" for name, view in views.items()}
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{name!r} {kind}" for name, kind in kinds.items())
        problems.append(f"ids differ in type between parties: {listed}. Use one type, e.g. df.index.astype(str).")
    elif len(views) > 1 and len(common([view.ids for view in views.values()])) == 0:
        listed = "; ".join(f"{name!r} has {shown(view.ids)}" for name, view in views.items())
        problems.append(f"no id is held by all parties: {listed}. Check that the indexes hold the same kind of id.")


def _with_a_row(labels: Labels, active: str, views: Mapping[str, View], problems: list[str]) -> Labels:
    """The labels of rows that the active party holds or, when it has no view, that any party holds."""
    holders = [views[active]] if active in views else list(views.values())
    if len({view.ids.dtype.kind for view in holders}) > 1 or not all(usable(view.ids) for view in holders):
        return labels  # reported with the ids
    rows = np.unique(np.concatenate([view.ids for view in holders]))
    kept = labels.take(np.flatnonzero(locate(rows, labels.ids) >= 0))
    if len(kept) or not len(labels) or not len(rows):
        return kept
    place = "a row of its view" if active in views else f"a row of {' or '.join(map(repr, views))}"
    problems.append(
        f"labels of party {active!r}: none of their ids ({shown(labels.ids)}) is {place} ({shown(rows)}). "
        f"Index the labels by the same ids."
    )
    return labels


def _check_labels(labels: Labels, task: Task, active: str, problems: list[str]) -> None:
    """At least one label, and two classes."""
    if len(labels) == 0:
        problems.append(f"labels of party {active!r}: no row has a label. Give at least a few labels.")
        return
    if task == "regression":
        if labels.values.dtype.kind not in "iufb":
            problems.append(f"labels of party {active!r}: regression needs numbers. Got {shown(labels.values)}.")
        elif not np.isfinite(labels.values.astype(np.float64)).all():
            problems.append(f"labels of party {active!r}: a target is infinite. Replace it or leave it out.")
        return
    found = np.unique(labels.values)
    if len(found) < 2:
        problems.append(f"labels of party {active!r}: only the class {shown(found)} occurs. Classification needs two.")
    elif task == "binary" and len(found) > 2:
        problems.append(f"labels of party {active!r}: {len(found)} classes in a binary task. Use task='multiclass'.")
