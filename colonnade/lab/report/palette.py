"""Colours, marker shapes and dashes.

Ten colours of Petroff (2021, "Accessible color sequences for data visualization"), chosen to be told apart with common
forms of colour blindness too; shape and dash repeat the distinction without colour. References (the active party
alone, pooled columns) are grey, so that nobody takes them for a federated method.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#94a4a2", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
REFERENCE = "var(--soft)"  # grey of the page, in light and in dark
SYMBOLS = {
    "circle": "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0",
    "square": "M-4,-4h8v8h-8z",
    "diamond": "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "triangle": "M0,-5.5L5,4H-5z",
    "cross": "M-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "down": "M0,5.5L5,-4H-5z",
    "bar": "M-2,-5.5h4v11h-4z",
}
DASHES = ("", "7 4", "2 3", "9 3 2 3")
LONGEST_NAME = 32


@dataclass(frozen=True)
class Style:
    """How one method looks in every chart."""

    colour: str
    symbol: str
    dash: str  # as in stroke-dasharray


def styles(methods: Iterable[str], references: Iterable[str] = ()) -> dict[str, Style]:
    """One style per name, in the order of names; past the palette's end, colours return with another dash."""
    grey = sorted(set(references))
    names = sorted(set(methods) - set(grey))
    symbols = list(SYMBOLS)
    found = {
        name: Style(COLOURS[i % len(COLOURS)], symbols[i % len(symbols)], DASHES[i // len(COLOURS) % len(DASHES)])
        for i, name in enumerate(names)
    }
    dashed = DASHES[1:]
    return found | {
        name: Style(REFERENCE, symbols[i % len(symbols)], dashed[i % len(dashed)]) for i, name in enumerate(grey)
    }


def short(value: object) -> str:
    """Text from data for use in a chart: on one line, and not too long."""
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
