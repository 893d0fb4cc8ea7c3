"""The HTML page of a paper's table: claimed and measured as tables, lines, heat maps, and maps of representations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from colonnade.lab.report.chart import Dot, Plot, Series, linear, named
from colonnade.lab.report.heat import heat_maps
from colonnade.lab.report.maps import maps
from colonnade.lab.report.page import shell
from colonnade.lab.report.palette import DASHES, Style, short, styles
from colonnade.lab.report.reproduction import (
    CLAIM_HEADS,
    NOT_TESTABLE,
    NUMBER_HEADS,
    READ_CLAIMS,
    Result,
    about,
    claim_row,
    heading,
    number_row,
)
from colonnade.lab.report.svg import figure, side_by_side
from colonnade.lab.report.text import score_text

Line = Mapping[str, Any]


def page(result: Result, *, heat: Sequence[str] = (), mapped: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page as text.

    Args:
        result: of a recipe.
        heat: two axes, for a table that is best seen as a heat map.
        mapped: records that hold a map of the joint representation.
    """
    parts = [f"<p>{escape(about(result)).replace('**', '')}</p>", _differences(result)]
    if result["claims"]:
        rows = [claim_row(claim) for claim in result["claims"]]
        table = _table("Claims", CLAIM_HEADS, rows, READ_CLAIMS.replace("*", ""))
        parts.append(f"<section><h2>Which claims hold</h2>{table}</section>")
    figures = heat_maps(_scores(result), *heat) if len(heat) == 2 else [figure(plot) for plot in line_plots(result)]
    if figures:
        parts.append(f"<section><h2>Claimed and measured</h2>{side_by_side(figures)}</section>")
    if found := maps([dict(record) for record in mapped]):
        parts.append(f"<section><h2>Maps of the joint representation</h2>{side_by_side(found)}</section>")
    numbers = [number_row(line) for line in result["numbers"]]
    note = "Mean ± standard deviation over seeds. Click a heading to sort."
    parts.append(f"<section><h2>Numbers</h2>{_table('Numbers', NUMBER_HEADS, numbers, note)}</section>")
    return shell(heading(result), sentence(result), "\n".join(part for part in parts if part))


def sentence(result: Result) -> str:
    """How many of the claims hold beyond chance, or why none is judged."""
    every = [claim["verdict"] for claim in result["claims"]]
    tested = [verdict for verdict in every if verdict != NOT_TESTABLE]
    if not every:
        return "There is no claim."
    if not tested:
        reasons = "; ".join(dict.fromkeys(claim["why"] for claim in result["claims"]))
        return f"No claim can be tested here: {reasons}. The page shows that it runs."
    found = "; ".join(f"{verdict}: {number}" for verdict, number in Counter(every).items() if verdict != "holds")
    return f"Of {len(every)} tests of claims, {every.count('holds')} hold beyond chance{'; ' if found else ''}{found}."


def _differences(result: Result) -> str:
    lines = [*result["differs"], *(f"{d['name']} for {d['paper']}: {d['why']}" for d in result["data"] if d["why"])]
    lines += [f"Left out: {s['name']}: {s['why']}" for s in result["skipped"]]
    lines += [f"Failed: {text}" for text in result["failed"]]
    if not lines:
        return ""
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<section><h2>What differs from the paper</h2><ul>{listed}</ul></section>"


def _table(name: str, heads: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    head = "".join(f'<th scope="col"><button type="button">{escape(h)}</button></th>' for h in heads)
    body = "".join(f"<tr>{''.join(_cell(cell.replace('`', '')) for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" aria-label="{escape(name)}" tabindex="0"><table class="sortable wraps">'
        f"<caption><span>{escape(note)}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    """A cell that sorts by the number it begins with, in the base unit, or by its text."""
    found = re.match(r"([+-]?[\d,]+(?:\.\d+)?)(?: (kB|MB|GB|min|h)\b)?", text)
    value = escape(text, quote=True)
    if found:
        value = repr(float(found[1].replace(",", "")) * _UNITS.get(found[2] or "", 1.0))
    return f'<td data-value="{value}">{escape(text)}</td>'


_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "min": 60.0, "h": 3600.0}


def _scores(result: Result) -> dict[str, list[Line]]:
    """The lines that have a number, by data set and measure."""
    found: dict[str, list[Line]] = {}
    for line in result["numbers"]:
        if line["mean"] is not None:
            name = line["data"] if line["measure"] == "score" else f"{line['data']}: {line['measure']}"
            found.setdefault(name, []).append(line)
    return found


def line_plots(result: Result) -> list[Plot]:
    """One plot for each data set: a line per method over the axis that has most values, the paper's dashed."""
    plots = []
    for name, lines in _scores(result).items():
        axes = {
            axis: list(dict.fromkeys(line["at"][axis] for line in lines if axis in line["at"])) for axis in _axes(lines)
        }
        if not axes:
            continue
        main = max(axes, key=lambda axis: len(axes[axis]))
        lanes = list(dict.fromkeys(_lane(line, main) for line in lines))
        look = styles(lanes)
        series = [
            one
            for lane in lanes
            for one in _series(lane, [n for n in lines if _lane(n, main) == lane], main, axes[main], look[lane])
        ]
        alt = f"{name} over {main}: measured as solid lines with one standard deviation, the paper's numbers dashed."
        x = named(main, [(float(place), value) for place, value in enumerate(axes[main])])
        dots = [dot for one in series for dot in one.shown()]
        y = linear(lines[0]["metric"], [dot.y + sign * (dot.spread_y or 0) for dot in dots for sign in (-1, 1)])
        plots.append(Plot(name, alt, x, y, tuple(series), height=300))
    return plots


def _axes(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(axis for line in lines for axis in line["at"]))


def _lane(line: Line, main: str) -> str:
    """A method with its values of the other axes."""
    return ", ".join([line["method"], *(f"{axis} {name}" for axis, name in line["at"].items() if axis != main)])


def _series(lane: str, lines: Sequence[Line], main: str, names: Sequence[str], style: Style) -> list[Series]:
    """Measured, and claimed where the paper has numbers; what does not depend on the axis is level."""
    level = all(main not in line["at"] for line in lines)
    x = list(map(float, range(len(names)))) if level else [float(names.index(line["at"][main])) for line in lines]
    same = [lines[0]] * len(x) if level else list(lines)
    measured = tuple(
        Dot(at, line["mean"], f"{lane}: {score_text(line['mean'], line['std'])}", spread_y=line["std"])
        for at, line in zip(x, same, strict=True)
    )
    claimed = tuple(
        Dot(at, line["claimed"], f"{lane} (paper): {score_text(line['claimed'])}")
        for at, line in zip(x, same, strict=True)
        if line["claimed"] is not None
    )
    found = [Series(short(lane), replace(style, dash=""), measured)]
    if claimed:
        paper = replace(style, dash=DASHES[1])
        found.append(Series(short(f"{lane} (paper)"), paper, claimed, marked=len(claimed) == 1, in_legend=False))
    return found
