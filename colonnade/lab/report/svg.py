"""Draw charts as SVG inside the page: they need no script, follow the page's colours, and keep the size of their text.

Places are percentages of the drawing, so that it takes the width there is. Lines lie in an inner drawing of 1000 x 1000
units that is stretched; their width is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from colonnade.lab.report.chart import Axis, Dot, Plot, Series
from colonnade.lab.report.palette import SYMBOLS, Style
from colonnade.lab.report.placing import placed

_CHARACTER = 7.0  # width of a letter at the size of the ticks, in pixels


def figure(plot: Plot) -> str:
    """A chart with its heading, its legend and its description in words."""
    caption = f"<figcaption>{escape(plot.title)}</figcaption>" if plot.title else ""
    left = round(12 + _CHARACTER * max((len(text) for _, text in plot.y.ticks), default=0))
    return (
        f"<figure>{caption}{_legend(plot)}"
        f'<div class="axis">{escape(plot.y.title)}</div>'
        f'<div class="chart" role="img" aria-label="{escape(plot.alt)}" style="padding-left:{left}px">'
        f'<svg width="100%" height="{plot.height}">{_grid(plot)}{_lines(plot)}{_dots(plot)}{_texts(plot)}</svg></div>'
        f'<div class="axis end">{escape(plot.x.title)}</div></figure>'
    )


def grid(plots: Iterable[Plot]) -> str:
    """Several charts, side by side where there is room."""
    return side_by_side(figure(plot) for plot in plots)


def side_by_side(figures: Iterable[str]) -> str:
    """Several figures, side by side where there is room."""
    return f'<div class="plots">{"".join(figures)}</div>'


def symbol(style: Style) -> str:
    """A marker for a legend or a table."""
    line = f'<line x1="-11" x2="11" stroke="{style.colour}" stroke-dasharray="{style.dash}"/>' if style.dash else ""
    return (
        f'<svg class="symbol" width="24" height="12" viewBox="-12 -6 24 12" aria-hidden="true">{line}'
        f'<path d="{SYMBOLS[style.symbol]}" fill="{style.colour}"/></svg>'
    )


def _legend(plot: Plot) -> str:
    """The names of the series; one alone needs none."""
    shown = [series for series in plot.series if series.in_legend and series.shown()]
    if len(shown) < 2:
        return ""
    items = "".join(f"<li>{_sample(series)}{escape(series.name)}</li>" for series in shown)
    return f'<ul class="legend">{items}</ul>'


def _sample(series: Series) -> str:
    """What a series looks like."""
    style = series.style
    line = f'<line x1="-11" x2="11" stroke="{style.colour}" stroke-dasharray="{style.dash}"/>' if series.line else ""
    mark = f'<path d="{SYMBOLS[style.symbol]}" fill="{style.colour}"/>' if series.marked else ""
    return f'<svg class="symbol" width="24" height="12" viewBox="-12 -6 24 12" aria-hidden="true">{line}{mark}</svg>'


def _grid(plot: Plot) -> str:
    """Lines and words at the ticks of both axes."""
    parts = []
    for value, text in plot.y.ticks:
        y = _down(plot.y, value)
        parts.append(f'<line class="grid" x2="100%" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="-8" y="{y}" dy=".35em" text-anchor="end">{escape(text)}</text>')
    for value, text in plot.x.ticks:
        x = _right(plot.x, value)
        parts.append(f'<line class="grid" y2="100%" x1="{x}" x2="{x}"/>')
        parts.append(f'<text class="tick" x="{x}" y="100%" dy="1.5em" text-anchor="middle">{escape(text)}</text>')
    return "".join(parts)


def _lines(plot: Plot) -> str:
    """Lines and bands, stretched to the size of the drawing."""
    parts = [_band(plot, series) for series in plot.series if series.band]
    parts += [_line(plot, series) for series in plot.series if series.line]
    inner = "".join(parts)
    return f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%">{inner}</svg>'


def _line(plot: Plot, series: Series) -> str:
    dots = series.shown()
    if len(dots) < 2:
        return ""
    points = " ".join(_unit(plot, dot.x, dot.y) for dot in dots)
    title = escape(series.name if series.marked or not dots[-1].hover else f"{series.name}: {dots[-1].hover}")
    return (
        f'<polyline points="{points}" stroke="{series.style.colour}" stroke-dasharray="{series.style.dash}">'
        f"<title>{title}</title></polyline>"
    )


def _band(plot: Plot, series: Series) -> str:
    dots = [dot for dot in series.shown() if dot.spread_y is not None]
    upper = [_unit(plot, dot.x, dot.y + (dot.spread_y or 0.0)) for dot in dots]
    lower = [_unit(plot, dot.x, dot.y - (dot.spread_y or 0.0)) for dot in reversed(dots)]
    return f'<polygon points="{" ".join(upper + lower)}" fill="{series.style.colour}"/>' if dots else ""


def _dots(plot: Plot) -> str:
    """Markers with their bars; a pointer that rests on one reads its numbers."""
    parts = []
    for series in plot.series:
        bars = "" if series.band else "".join(_bars(plot, dot) for dot in series.shown())
        marks = "".join(_mark(plot, dot, series.style) for dot in series.shown()) if series.marked else ""
        if bars or marks:
            parts.append(f'<g stroke="{series.style.colour}" fill="{series.style.colour}">{bars}{marks}</g>')
    return "".join(parts)


def _bars(plot: Plot, dot: Dot) -> str:
    x, y = _right(plot.x, dot.x), _down(plot.y, dot.y)
    parts = []
    if dot.spread_y:
        ends = [_down(plot.y, dot.y + sign * dot.spread_y) for sign in (-1, 1)]
        parts.append(f'<line class="spread" x1="{x}" x2="{x}" y1="{ends[0]}" y2="{ends[1]}"/>')
    if dot.spread_x:
        ends = [_right(plot.x, dot.x + sign * dot.spread_x) for sign in (-1, 1)]
        parts.append(f'<line class="spread" y1="{y}" y2="{y}" x1="{ends[0]}" x2="{ends[1]}"/>')
    return "".join(parts)


def _mark(plot: Plot, dot: Dot, style: Style) -> str:
    title = f"<title>{escape(dot.hover)}</title>" if dot.hover else ""
    x, y = _right(plot.x, dot.x), _down(plot.y, dot.y)
    return f'<svg class="mark-at" x="{x}" y="{y}"><path d="{SYMBOLS[style.symbol]}">{title}</path></svg>'


def _texts(plot: Plot) -> str:
    """Words beside dots, where they do not lie on one another."""
    return "".join(
        f'<svg class="mark-at" x="{_right(plot.x, dot.x)}" y="{_down(plot.y, dot.y)}">'
        f'<text class="label" x="{spot.dx}" y="{spot.dy}" text-anchor="{spot.anchor}">{escape(dot.text)}</text></svg>'
        for dot, spot in placed(plot)
    )


def _right(axis: Axis, value: float) -> str:
    return f"{100 * axis.at(value):.2f}%"


def _down(axis: Axis, value: float) -> str:
    return f"{100 - 100 * axis.at(value):.2f}%"


def _unit(plot: Plot, x: float, y: float) -> str:
    return f"{1000 * plot.x.at(x):.0f},{1000 - 1000 * plot.y.at(y):.0f}"
