"""A chart before it is drawn: dots in series, on two axes. `svg.py` draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from colonnade.lab.report.palette import Style
from colonnade.lab.report.text import bytes_text

Tick = tuple[float, str]


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`, with a tick at each of some values."""

    title: str
    low: float
    high: float
    ticks: tuple[Tick, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """Where `value` lies: 0 at the low end, 1 at the high end.

        >>> Axis("bytes", 10, 1000, (), log=True).at(100)
        0.5
        """
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Dot:
    """One value; `spread_x` and `spread_y` reach to each side of it."""

    x: float
    y: float
    hover: str = ""
    spread_x: float | None = None
    spread_y: float | None = None
    text: str = ""  # written beside the dot


@dataclass(frozen=True)
class Series:
    """Dots that belong together; dots that are not finite are left out."""

    name: str
    style: Style
    dots: tuple[Dot, ...]
    line: bool = True
    marked: bool = True
    band: bool = False  # the spread is a band along the line instead of a bar at each dot
    in_legend: bool = True

    def shown(self) -> list[Dot]:
        """The dots that can be drawn."""
        return [dot for dot in self.dots if math.isfinite(dot.x) and math.isfinite(dot.y)]


@dataclass(frozen=True)
class Plot:
    """A chart, with a heading and a description in words."""

    title: str
    alt: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    height: int = 280


def level(name: str, style: Style, value: float, x: Axis, *, hover: str = "", text: str = "") -> Series:
    """A horizontal line from end to end; `text` is written at one of them."""
    ends = (Dot(x.low, value, hover, text=text), Dot(x.high, value, hover, text=text))
    return Series(name, style, ends, marked=False)


def linear(title: str, values: Iterable[float], *, pad: float = 0.06, count: int = 5) -> Axis:
    """A linear axis with round ticks, around `values`."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = pad * (high - low) or abs(high) * 0.05 or 0.05
    return linear_between(title, low - room, high + room, count=count)


def linear_between(title: str, low: float, high: float, *, count: int = 5) -> Axis:
    """A linear axis with exactly these ends."""
    return Axis(title, low, high, tuple((tick, f"{tick:.10g}") for tick in round_ticks(low, high, count)))


def round_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers between two ends.

    >>> round_ticks(0.37, 0.86)
    [0.4, 0.5, 0.6, 0.7, 0.8]
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, math.floor(high / step + 1e-9) + 1)]


def named(title: str, places: Sequence[Tick], *, log: bool = False) -> Axis:
    """An axis with a tick at each named place, and some room at both ends."""
    spots = [spot for spot, _ in places]
    low, high = min(spots), max(spots)
    if log:
        room = (high / low) ** 0.06 if high > low else 2.0
        return Axis(title, low / room, high * room, tuple(places), log=True)
    room = 0.06 * (high - low) or 0.5
    return Axis(title, low - room, high + room, tuple(places))


def bytes_axis(title: str, low: float, high: float) -> Axis:
    """A logarithmic axis of bytes, with ticks between powers of ten where those are too few."""
    first, last = math.log10(low), math.log10(high)
    steps = (1, 2, 5) if last - first < 1.2 else (1, 3) if last - first < 2.5 else (1,)
    found = [step * 10.0**power for power in range(math.floor(first), math.ceil(last)) for step in steps]
    ticks = tuple((tick, bytes_text(tick, exact=False)) for tick in found if low <= tick <= high)
    return Axis(title, low, high, ticks, log=True)
