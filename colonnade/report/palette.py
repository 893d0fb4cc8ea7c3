"""Colours, marker shapes and the plain parts of a plot.

Method colours are Okabe and Ito's, safe for colour-blind readers; shape and dash repeat the distinction without colour.
Stacked bars use Tol's light scheme, so that a kind of message is never mistaken for a method.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

from colonnade.report.text import bytes_text

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F")
BARS = ("#77AADD", "#EE8866", "#44BB99", "#EEDD88", "#FFAABB", "#99DDFF", "#BBCC33", "#AAAA00", "#BBBBBB")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down", "pentagon")
DASHES = ("solid", "dash", "dot", "dashdot")
LONGEST_NAME = 32


@dataclass(frozen=True)
class Style:
    """How one method looks in every plot."""

    colour: str
    symbol: str
    dash: str

    def faint(self, alpha: float = 0.15) -> str:
        """The colour as a transparent fill."""
        red, green, blue = (int(self.colour[i : i + 2], 16) for i in (1, 3, 5))
        return f"rgba({red},{green},{blue},{alpha})"


@dataclass(frozen=True)
class Plot:
    """A plot before it is drawn: plotly traces and layout, with a heading and a description in words."""

    title: str
    alt: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]


def styles(methods: list[str]) -> dict[str, Style]:
    """One style per method, by name order; past the palette's end, colours return with another dash."""
    names = sorted(set(methods))
    return {
        name: Style(COLOURS[i % len(COLOURS)], SYMBOLS[i % len(SYMBOLS)], DASHES[i // len(COLOURS) % len(DASHES)])
        for i, name in enumerate(names)
    }


def plain(value: object) -> str:
    """Text from data for use in a plot: short, and never read as plotly's markup."""
    text = " ".join(str(value).split())
    text = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return html.escape(text, quote=False)


def rounded(value: float | None, digits: int = 5) -> float | None:
    """`value` to a few significant digits, to keep the page small; None when it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def layout(x_title: str, y_title: str, *, height: int = 340, **more: Any) -> dict[str, Any]:
    """The layout that plots share; colours come from the page's theme. `more` updates the axes and the rest."""
    base: dict[str, Any] = {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "xaxis": {"title": {"text": x_title}, "automargin": True, "zeroline": False},
        "yaxis": {"title": {"text": y_title}, "automargin": True, "zeroline": False},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "tracegroupgap": 0},
        "hovermode": "closest",
        "uirevision": "keep",
    }
    for key, value in more.items():
        base[key] = base[key] | value if isinstance(value, dict) and key in base else value
    return base


def bytes_axis(low: float, high: float) -> dict[str, Any]:
    """A logarithmic x axis of bytes from `low` to `high`, with ticks between powers of ten where those are too few."""
    first, last = math.log10(low), math.log10(high)
    steps = (1, 2, 5) if last - first < 1.2 else (1, 3) if last - first < 2.5 else (1,)
    ticks = [step * 10**power for power in range(math.floor(first), math.ceil(last)) for step in steps]
    return {
        "type": "log",
        "range": [round(first, 4), round(last, 4)],
        "tickvals": ticks,
        "ticktext": [bytes_text(tick, exact=False) for tick in ticks],
    }
