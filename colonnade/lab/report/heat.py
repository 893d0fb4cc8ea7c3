"""A table of numbers over two axes whose cells are coloured by their value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Line = Mapping[str, Any]
_STRONGEST = 60  # percent of the accent; words stay readable on it


def heat_maps(scores: Mapping[str, Sequence[Line]], first: str, second: str) -> list[str]:
    """One table for each data set and each value of the other axes."""
    found = []
    for name, lines in scores.items():
        groups: dict[tuple[tuple[str, str], ...], list[Line]] = {}
        for line in lines:
            if first in line["at"] and second in line["at"]:
                rest = tuple(pair for pair in line["at"].items() if pair[0] not in (first, second))
                groups.setdefault(rest, []).append(line)
        for rest, group in groups.items():
            title = ", ".join([name, *(f"{axis} {value}" for axis, value in rest)])
            found.append(_heat(title, group, first, second))
    return found


def _heat(title: str, lines: Sequence[Line], first: str, second: str) -> str:
    """Rows are the values of `first`, columns those of `second`."""
    rows, columns = (list(dict.fromkeys(line["at"][axis] for line in lines)) for axis in (first, second))
    at = {(line["at"][first], line["at"][second]): float(line["mean"]) for line in lines}
    low, high = min(at.values()), max(at.values())
    head = "".join(f'<th scope="col" class="number">{escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row)}</th>{"".join(_cell(at.get((row, c)), low, high) for c in columns)}</tr>'
        for row in rows
    )
    caption = f"{title}: {lines[0]['metric']}; rows {first}, columns {second}"
    return (
        f'<figure class="scroll"><table class="heat"><caption>{escape(caption)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></figure>"
    )


def _cell(value: float | None, low: float, high: float) -> str:
    if value is None:
        return "<td></td>"
    share = _STRONGEST * (value - low) / (high - low or 1.0)
    colour = f"color-mix(in srgb, var(--accent) {share:.0f}%, var(--paper))"
    return f'<td class="number" style="background:{colour}">{value:.3f}</td>'
