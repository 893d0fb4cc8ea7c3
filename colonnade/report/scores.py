"""Score against labels, against aligned rows, and against bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from colonnade.report.palette import Plot, Style, bytes_axis, layout, plain, rounded
from colonnade.report.summary import Row, higher_is_better, setting_order
from colonnade.report.text import aligned_text, bytes_text, labels_text, percent_text, score_text

_HOVER = "%{customdata}<extra>%{fullData.name}</extra>"


def score_panels(rows: list[Row], metric: str, look: dict[str, Style]) -> list[Plot]:
    """Lines over labels, one panel per aligned fraction; where labels do not vary, over aligned rows or by method."""
    labels, aligned = {row.labels for row in rows}, {row.aligned for row in rows}
    if len(labels) > 1:
        ordered = sorted(aligned, key=lambda value: setting_order((None, value)))
        return [_over_labels([row for row in rows if row.aligned == value], rows, metric, look) for value in ordered]
    if len(aligned) > 1:
        name = "rows aligned"
        plot_layout = {**_layout(rows, metric, name), "xaxis": _axis(sorted(aligned, key=_last), aligned_text, name)}
        lines = _lines(rows, lambda row: row.aligned, _places(sorted(aligned, key=_last)), look)
        return [
            Plot("Score against aligned rows", _alt(rows, metric, "the fraction of aligned rows"), lines, plot_layout)
        ]
    return [_dots(rows, metric, look)] if len(rows) > 1 else []


def _over_labels(here: list[Row], rows: list[Row], metric: str, look: dict[str, Style]) -> Plot:
    """One panel; all panels share the range of the score."""
    values = sorted({row.labels for row in rows}, key=lambda value: setting_order((value, None)))
    plot_layout = {**_layout(rows, metric, "labels"), "xaxis": _axis(values, labels_text, "labels")}
    aligned = here[0].aligned
    title = "Rows as given" if aligned is None else f"{percent_text(aligned)} of the rows aligned"
    lines = _lines(here, lambda row: row.labels, _places(values), look)
    return Plot(title, _alt(here, metric, f"the number of labels ({title})"), lines, plot_layout)


def _layout(rows: list[Row], metric: str, x_title: str) -> dict[str, Any]:
    """A layout whose score axis fits every row with its error bar."""
    low = [row.mean - (row.std or 0) for row in rows if math.isfinite(row.mean)]
    high = [row.mean + (row.std or 0) for row in rows if math.isfinite(row.mean)]
    axis: dict[str, Any] = {}
    if low:
        pad = 0.06 * (max(high) - min(low)) or 0.05
        axis = {"range": [min(low) - pad, max(high) + pad]}
    height = 340 + 10 * max(0, len({row.method for row in rows}) - 5)  # room for a longer legend
    return layout(x_title, score_title(metric), height=height, yaxis=axis)


def score_title(metric: str) -> str:
    """The name of a score axis; says so when lower is better."""
    return plain(metric) if higher_is_better(metric) else f"{plain(metric)} (lower is better)"


def _last(value: float | None) -> float:
    return math.inf if value is None else value


def _places(values: Sequence[float | None]) -> dict[float | None, float]:
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
    """Whether positive numbers spread so far (more than tenfold) that a logarithmic axis is due."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) > 10


def _axis(values: Sequence[float | None], text: Callable[[float | None], str], title: str) -> dict[str, Any]:
    """An x axis with a tick at each value that was run."""
    places = _places(values)
    spots = list(places.values())
    span = _span(spots)
    log = is_wide(spots)
    ends = [math.log10(spot) for spot in (min(spots), max(spots))] if log else [min(spots), max(spots)]
    return {
        "title": {"text": title},
        "type": "log" if log else "linear",
        "tickvals": spots,
        "ticktext": [text(value) for value in places],
        "range": [ends[0] - 0.06 * span, ends[1] + 0.06 * span],
        "automargin": True,
        "zeroline": False,
    }


def _span(spots: list[float]) -> float:
    """The width of the axis, in decades when it is logarithmic."""
    width = math.log10(max(spots) / min(spots)) if is_wide(spots) else max(spots) - min(spots)
    return width or 1.0


def _lines(
    rows: list[Row], x_of: Callable[[Row], float | None], places: dict[float | None, float], look: dict[str, Style]
) -> list[dict[str, Any]]:
    """One line with error bars per method, each nudged sideways so that the bars do not hide one another."""
    spots = list(places.values())
    span, log = _span(spots), is_wide(spots)
    methods = sorted({row.method for row in rows})
    traces = []
    for i, method in enumerate(methods):
        nudge = 0.008 * span * (i - (len(methods) - 1) / 2)
        mine = sorted((row for row in rows if row.method == method), key=lambda row: places[x_of(row)])
        x = [places[x_of(row)] * 10**nudge if log else places[x_of(row)] + nudge for row in mine]
        traces.append(_points(mine, look[method], x=[rounded(v, 6) for v in x], mode="lines+markers"))
    return traces


def _points(rows: list[Row], style: Style, **more: Any) -> dict[str, Any]:
    """The trace of one method: means with error bars."""
    return {
        "type": "scatter",
        "name": plain(rows[0].method),
        "y": [rounded(row.mean) for row in rows],
        "error_y": {"type": "data", "array": [rounded(row.std) or 0 for row in rows], "thickness": 1.2, "width": 3},
        "customdata": [_hover(row) for row in rows],
        "hovertemplate": _HOVER,
        "line": {"color": style.colour, "dash": style.dash, "width": 2},
        "marker": {"color": style.colour, "symbol": style.symbol, "size": 8},
    } | more


def _hover(row: Row) -> str:
    where = f"labels {labels_text(row.labels)}, aligned {aligned_text(row.aligned)}"
    return f"{score_text(row.mean, row.std)} (n = {row.n})<br>{where}<br>{bytes_text(row.bytes)} sent"


def _dots(rows: list[Row], metric: str, look: dict[str, Style]) -> Plot:
    """One setting only: a dot with its error bar per method, the best on top."""
    traces = []
    for place, row in enumerate(reversed(rows)):
        trace = _points([row], look[row.method], x=[rounded(row.mean)], mode="markers")
        traces.append(trace | {"y": [place], "error_x": trace["error_y"], "error_y": {"visible": False}})
    ticks = {"tickvals": list(range(len(rows))), "ticktext": [plain(row.method) for row in reversed(rows)]}
    plot_layout = layout(score_title(metric), "", height=120 + 34 * len(rows), yaxis=ticks, showlegend=False)
    return Plot("Score by method", _alt(rows, metric, "the method"), traces, plot_layout)


def score_by_bytes(rows: list[Row], metric: str, look: dict[str, Style]) -> Plot | None:
    """Score against bytes in one setting. A method that sends nothing is a horizontal line to be measured against."""
    sent = [row.bytes for row in rows if row.bytes]
    if len(rows) < 2 or not sent:
        return None
    ends = [min(sent) / 3, max(sent) * 3]
    traces = []
    for row in sorted(rows, key=lambda row: row.method):
        style = look[row.method]
        if row.bytes:
            traces.append(_points([row], style, x=[row.bytes], mode="markers"))
        else:
            line = {"name": f"{plain(row.method)} (0 B)", "customdata": [_hover(row)] * 2, "x": ends}
            level = {"y": [rounded(row.mean)] * 2, "mode": "lines", "error_y": {"visible": False}}
            dashed = {"line": {"color": style.colour, "dash": "dash", "width": 1.6}}
            traces.append(_points([row], style) | line | level | dashed)
    plot_layout = _layout(rows, metric, "bytes sent in all")
    plot_layout["xaxis"] |= bytes_axis(*ends)
    return Plot("", _alt(rows, metric, "the bytes sent"), traces, plot_layout)


def _alt(rows: list[Row], metric: str, against: str) -> str:
    methods = sorted({row.method for row in rows})
    return f"{metric} against {against} for {', '.join(methods)}. The summary table holds the same numbers."
