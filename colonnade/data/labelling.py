"""Which training rows keep their label: how many of them, how they are drawn, and among which rows.

`labels_drawn="stratified"` gives each class its share, at least one row each. `"random"` draws rows whatever their
class, as Zhang et al. 2024 do; a class may then have no labelled row. `labelled_rows="any"` labels aligned rows first
and then the others; `"aligned"` labels aligned rows alone, as the papers do.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, common, locate
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, one_of, raise_all

LabelsDrawn = Literal["stratified", "random"]
LabelledRows = Literal["any", "aligned"]
LABELS_DRAWN: tuple[LabelsDrawn, ...] = ("stratified", "random")
LABELLED_ROWS: tuple[LabelledRows, ...] = ("any", "aligned")


def check_draw(labels: float | None, labels_drawn: str, labelled_rows: str) -> None:
    """Refuse a number of labels, or a way to draw them, that does not exist."""
    problems: list[str] = []
    if labels is not None and not (0 < labels <= 1 or (1 < labels < np.inf and labels == int(labels))):
        problems.append(
            f"labels must be a number of rows or a fraction in (0, 1]. Got {labels!r}. Use e.g. 100 or 0.05."
        )
    one_of(problems, "labels_drawn", labels_drawn, LABELS_DRAWN)
    one_of(problems, "labelled_rows", labelled_rows, LABELLED_ROWS)
    raise_all(problems, ConfigError, "split")


def few_labels(
    data: VerticalData, labels: float | None, rng: np.random.Generator, labels_drawn: str, labelled_rows: str
) -> VerticalData:
    """Keep some labels; see the module. A fraction counts all rows of the active party."""
    own = data.views.get(data.active)
    total = len(own) if own is not None else len(data.aligned)
    if labelled_rows == "aligned":
        kept = np.flatnonzero(_is_aligned(data, data.labels.ids))
        data = data.labelled(data.labels.take(kept))
    if labels is None:
        return data
    wanted = int(labels) if labels > 1 else max(1, round(labels * total))
    if wanted >= len(data.labels):
        if labels > 1 and wanted > len(data.labels):
            where = " that all parties hold" if labelled_rows == "aligned" else ""
            raise ConfigError(
                f"labels={wanted} asks for more than the {len(data.labels)} labelled training rows{where} there are."
            )
        return data
    order = rng.permutation(len(data.labels))
    order = order[np.argsort(~_is_aligned(data, data.labels.ids)[order], kind="stable")]  # aligned rows first
    strata = _strata(data)[order]
    if labels_drawn == "stratified":
        _refuse_fewer_than_classes(labels, wanted, len(np.unique(strata)))
        order = order[_quota(strata, wanted)]
    return data.labelled(data.labels.take(np.sort(order[:wanted])))


def few_rows(data: VerticalData, labels: int, rng: np.random.Generator, labels_drawn: str) -> VerticalData:
    """Validation rows: no more of them than training has labels."""
    if len(data.labels) <= labels:
        return data
    strata = _strata(data)
    order = rng.permutation(len(strata))
    by_class = labels_drawn == "stratified" and labels >= len(np.unique(strata))
    chosen = order[_quota(strata[order], labels)] if by_class else order[:labels]
    return data.only(np.sort(data.labels.ids[chosen]))


def warn_of_unlabelled(classes: npt.NDArray[Any], train: VerticalData, labels_drawn: str) -> None:
    """Say which classes of a classification have no labelled training row."""
    missing = np.setdiff1d(classes, train.classes)
    if len(missing):
        noun = "class" if len(missing) == 1 else "classes"
        way_out = ", or use labels_drawn='stratified'" if labels_drawn == "random" else ""
        warnings.warn(
            f"{noun} {', '.join(map(str, missing.tolist()))}: no labelled training row. The model cannot predict "
            f"{'it' if len(missing) == 1 else 'them'}, and such test rows count as errors. Label more rows{way_out}.",
            UserWarning,
            stacklevel=3,
        )


def _is_aligned(data: VerticalData, ids: Ids) -> npt.NDArray[np.bool_]:
    held: npt.NDArray[np.bool_] = locate(common([view.ids for view in data.views.values()]), ids) >= 0
    return held


def _strata(data: VerticalData) -> npt.NDArray[Any]:
    return data.labels.values if data.task != "regression" else np.zeros(len(data.labels), dtype=np.int64)


def _refuse_fewer_than_classes(labels: float, wanted: int, classes: int) -> None:
    if wanted < classes:
        raise ConfigError(
            f"labels={labels:g} gives {wanted} labelled rows for {classes} classes. Ask for {classes} or more. "
            f"labels_drawn='random' allows fewer."
        )


def _quota(strata: npt.NDArray[np.generic], wanted: int) -> npt.NDArray[np.int64]:
    """The first rows of each stratum, its share of `wanted`, at least one; largest remainders get what is left."""
    values, inverse, counts = np.unique(strata, return_inverse=True, return_counts=True)
    share = wanted * counts / counts.sum()
    take = np.maximum(np.floor(share).astype(np.int64), 1)
    while take.sum() > wanted:
        take[np.argmax(np.where(take > 1, take - share, -np.inf))] -= 1
    for i in np.argsort(take - share, kind="stable"):
        if take.sum() < wanted:
            take[i] += 1
    return np.concatenate([np.flatnonzero(inverse == i)[: take[i]] for i in range(len(values))])
