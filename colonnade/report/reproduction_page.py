"""The HTML page of a paper's table: claimed and measured as tables, lines, heat maps, and maps of representations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from colonnade.report.maps import map_plots
from colonnade.report.page import Book, shell
from colonnade.report.palette import Plot, Style, layout, plain, rounded, styles
from colonnade.report.reproduction import (
    CLAIM_HEADS,
    NUMBER_HEADS,
    READ_CLAIMS,
    Result,
    about,
    claim_row,
    heading,
    number_row,
)

Line = Mapping[str, Any]


def page(result: Result, *, heat: Sequence[str] = (), mapped: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page as text.

    Args:
        result: of a recipe.
        heat: two axes, for a table that is best seen as a heat map.
        mapped: records that hold a map of the joint representation.
    """
    book = Book()
    parts = [f"<p>{escape(about(result)).replace('**', '')}</p>", _differences(result)]
    if result["claims"]:
        rows = [claim_row(claim) for claim in result["claims"]]
        table = _table("Claims", CLAIM_HEADS, rows, READ_CLAIMS)
        parts.append(f"<section><h2>Which claims hold</h2>{table}</section>")
    plots = _heat_maps(result, heat) if len(heat) == 2 else _lines(result)
    if plots:
        parts.append(f"<section><h2>Claimed and measured</h2>{book.grid(plots)}</section>")
    if maps := map_plots([dict(record) for record in mapped]):
        parts.append(f"<section><h2>Maps of the joint representation</h2>{book.grid(maps)}</section>")
    numbers = [number_row(line) for line in result["numbers"]]
    note = "Mean ± standard deviation over seeds. Click a heading to sort."
    parts.append(f"<section><h2>Numbers</h2>{_table('Numbers', NUMBER_HEADS, numbers, note)}</section>")
    return shell(heading(result), sentence(result), "\n".join(part for part in parts if part), book)


def sentence(result: Result) -> str:
    """How many of the claims hold."""
    found = [claim["holds"] for claim in result["claims"] if claim["holds"] != "not run"]
    if not found:
        return "No claim was tested."
    yes, no = found.count("yes"), found.count("no")
    return f"Of {len(found)} tests of claims, {yes} hold, {len(found) - yes - no} hold in part, {no} do not hold."


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


def _lines(result: Result) -> list[Plot]:
    """One plot for each data set: a line per method over the axis that has most values, the paper's dashed."""
    plots = []
    for name, lines in _scores(result).items():
        axes = {
            axis: list(dict.fromkeys(line["at"][axis] for line in lines if axis in line["at"])) for axis in _axes(lines)
        }
        if not axes:
            continue
        main = max(axes, key=lambda axis: len(axes[axis]))
        look = styles([_lane(line, main) for line in lines])
        traces = [
            trace
            for lane in dict.fromkeys(_lane(line, main) for line in lines)
            for trace in _traces(lane, [n for n in lines if _lane(n, main) == lane], main, axes[main], look[lane])
        ]
        alt = f"{name} over {main}: measured as solid lines with one standard deviation, the paper's numbers dashed."
        shown = layout(main, lines[0]["metric"], height=360 + 12 * max(0, len(look) - 4), xaxis={"type": "category"})
        plots.append(Plot(name, alt, traces, shown))
    return plots


def _axes(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(axis for line in lines for axis in line["at"]))


def _lane(line: Line, main: str) -> str:
    """A method with its values of the other axes."""
    return ", ".join([line["method"], *(f"{axis} {name}" for axis, name in line["at"].items() if axis != main)])


def _traces(lane: str, lines: Sequence[Line], main: str, names: Sequence[str], style: Style) -> list[dict[str, Any]]:
    """Measured, and claimed where the paper has numbers; what does not depend on the axis is level."""
    level = all(main not in line["at"] for line in lines)
    x = list(names) if level else [line["at"][main] for line in lines]
    same = [lines[0]] * len(x) if level else list(lines)
    line = {"color": style.colour, "width": 2, "dash": "solid"}
    bars = {"type": "data", "array": [rounded(n["std"]) or 0 for n in same], "thickness": 1.2, "width": 3}
    measured = {
        "type": "scatter", "mode": "lines+markers", "name": plain(lane), "x": x,
        "y": [rounded(n["mean"]) for n in same], "error_y": bars, "line": line,
        "marker": {"color": style.colour, "symbol": style.symbol, "size": 7},
    }  # fmt: skip
    claimed = [rounded(n["claimed"]) for n in same]
    if not any(value is not None for value in claimed):
        return [measured]
    dashed = {"color": style.colour, "width": 1.4, "dash": "dash"}
    paper = {
        "type": "scatter", "mode": "lines", "name": plain(f"{lane} (paper)"), "x": x, "y": claimed, "line": dashed,
        "showlegend": False,
    }  # fmt: skip
    return [measured, paper]


def _heat_maps(result: Result, heat: Sequence[str]) -> list[Plot]:
    """One heat map for each data set and each value of the other axes."""
    plots = []
    first, second = heat
    for name, lines in _scores(result).items():
        groups: dict[tuple[tuple[str, str], ...], list[Line]] = {}
        for line in lines:
            if first in line["at"] and second in line["at"]:
                groups.setdefault(tuple(p for p in line["at"].items() if p[0] not in heat), []).append(line)
        for rest, group in groups.items():
            title = ", ".join([name, *(f"{axis} {value}" for axis, value in rest)])
            x, y = (list(dict.fromkeys(line["at"][axis] for line in group)) for axis in (second, first))
            at = {(line["at"][first], line["at"][second]): rounded(line["mean"]) for line in group}
            z = [[at.get((row, column)) for column in x] for row in y]
            trace = {
                "type": "heatmap", "x": x, "y": y, "z": z, "colorscale": "Cividis", "texttemplate": "%{z:.3f}",
                "colorbar": {"thickness": 12, "outlinewidth": 0},
            }  # fmt: skip
            shown = layout(second, first, height=360, xaxis={"type": "category"}, yaxis={"type": "category"})
            plots.append(Plot(title, f"{title}: {group[0]['metric']} over {first} and {second}.", [trace], shown))
    return plots
