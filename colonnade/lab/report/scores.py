"""Score against bytes, against labels, and against aligned rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from colonnade.lab.report.chart import Axis, Dot, Plot, Series, bytes_axis, level, linear, named
from colonnade.lab.report.kinds import KINDS
from colonnade.lab.report.palette import Style, short
from colonnade.lab.report.summary import Row, higher_is_better, setting_order
from colonnade.lab.report.text import aligned_text, bytes_text, labels_text, percent_text, score_text, setting_text

Look = dict[str, Style]


def score_by_bytes(rows: list[Row], metric: str, look: Look) -> Plot | None:
    """Score against bytes in one setting. What sends nothing is a horizontal line to be measured against."""
    sent = [row.bytes for row in rows if row.bytes]
    if not sent or len(rows) < 2:
        return None
    x = bytes_axis("bytes sent in training, all parties together", min(sent) / 4, max(sent) * 4)
    y = score_axis(rows, metric)
    series = tuple(
        Series(short(row.method), look[row.method], (_dot(row, row.bytes, text=short(row.method)),), line=False)
        if row.bytes
        else _reference(row, look[row.method], x)
        for row in rows
    )
    return Plot(setting_text(*rows[0].setting), _alt(rows, metric, "the bytes sent"), x, y, series, height=320)


def reference_name(row: Row) -> str:
    """A method, with what kind of reference it is."""
    return short(row.method) if row.kind == "federated" else f"{short(row.method)}: {KINDS[row.kind]}"


def _reference(row: Row, style: Style, x: Axis) -> Series:
    text = f"{row.kind} {score_text(row.mean)}"
    return level(reference_name(row), style, row.mean, x, hover=_hover(row), text=text)


def score_panels(rows: list[Row], metric: str, look: Look) -> list[Plot]:
    """Lines over labels, one panel per aligned fraction; where labels do not vary, over aligned rows."""
    labels, aligned = {row.labels for row in rows}, {row.aligned for row in rows}
    if len(labels) > 1:
        ordered = sorted(aligned, key=lambda value: setting_order((None, value)))
        return [_over_labels([row for row in rows if row.aligned == value], rows, metric, look) for value in ordered]
    if len(aligned) > 1:
        values = sorted(aligned, key=_last)
        x = _axis(values, aligned_text, "rows aligned")
        series = _series(rows, lambda row: row.aligned, places_of(values), x, look)
        return [Plot("", _alt(rows, metric, "the fraction of aligned rows"), x, score_axis(rows, metric), series)]
    return []


def _over_labels(here: list[Row], rows: list[Row], metric: str, look: Look) -> Plot:
    """One panel; all panels share the range of the score."""
    values = sorted({row.labels for row in rows}, key=lambda value: setting_order((value, None)))
    x = _axis(values, labels_text, "labels")
    aligned = here[0].aligned
    title = "Rows as given" if aligned is None else f"{percent_text(aligned)} of the rows aligned"
    series = _series(here, lambda row: row.labels, places_of(values), x, look)
    return Plot(title, _alt(here, metric, f"the number of labels ({title})"), x, score_axis(rows, metric), series)


def score_axis(rows: list[Row], metric: str) -> Axis:
    """An axis that fits every row with its error bar."""
    ends = [row.mean + sign * (row.std or 0) for row in rows for sign in (-1, 1)]
    return linear(score_title(metric), ends)


def score_title(metric: str) -> str:
    """The name of a score axis; says so when lower is better."""
    return short(metric) if higher_is_better(metric) else f"{short(metric)} (lower is better)"


def _last(value: float | None) -> float:
    return math.inf if value is None else value


def places_of(values: Sequence[float | None]) -> dict[float | None, float]:
    """Where each value sits on the x axis; `all` stands one step to the right of counts, at 1 of fractions.

    Counts and fractions in one comparison cannot share a scale: they are set out evenly.
    """
    numbers = [value for value in values if value is not None]
    if not numbers or (min(numbers) < 1 < max(numbers)):
        return {value: float(i) for i, value in enumerate(values)}
    top = max(numbers)
    places: dict[float | None, float] = {value: float(value) for value in numbers}
    if None in values:
        end = 1.0 if top < 1 else top * 2 if is_wide(numbers) else top + max(top - min(numbers), 1) / len(numbers)
        places[None] = end
    return places


def is_wide(numbers: Sequence[float]) -> bool:
    """Whether positive numbers spread so far (fivefold) that a logarithmic axis is due."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= 5


def _axis(values: Sequence[float | None], text: Callable[[float | None], str], title: str) -> Axis:
    """An x axis with a tick at each value that was run."""
    places = places_of(values)
    ticks = [(spot, text(value)) for value, spot in places.items()]
    return named(title, ticks, log=is_wide(list(places.values())))


def _series(
    rows: list[Row], x_of: Callable[[Row], float | None], places: dict[float | None, float], x: Axis, look: Look
) -> tuple[Series, ...]:
    """One line with error bars per method, each nudged sideways so that the bars do not hide one another."""
    methods = list(dict.fromkeys(row.method for row in rows))
    found = []
    for i, method in enumerate(methods):
        nudge = 0.01 * (i - (len(methods) - 1) / 2)
        mine = sorted((row for row in rows if row.method == method), key=lambda row: places[x_of(row)])
        dots = tuple(_dot(row, _nudged(places[x_of(row)], nudge, x)) for row in mine)
        found.append(Series(reference_name(mine[0]), look[method], dots))
    return tuple(found)


def _nudged(place: float, share: float, x: Axis) -> float:
    """A place, moved by a share of the axis."""
    return float(place * (x.high / x.low) ** share) if x.log else place + share * (x.high - x.low)


def _dot(row: Row, x: float, text: str = "") -> Dot:
    return Dot(x, row.mean, _hover(row), spread_y=row.std, text=text)


def _hover(row: Row) -> str:
    where = f"labels {labels_text(row.labels)}, aligned {aligned_text(row.aligned)}"
    score = f"{score_text(row.mean, row.std)} ({row.n} seed{'' if row.n == 1 else 's'})"
    return f"{reference_name(row)}\n{score}\n{where}\n{bytes_text(row.bytes)} sent"


def _alt(rows: list[Row], metric: str, against: str) -> str:
    methods = list(dict.fromkeys(reference_name(row) for row in rows))
    return f"{metric} against {against} for {', '.join(methods)}. The tables hold the same numbers."
