"""Where words stand beside the dots of a chart, so that none lies on another on the narrowest screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from colonnade.lab.report.chart import Dot, Plot, Series

NARROW = 290.0  # width of a chart on a telephone, in pixels
_LETTER, _LINE = 6.8, 15.0  # size of a letter


@dataclass(frozen=True)
class Spot:
    """Where a word stands, seen from its dot."""

    dx: float
    dy: float
    anchor: str


Box = tuple[float, float, float, float]  # left, top, right, bottom
_SPOTS = (Spot(0, -11, "middle"), Spot(0, 21, "middle"), Spot(10, 4, "start"), Spot(-10, 4, "end"))
_ON_LINE = {"end": (Spot(0, -6, "end"), Spot(0, 16, "end")), "start": (Spot(0, -6, "start"), Spot(0, 16, "start"))}


def placed(plot: Plot) -> Iterator[tuple[Dot, Spot]]:
    """Each word with the first spot that is free, words beside dots before those of lines; others are left out."""
    taken = [_around(plot, dot) for series in plot.series if series.marked for dot in series.shown()]
    for series in sorted(plot.series, key=lambda series: not series.marked):
        for choices in _choices(series):
            for dot, spot in choices:
                box = _box(plot, dot, spot)
                if _inside(plot, box) and not any(_meet(box, other) for other in taken):
                    taken.append(box)
                    yield dot, spot
                    break


def _choices(series: Series) -> Iterator[list[tuple[Dot, Spot]]]:
    """Where each word of a series may stand: around its dot, or above and below either end of a line."""
    worded = [dot for dot in series.shown() if dot.text]
    if series.marked:
        yield from ([(dot, spot) for spot in _SPOTS] for dot in worded)
    elif worded:
        ends = ((worded[-1], "end"), (worded[0], "start"))
        yield [(dot, spot) for dot, side in ends for spot in _ON_LINE[side]]


def _pixels(plot: Plot, dot: Dot) -> tuple[float, float]:
    return NARROW * plot.x.at(dot.x), plot.height * (1 - plot.y.at(dot.y))


def _around(plot: Plot, dot: Dot) -> Box:
    x, y = _pixels(plot, dot)
    return x - 5, y - 5, x + 5, y + 5


def _box(plot: Plot, dot: Dot, spot: Spot) -> Box:
    x, y = _pixels(plot, dot)
    width = _LETTER * len(dot.text)
    left = x + spot.dx - {"start": 0.0, "middle": width / 2, "end": width}[spot.anchor]
    return left, y + spot.dy - _LINE * 0.8, left + width, y + spot.dy + _LINE * 0.2


def _inside(plot: Plot, box: Box) -> bool:
    return box[0] >= -20 and box[2] <= NARROW + 20 and box[1] >= -8 and box[3] <= plot.height


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
