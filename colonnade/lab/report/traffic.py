"""Where the bytes went: for each method the shares by kind of message, by direction and by phase."""

from __future__ import annotations

import statistics
from html import escape
from typing import Any

from colonnade.lab.report.palette import COLOURS, short
from colonnade.lab.report.text import bytes_text

_PARTS = {"by_kind": "By kind of message", "by_direction": "By direction", "by_phase": "By phase"}
_DIRECTIONS = {"up": "up (to the active party)", "down": "down (from the active party)"}
_SMALLEST = 0.005  # of a method's bytes; smaller shares have no place in a legend

Shares = dict[str, dict[str, float]]  # name of the part, method, bytes


def traffic_bars(records: list[dict[str, Any]]) -> list[str]:
    """One figure per way to split the bytes that the records of one setting know; a single phase needs none."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: record["method"]):
        if record["traffic"]["bytes"]:
            by_method.setdefault(record["method"], []).append(record["traffic"])
    split = {part: shares(by_method, part) for part in _PARTS}
    if len(split["by_phase"]) == 1:
        del split["by_phase"]
    totals = {m: statistics.fmean(traffic["bytes"] for traffic in group) for m, group in by_method.items()}
    return [_figure(_PARTS[part], found, totals) for part, found in split.items() if found]


def shares(by_method: dict[str, list[dict[str, Any]]], part: str) -> Shares:
    """Mean bytes over the runs, by name within `part` and then by method; the largest names first."""
    names = {name for group in by_method.values() for traffic in group for name in traffic.get(part) or {}}
    found = {
        _DIRECTIONS.get(name, name) if part == "by_direction" else name: {
            method: statistics.fmean(_bytes(traffic, part, name) for traffic in group)
            for method, group in by_method.items()
        }
        for name in sorted(names)
    }
    return dict(sorted(found.items(), key=lambda item: -sum(item[1].values())))


def _bytes(traffic: dict[str, Any], part: str, name: str) -> float:
    entry = (traffic.get(part) or {}).get(name) or {}
    return float(entry.get("bytes", 0))


def _figure(title: str, found: Shares, totals: dict[str, float]) -> str:
    """A bar per method with the shares of its bytes; the total stands beside the name."""
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(found)}
    seen = [n for n, counts in found.items() if any(counts[m] > _SMALLEST * total for m, total in totals.items())]
    legend = "".join(
        f'<li><span class="swatch" style="background:{colours[name]}"></span>{escape(short(name))}</li>'
        for name in seen
    )
    bars = "".join(_bar(method, total, found, colours) for method, total in totals.items())
    return f'<figure><figcaption>{title}</figcaption><ul class="legend">{legend}</ul>{bars}</figure>'


def _bar(method: str, total: float, found: Shares, colours: dict[str, str]) -> str:
    parts = {name: counts[method] for name, counts in found.items() if counts[method]}
    words = ", ".join(f"{name} {bytes_text(count)}" for name, count in parts.items())
    pieces = "".join(
        f'<span style="width:{100 * count / total:.2f}%;background:{colours[name]}" '
        f'title="{escape(f"{name}: {bytes_text(count)} ({count / total:.1%})")}"></span>'
        for name, count in parts.items()
    )
    return (
        f'<div class="share"><b>{escape(short(method))}</b> <small>{bytes_text(total)}</small>'
        f'<div class="pieces" role="img" aria-label="{escape(f"{method}: {words}")}">{pieces}</div></div>'
    )
