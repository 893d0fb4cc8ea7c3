"""What the runs of a comparison say together: one row per method and setting, over its seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from colonnade.data.metrics import LOWER_IS_BETTER
from colonnade.lab.report.kinds import KINDS, kind_of

Setting = tuple[float | None, float | None]


@dataclass(frozen=True)
class Row:
    """The runs of one method in one setting."""

    method: str
    labels: float | None  # fraction below 1, or a count; None is all
    aligned: float | None  # fraction; None is the data as they are
    n: int  # runs (seeds)
    mean: float  # of the test score
    std: float | None  # sample standard deviation (n - 1); None with one run
    bytes: int  # mean over the runs
    seconds: float  # mean over the runs
    kind: str = "federated"  # or a reference: "alone", "pooled"
    reached: int = 0  # runs whose validation score reached the target
    to_target: int | None = None  # bytes sent until then, mean over those runs

    @property
    def setting(self) -> Setting:
        """What the row shares with the rows it is compared with."""
        return self.labels, self.aligned


def higher_is_better(metric: str) -> bool:
    """Whether a larger value of `metric` is the better one."""
    return metric not in LOWER_IS_BETTER


def best_first(metric: str) -> Callable[[Row], tuple[bool, float, int]]:
    """Sort key that puts the best mean first; a score that is not finite comes last, fewer bytes break ties."""
    sign = -1.0 if higher_is_better(metric) else 1.0

    def key(row: Row) -> tuple[bool, float, int]:
        finite = math.isfinite(row.mean)
        return not finite, sign * row.mean if finite else 0.0, row.bytes

    return key


def labels_of(record: dict[str, Any]) -> float | None:
    """The labels of a run: a fraction below one, a count, or None for all (which 1.0 means too)."""
    labels: float | None = record["config"].get("labels")
    return None if isinstance(labels, float) and labels == 1.0 else labels


def aligned_of(record: dict[str, Any]) -> float | None:
    """The aligned fraction of a run, or None when the data were used as they are."""
    aligned: float | None = record["config"].get("aligned")
    return aligned


def setting_of(record: dict[str, Any]) -> Setting:
    """The setting of a run."""
    return labels_of(record), aligned_of(record)


def setting_order(setting: Setting) -> tuple[float, ...]:
    """Sort key: fewest labels first (counts, then fractions, then all), then least aligned."""
    labels, aligned = setting
    kind = 2 if labels is None else int(labels < 1)
    return kind, labels or 0.0, math.inf if aligned is None else aligned


def bytes_to_target(record: dict[str, Any], target: float) -> int | None:
    """Bytes sent when the validation score first reached `target` (Castiglia et al. 2022, Table 1); None: never."""
    sign = 1 if higher_is_better(record["metric"]) else -1
    for epoch in record.get("history") or []:
        if "validation" in epoch and sign * epoch["validation"] >= sign * target:
            return int(epoch.get("bytes", 0))
    return None


def summarise(records: Iterable[dict[str, Any]], target: float | None = None) -> list[Row]:
    """One row per method and setting: settings in order, federated methods before references, the best first.

    Example: scores 0.8 and 0.9 give mean 0.85 and std sqrt(2 * 0.05**2 / 1) = 0.0707.
    """
    groups: dict[tuple[Setting, str], list[dict[str, Any]]] = {}
    metric = ""
    for record in records:
        metric = record["metric"]
        groups.setdefault((setting_of(record), record["method"]), []).append(record)
    rows = [_row(method, setting, group, target) for (setting, method), group in groups.items()]
    better = best_first(metric)
    order = list(KINDS)
    return sorted(rows, key=lambda row: (setting_order(row.setting), order.index(row.kind), better(row), row.method))


def _row(method: str, setting: Setting, group: list[dict[str, Any]], target: float | None) -> Row:
    found = [] if target is None else [bytes_to_target(record, target) for record in group]
    reached = [size for size in found if size is not None]
    scores = [float(record["score"]) for record in group]
    finite = all(math.isfinite(score) for score in scores)
    return Row(
        method=method,
        labels=setting[0],
        aligned=setting[1],
        n=len(group),
        mean=statistics.fmean(scores) if finite else math.nan,
        std=statistics.stdev(scores) if finite and len(scores) > 1 else None,
        bytes=round(statistics.fmean(record["traffic"]["bytes"] for record in group)),
        seconds=statistics.fmean(record["seconds"] for record in group),
        kind=kind_of(group[0]),
        reached=len(reached),
        to_target=round(statistics.fmean(reached)) if reached else None,
    )


def settings(rows: Iterable[Row]) -> list[Setting]:
    """The settings of `rows`, in order."""
    return sorted({row.setting for row in rows}, key=setting_order)


def best_of(rows: Iterable[Row], metric: str) -> Row | None:
    """The best row, or None when no score is finite."""
    finite = [row for row in rows if math.isfinite(row.mean)]
    return min(finite, key=best_first(metric)) if finite else None


def marks(rows: Iterable[Row], metric: str) -> dict[Row, str]:
    """`best` for the best federated row of each setting, `close` for those within one standard deviation of it.

    References are marked nowhere: they answer another question.
    """
    rows = list(rows)
    found: dict[Row, str] = {}
    for setting in settings(rows):
        here = [row for row in rows if row.setting == setting and row.kind == "federated"]
        best = best_of(here, metric)
        if best is None or len(here) == 1:
            continue
        found |= {row: "close" for row in here if best.std is not None and abs(row.mean - best.mean) <= best.std}
        found[best] = "best"
    return found
