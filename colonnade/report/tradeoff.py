"""Utility against leakage over protection strength (He et al. 2022, Fig. 4): the sections of the page."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from html import escape
from typing import Any

from colonnade.report.leakage import Spot, by_threat, headlines, points, sentence, spots, unprotected
from colonnade.report.palette import DASHES, Plot, Style, layout, plain, rounded, styles
from colonnade.report.privacy import plain_table
from colonnade.report.scores import score_title
from colonnade.report.text import listed, score_text

HEADS = ("method", "protection", "main task", "attack", "baseline", "prior", "advantage")
_GREY = "#7F7F7F"
_NOTE = (
    "Up is better for the parties, right is better for the adversary. Points are means over seeds, bars one standard "
    "deviation; a line goes from no protection through the strengths that label its points. Dashed: the same adversary "
    "without the run. Dotted: a guess that looks at no row."
)
_SHOWN = (
    "A change that a protection makes is named when it is beyond chance over the seeds (Student's t at 95 %), a leak "
    "from two standard errors on (* in the table). What is not shown may still be there: an attack that fails is no "
    "proof."
)


def tradeoff_title(records: list[dict[str, Any]]) -> str:
    """The heading of the page of a trade-off; empty for other records."""
    methods = dict.fromkeys(point.method for point in points(records))
    return f"{records[0]['data']}: what protections of {listed(list(methods))} stop and cost" if methods else ""


def tradeoff_sections(
    records: list[dict[str, Any]], look: dict[str, Style], grid: Callable[[list[Plot]], str]
) -> list[str]:
    """The trade-off, for records of runs that were attacked; `grid` places the plots."""
    every = spots(points(records))
    if not every:
        return []
    gist = "".join(f"<p>{escape(text)}</p>" for text in headlines(every))
    plots = grid(tradeoff_plots(every, look))
    return [
        f'<section><h2>Who could learn what</h2>{gist}<p class="note">{escape(_SHOWN)}</p></section>',
        f'<section><h2>Utility against leakage</h2><p class="note">{_NOTE}</p>{plots}</section>',
        f"<section><h2>Attacks</h2>{''.join(_threat(*item) for item in by_threat(every).items())}</section>",
    ]


def figures(spot: Spot) -> tuple[str, ...]:
    """One row of the table, on the page and in the terminal."""
    both = [score_text(spot.mean(name), spot.std(name)) for name in ("main", "score")]
    rest = [f"{spot.mean(name):.3f}" for name in ("baseline", "prior")]
    advantage = f"{spot.gain.mean:+.3f} ± {spot.gain.error:.3f}{' *' if spot.leaks else ''}"
    return (spot.method, spot.protection or "none", *both, *rest, advantage)


def _threat(threat: tuple[str, str, str], mine: list[Spot]) -> str:
    """The numbers of one attack, and what they mean."""
    point = mine[0].points[0]
    caption = (
        f"Main task: {point.metric}; attack: {point.attack_metric}; means over {_seeds(mine)} ± standard deviation. "
        f"Advantage: attack over the better of baseline and prior ± standard error."
    )
    items = "".join(
        f"<li><b>{escape(spot.method)}</b>: {escape(sentence(spot, unprotected(mine, spot)))}</li>" for spot in mine
    )
    return (
        f"<h3>{escape(_title(threat))}</h3>{plain_table(caption, HEADS, map(figures, mine), words=2)}"
        f"<details><summary>In words</summary><ul>{items}</ul></details>"
    )


def _seeds(mine: list[Spot]) -> str:
    counts = sorted({len(spot.points) for spot in mine})
    return f"{' to '.join(map(str, counts))} seed{'s' if counts != [1] else ''}"


def _title(threat: tuple[str, str, str]) -> str:
    attack, adversary, target = threat
    return f"{attack} by {adversary}: {target}"


def tradeoff_plots(every: list[Spot], look: dict[str, Style]) -> list[Plot]:
    """One plot for each attack, adversary and target."""
    look = styles([spot.method for spot in every]) | look
    return [_plot(threat, mine, look) for threat, mine in by_threat(every).items()]


def _plot(threat: tuple[str, str, str], mine: list[Spot], look: dict[str, Style]) -> Plot:
    point = mine[0].points[0]
    methods = list(dict.fromkeys(spot.method for spot in mine))
    ends = _range([(s.mean("main"), s.std("main")) for s in mine])
    left, right = _range([(s.mean(n), s.std(n) if n == "score" else None) for s in mine for n in ("score", "baseline")])
    prior = sum(s.mean("prior") for s in mine) / len(mine)
    if near := left - (right - left) < prior < right + (right - left):
        left, right = min(left, prior - 0.02 * (right - left)), max(right, prior + 0.02 * (right - left))
    traces = [_level(f"prior {prior:.3f}{'' if near else ' (outside)'}", prior, ends, _GREY, "dot")]
    for method in methods:
        own = [s for s in mine if s.method == method]
        traces += _curves(own, look[method], (left + right) / 2)
        level = sum(s.mean("baseline") for s in own) / len(own)
        traces.append(_level(f"{plain(method)} without the run", level, ends, look[method].colour, "dash"))
    axes = {"xaxis": {"range": [left, right]}, "yaxis": {"range": ends}}
    plot_layout = layout(f"attack: {plain(point.attack_metric)}", score_title(point.metric), height=440, **axes)
    alt = (
        f"{point.metric} against attack score for {', '.join(methods)}, {_title(threat)}. The table holds the numbers."
    )
    return Plot(_title(threat), alt, traces, plot_layout)


def _range(values: list[tuple[float, float | None]]) -> list[float]:
    """From the least to the greatest with their bars, and some room for labels."""
    low, high = min(v - (e or 0) for v, e in values), max(v + (e or 0) for v, e in values)
    pad = 0.15 * (high - low) or 0.01
    return [low - pad, high + pad]


def family(protection: str) -> tuple[str, str]:
    """A protection without its strengths, which one line goes through, and the strengths, which label its points.

    >>> family("iso:target:0.1+iso:average:0.1@aggregate"), family("gaussian:representation:1:1e+2")
    (('iso:target+iso:average@aggregate', '0.1'), ('gaussian:representation', '1:1e+2'))
    """
    strength = r":([\d.]+(?:e[+-]?\d+)?)(?=[:+@]|$)"
    parts = re.split(r"\+(?!\d)", protection)
    numbers = dict.fromkeys(":".join(re.findall(strength, part)) for part in parts)
    return re.sub(strength, "", protection), ", ".join(numbers)


def _curves(mine: list[Spot], style: Style, middle: float) -> list[dict[str, Any]]:
    """One line for each family of protections of a method, from no protection on."""
    start = [spot for spot in mine if not spot.protection]
    families: dict[str, list[Spot]] = {}
    for spot in mine:
        if spot.protection:
            families.setdefault(family(spot.protection)[0], []).append(spot)
    lines = {f"{mine[0].method}, {name}": start + line for name, line in families.items()} or {mine[0].method: start}
    return [_curve(name, line, style, number, middle) for number, (name, line) in enumerate(lines.items())]


def _curve(name: str, line: list[Spot], style: Style, number: int, middle: float) -> dict[str, Any]:
    """A line through strengths; labels lie on the side of the middle."""
    bar = {"type": "data", "thickness": 1, "width": 2, "color": style.faint(0.45)}
    bars = {
        f"error_{axis}": bar | {"array": [rounded(s.std(key)) or 0 for s in line]}
        for axis, key in (("x", "score"), ("y", "main"))
    }
    return {
        "type": "scatter",
        "mode": "lines+markers+text",
        "name": plain(name),
        "showlegend": True,
        "x": [rounded(s.mean("score")) for s in line],
        "y": [rounded(s.mean("main")) for s in line],
        "text": [plain(family(s.protection)[1] or "none") for s in line],
        "textposition": [
            f"{('top', 'bottom')[i % 2]} {'left' if s.mean('score') > middle else 'right'}" for i, s in enumerate(line)
        ],
        "textfont": {"size": 11, "color": style.colour},
        "customdata": [_hover(s) for s in line],
        "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        "line": {"color": style.colour, "dash": DASHES[number % len(DASHES)], "width": 1.6},
        "marker": {"color": style.colour, "symbol": style.symbol, "size": 8},
    } | bars


def _hover(spot: Spot) -> str:
    main, attack = (score_text(spot.mean(name), spot.std(name)) for name in ("main", "score"))
    return f"{plain(spot.protection or 'none')}<br>main {main}<br>attack {attack}<br>n = {len(spot.points)}"


def _level(name: str, level: float, ends: list[float], colour: str, dash: str) -> dict[str, Any]:
    """A vertical line."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [rounded(level)] * 2 if math.isfinite(level) else [None] * 2,
        "y": [rounded(end) for end in ends],
        "line": {"color": colour, "dash": dash, "width": 1.4},
        "hovertemplate": f"{name}<extra></extra>",
    }
