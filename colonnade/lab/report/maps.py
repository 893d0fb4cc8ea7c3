"""The 2-D map of the joint representation of test rows, coloured by class or by target."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from colonnade.lab.report.palette import COLOURS, SYMBOLS, short
from colonnade.lab.report.records import seed_of

MOST_POINTS = 2000
_STEPS = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")  # Cividis
_SIDE = 400  # width of the drawing, in units
_TALLEST = 1.25  # of its width

Row = tuple[list[float], Any]  # a place and its label


def maps(records: list[dict[str, Any]]) -> list[str]:
    """One map per method of one setting: that of its first run which has one."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        if record.get("map") and record["map"]["points"]:
            found.setdefault(record["method"], record)
    return [_map(found[method]) for method in sorted(found)]


def _map(record: dict[str, Any]) -> str:
    points, labels = record["map"]["points"], record["map"]["labels"]
    step = -(-len(points) // MOST_POINTS)  # every step-th row, so that large test splits stay quick to draw
    shown = list(zip(points[::step], labels[::step], strict=True))
    by_target = record["task"] == "regression"
    groups = _ranges(shown) if by_target else _classes(shown)
    colours = _STEPS if by_target else COLOURS
    part = f"{len(shown):,} of {len(points):,} rows" if step > 1 else f"{len(points):,} rows"
    alt = f"Map in two dimensions of the joint representation of test rows by {record['method']}, coloured by "
    alt += "target." if by_target else "class."
    drawn = "".join(_group(name, group, i, colours, _scale(points)) for i, (name, group) in enumerate(groups.items()))
    legend = "".join(_entry(name, i, colours) for i, name in enumerate(groups))
    height = _height(points) + 20
    title = f"{record['method']} (seed {seed_of(record)}, {part})"
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><ul class="legend">{legend}</ul>'
        f'<svg class="map" role="img" aria-label="{escape(alt)}" viewBox="-10 -10 {_SIDE + 20} {height:.0f}">{drawn}'
        f"</svg></figure>"
    )


def _entry(name: str, place: int, colours: tuple[str, ...]) -> str:
    drawn = f'<path d="{_symbol(place, colours)}" fill="{colours[place % len(colours)]}"/>'
    return (
        f'<li><svg class="symbol" width="12" height="12" viewBox="-6 -6 12 12">{drawn}</svg>{escape(short(name))}</li>'
    )


def _symbol(place: int, colours: tuple[str, ...]) -> str:
    """Past the palette's end, another shape."""
    return list(SYMBOLS.values())[place // len(colours) % len(SYMBOLS)]


def _scale(points: list[list[float]]) -> tuple[float, float, float]:
    """Left and top ends, and units per step, so that the map fits into the width."""
    x, y = zip(*points, strict=True)
    span = max(max(x) - min(x), (max(y) - min(y)) / _TALLEST) or 1.0
    return min(x), max(y), _SIDE / span


def _height(points: list[list[float]]) -> float:
    """How high the map is, in units."""
    _, top, unit = _scale(points)
    return unit * (top - min(y for _, y in points))


def _group(
    name: str, points: list[list[float]], place: int, colours: tuple[str, ...], scale: tuple[float, float, float]
) -> str:
    """The rows of one class: short strokes of a path, which are the smallest way to write them."""
    left, top, unit = scale
    at = [(unit * (x - left), unit * (top - y)) for x, y in points]
    title = f"<title>{escape(short(name))}</title>"
    colour = colours[place % len(colours)]
    if place < len(colours):
        dots = "".join(f"M{x:.0f},{y:.0f}h0" for x, y in at)
        return f'<path class="dots" d="{dots}" stroke="{colour}">{title}</path>'
    shape = _symbol(place, colours)
    marks = "".join(f'<path transform="translate({x:.0f},{y:.0f})" d="{shape}"/>' for x, y in at)
    return f'<g fill="{colour}">{title}{marks}</g>'


def _classes(shown: list[Row]) -> dict[str, list[list[float]]]:
    """The rows of each class."""
    found: dict[str, list[list[float]]] = {}
    for point, label in shown:
        found.setdefault(str(label), []).append(point)
    return {name: found[name] for name in sorted(found, key=_natural)}


def _ranges(shown: list[Row]) -> dict[str, list[list[float]]]:
    """The rows by their target, in ranges of equal width; Cividis reads the same to colour-blind readers."""
    rows = [(p, float(v)) for p, v in shown if isinstance(v, int | float) and math.isfinite(v)]
    if not rows:
        return {}
    low, high = min(value for _, value in rows), max(value for _, value in rows)
    width = (high - low) / len(_STEPS) or 1.0
    found: dict[str, list[list[float]]] = {
        f"{low + i * width:.3g} to {low + (i + 1) * width:.3g}": [] for i in range(len(_STEPS))
    }
    groups = list(found.values())
    for point, value in rows:
        groups[min(int((value - low) / width), len(groups) - 1)].append(point)
    return found


def _natural(name: str) -> tuple[int, float, str]:
    """Numbers by size, then names by alphabet."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
