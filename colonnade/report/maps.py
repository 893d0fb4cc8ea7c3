"""The 2-D map of the joint representation of test rows, coloured by class or by target."""

from __future__ import annotations

from typing import Any

from colonnade.report.palette import COLOURS, SYMBOLS, Plot, layout, plain, rounded
from colonnade.report.records import seed_of

MOST_POINTS = 2000


def map_plots(records: list[dict[str, Any]]) -> list[Plot]:
    """One map per method of one setting: that of its first run which has one."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        if record.get("map") and record["map"]["points"]:
            found.setdefault(record["method"], record)
    return [_map(found[method]) for method in sorted(found)]


def _map(record: dict[str, Any]) -> Plot:
    points, labels = record["map"]["points"], record["map"]["labels"]
    step = -(-len(points) // MOST_POINTS)  # every step-th row, so that large test splits stay quick to draw
    shown = list(zip(points[::step], labels[::step], strict=True))
    traces = _continuous(shown) if record["task"] == "regression" else _by_class(shown)
    blank = {"showticklabels": False, "showgrid": False, "ticks": ""}
    square = blank | {"scaleanchor": "x", "constrain": "domain"}
    part = f"{len(shown):,} of {len(points):,} rows" if step > 1 else f"{len(points):,} rows"
    title = f"{record['method']} (seed {seed_of(record)}, {part})"
    alt = f"Map in two dimensions of the joint representation of test rows by {record['method']}, {_coloured(record)}."
    plot_layout = layout("", "", height=400, xaxis=blank, yaxis=square)
    return Plot(title, alt, traces, plot_layout | {"legend": plot_layout["legend"] | {"itemsizing": "constant"}})


def _coloured(record: dict[str, Any]) -> str:
    return "coloured by target" if record["task"] == "regression" else "coloured by class"


def _xy(points: list[list[float]]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [rounded(point[0], 4) for point in points],
        "y": [rounded(point[1], 4) for point in points],
    }


def _continuous(shown: list[tuple[list[float], Any]]) -> list[dict[str, Any]]:
    """One trace with a colour bar; Cividis reads the same to colour-blind readers."""
    values = [rounded(float(label)) if isinstance(label, int | float) else None for _, label in shown]
    bar = {"title": {"text": "target", "font": {"size": 13}}, "thickness": 12, "outlinewidth": 0}
    marker = {"color": values, "colorscale": "Cividis", "showscale": True, "colorbar": bar, "size": 5, "opacity": 0.85}
    hover = {"customdata": values, "hovertemplate": "target %{customdata}<extra></extra>"}
    return [_xy([point for point, _ in shown]) | {"marker": marker, "showlegend": False} | hover]


def _by_class(shown: list[tuple[list[float], Any]]) -> list[dict[str, Any]]:
    """One trace per class, told apart by colour and, past the palette's end, by shape."""
    classes: dict[str, list[list[float]]] = {}
    for point, label in shown:
        classes.setdefault(str(label), []).append(point)
    traces = []
    for i, name in enumerate(sorted(classes, key=_natural)):
        symbol = SYMBOLS[i // len(COLOURS) % len(SYMBOLS)]
        marker = {"color": COLOURS[i % len(COLOURS)], "symbol": symbol, "size": 5, "opacity": 0.8}
        trace = _xy(classes[name]) | {"name": plain(name), "marker": marker, "showlegend": True}
        traces.append(trace | {"hovertemplate": "%{fullData.name}<extra></extra>"})
    return traces


def _natural(name: str) -> tuple[int, float, str]:
    """Numbers by size, then names by alphabet."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
