"""Learning curves: validation score over epochs and over bytes, and the loss of each phase, averaged over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from colonnade.lab.report.chart import Axis, Dot, Plot, Series, bytes_axis, level, linear, named
from colonnade.lab.report.palette import Style, short

_VALIDATION = "validation score"


@dataclass(frozen=True)
class Point:
    """The runs of one method at one epoch."""

    epoch: float
    bytes: float | None  # cumulative, mean over runs
    mean: float
    std: float | None  # None with one run


def learning_curves(records: list[dict[str, Any]], look: dict[str, Style]) -> list[Plot]:
    """Every learning curve that the histories of one setting allow."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: record["method"]):
        by_method.setdefault(record["method"], []).append(record)
    validation = {method: average(group, "validation") for method, group in by_method.items()}
    plots = [_by_epoch("Validation score", _VALIDATION, validation, look), _by_bytes(validation, look)]
    for phase in _phases(records):
        loss = {method: average(group, "loss", phase) for method, group in by_method.items()}
        plots.append(_by_epoch(f"Loss: {phase}", "loss", loss, look))
    return [plot for plot in plots if plot is not None]


def average(records: list[dict[str, Any]], key: str, phase: str | None = None) -> list[Point]:
    """Mean and spread of `key` over the runs at each epoch; of one phase, or over all phases one after another.

    A run that stopped early keeps its last value: every mean is over all runs. Epochs before every run has a first
    value are left out.
    """
    curves = [curve for record in records if (curve := _curve_of(record, key, phase))]
    if not curves:
        return []
    start = max(min(curve) for curve in curves)
    epochs = sorted({epoch for curve in curves for epoch in curve if epoch >= start})
    return [_mean_at(epoch, [_latest(curve, epoch) for curve in curves]) for epoch in epochs]


Value = tuple[float, float | None]  # of the curve, and bytes sent so far


def _curve_of(record: dict[str, Any], key: str, phase: str | None) -> dict[float, Value]:
    """The curve of one run by epoch; parties that train apart have one entry each, which are averaged."""
    values: dict[float, list[float]] = {}
    sent: dict[float, list[float]] = {}
    for epoch, entry in numbered(record.get("history") or [], phase):
        if (value := finite(entry.get(key))) is not None:
            values.setdefault(epoch, []).append(value)
            if (count := finite(entry.get("bytes"))) is not None:
                sent.setdefault(epoch, []).append(count)
    return {
        epoch: (statistics.fmean(found), statistics.fmean(sent[epoch]) if epoch in sent else None)
        for epoch, found in values.items()
    }


def _latest(curve: dict[float, Value], epoch: float) -> Value:
    """The value at `epoch`, or the last one before it."""
    return curve[max(known for known in curve if known <= epoch)]


def _mean_at(epoch: float, values: list[Value]) -> Point:
    scores = [score for score, _ in values]
    sent = [count for _, count in values if count is not None]
    spread = statistics.stdev(scores) if len(scores) > 1 else None
    return Point(epoch, statistics.fmean(sent) if sent else None, statistics.fmean(scores), spread)


def numbered(history: list[dict[str, Any]], phase: str | None = None) -> list[tuple[float, dict[str, Any]]]:
    """Entries with their epoch: of one phase, or numbered on through the phases in the order they came."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for entry in history:
        parts.setdefault(str(entry.get("phase", "train")), []).append(entry)
    found: list[tuple[float, dict[str, Any]]] = []
    start = 0.0
    for name, entries in parts.items():
        if phase is not None and name != phase:
            continue
        given = [finite(entry.get("epoch")) for entry in entries]
        epochs = [place if epoch is None else epoch for place, epoch in enumerate(given, 1)]
        found += [(start + epoch, entry) for epoch, entry in zip(epochs, entries, strict=True)]
        start += max(epochs)
    return found


def finite(value: Any) -> float | None:
    """`value` as a float, or None when it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _phases(records: list[dict[str, Any]]) -> list[str]:
    """Phases with a loss, in the order they first appear."""
    entries = [entry for record in records for entry in record.get("history") or []]
    names = [str(entry.get("phase", "train")) for entry in entries if finite(entry.get("loss")) is not None]
    return list(dict.fromkeys(names))


def _by_epoch(title: str, y_title: str, curves: dict[str, list[Point]], look: dict[str, Style]) -> Plot | None:
    drawn = {method: points for method, points in curves.items() if points}
    if not drawn:
        return None
    every = [point.epoch for points in drawn.values() for point in points]
    x = (
        linear("epoch", every, pad=0.02, count=6)
        if len(set(every)) > 1
        else named("epoch", [(every[0], f"{every[0]:g}")])
    )
    series = tuple(_curve(m, points, [point.epoch for point in points], look[m]) for m, points in drawn.items())
    return Plot(title, _alt(title, "epochs", list(drawn)), x, _scale(y_title, drawn), series)


def _by_bytes(curves: dict[str, list[Point]], look: dict[str, Style]) -> Plot | None:
    """Validation score over bytes; methods that have sent nothing at the end are horizontal lines."""
    sent = {m: [p for p in points if p.bytes] for m, points in curves.items() if any(p.bytes for p in points)}
    silent = {m: points[-1].mean for m, points in curves.items() if points and points[-1].bytes == 0}
    if not sent:
        return None
    counts = [point.bytes or 0.0 for points in sent.values() for point in points]
    x = bytes_axis("bytes sent so far", min(counts) / 1.5, max(counts) * 1.5)
    series = [_curve(m, points, [point.bytes or 0.0 for point in points], look[m]) for m, points in sent.items()]
    for method, value in silent.items():
        series.append(
            level(f"{short(method)} (sends nothing)", look[method], value, x, hover=f"{value:.3f} at the end")
        )
    title = "Validation score against bytes"
    alt = _alt(title, "bytes sent so far", [*sent, *silent])
    y = _scale(_VALIDATION, sent, silent.values())
    return Plot(title, alt, x, y, tuple(series))


def _scale(title: str, curves: dict[str, list[Point]], more: Iterable[float] = ()) -> Axis:
    """An axis that fits every curve with its band."""
    points = [point for found in curves.values() for point in found]
    return linear(title, [p.mean + sign * (p.std or 0.0) for p in points for sign in (-1, 1)] + list(more))


def _curve(method: str, points: list[Point], x: list[float], style: Style) -> Series:
    """The mean as a line (dots too when it is short) over a band of one standard deviation to each side."""
    dots = tuple(
        Dot(at, point.mean, f"{short(method)}, epoch {point.epoch:g}: {point.mean:.3f}", spread_y=point.std)
        for at, point in zip(x, points, strict=True)
    )
    return Series(short(method), style, dots, marked=len(points) <= 12, band=True)


def _alt(title: str, against: str, methods: list[str]) -> str:
    return f"{title} over {against} for {', '.join(methods)}; lines are means over seeds, bands one standard deviation."
