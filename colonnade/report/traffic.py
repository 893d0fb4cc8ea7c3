"""Where the bytes went: stacked bars by kind of message, by direction and by phase."""

from __future__ import annotations

import statistics
from typing import Any

from colonnade.report.palette import BARS, Plot, layout, plain
from colonnade.report.text import bytes_text

_PARTS = {"by_kind": "By kind of message", "by_direction": "By direction", "by_phase": "By phase"}
_DIRECTIONS = {"up": "up (to the active party)", "down": "down (from the active party)"}


def traffic_plots(records: list[dict[str, Any]]) -> list[Plot]:
    """One plot per way to split the bytes that the records of one setting know; a single phase needs none."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: record["method"], reverse=True):
        if record["traffic"]["bytes"]:
            by_method.setdefault(record["method"], []).append(record["traffic"])
    split = {part: shares(by_method, part) for part in _PARTS}
    if len(split["by_phase"]) == 1:
        del split["by_phase"]
    plots = [_bars(_PARTS[part], found, _totals(by_method)) for part, found in split.items()]
    return [plot for plot in plots if plot is not None]


def shares(by_method: dict[str, list[dict[str, Any]]], part: str) -> dict[str, dict[str, float]]:
    """Mean bytes over the runs, by name within `part` and then by method; the largest names first."""
    names = {name for group in by_method.values() for traffic in group for name in traffic.get(part) or {}}
    found = {
        name: {
            method: statistics.fmean(_bytes(traffic, part, name) for traffic in group)
            for method, group in by_method.items()
        }
        for name in sorted(names)
    }
    return dict(sorted(found.items(), key=lambda item: -sum(item[1].values())))


def _bytes(traffic: dict[str, Any], part: str, name: str) -> float:
    entry = (traffic.get(part) or {}).get(name) or {}
    return float(entry.get("bytes", 0))


def _totals(by_method: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    return {method: statistics.fmean(traffic["bytes"] for traffic in group) for method, group in by_method.items()}


def _bars(title: str, found: dict[str, dict[str, float]], totals: dict[str, float]) -> Plot | None:
    if not found:
        return None
    places = {method: place for place, method in enumerate(totals)}
    traces = []
    for i, (name, counts) in enumerate(found.items()):
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "showlegend": True,
                "name": plain(_DIRECTIONS.get(name, name) if title == "By direction" else name),
                "x": [round(counts[method]) for method in places],
                "y": list(places.values()),
                "customdata": [bytes_text(counts[method]) for method in places],
                "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
                "marker": {"color": BARS[i % len(BARS)]},
            }
        )
    texts = [f"{plain(method)}<br>{bytes_text(total)}" for method, total in totals.items()]
    height = 140 + 44 * len(places) + 12 * len(traces)
    ticks = {"tickvals": list(places.values()), "ticktext": texts}
    axis = {"tickformat": "~s", "ticksuffix": "B", "nticks": 6}
    plot_layout = layout("bytes", "", height=height, xaxis=axis, yaxis=ticks, barmode="stack", bargap=0.35)
    alt = f"Bytes {title.lower()} for {', '.join(reversed(totals))}, as stacked bars of {', '.join(found)}."
    return Plot(title, alt, traces, plot_layout | {"legend": plot_layout["legend"] | {"traceorder": "normal"}})
