"""Utility against leakage over protection strength (He et al. 2022, Fig. 4): the sections of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from typing import Any

from colonnade.lab.report.chart import Axis, Dot, Plot, Series, linear, linear_between
from colonnade.lab.report.leakage import Spot, by_threat, headlines, points, sentence, spots, unprotected
from colonnade.lab.report.palette import DASHES, REFERENCE, Style, short, styles
from colonnade.lab.report.privacy import plain_table
from colonnade.lab.report.scores import score_title
from colonnade.lab.report.svg import grid
from colonnade.lab.report.text import listed, score_text

HEADS = ("method", "protection", "main task", "attack", "baseline", "prior", "advantage")
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


def tradeoff_sections(records: list[dict[str, Any]], look: dict[str, Style]) -> list[str]:
    """The trade-off, for records of runs that were attacked."""
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
    y = linear(score_title(point.metric), _ends((s.mean("main"), s.std("main")) for s in mine), pad=0.15)
    x = linear(
        f"attack: {short(point.attack_metric)}",
        [s.mean("baseline") for s in mine] + _ends((s.mean("score"), s.std("score")) for s in mine),
        pad=0.15,
    )
    prior = sum(s.mean("prior") for s in mine) / len(mine)
    width = x.high - x.low
    if near := x.low - width < prior < x.high + width:
        x = linear_between(x.title, min(x.low, prior - 0.02 * width), max(x.high, prior + 0.02 * width))
    if not near:
        x = replace(x, title=f"{x.title} (prior {prior:.3f}, outside)")
    series = [_level(f"prior {prior:.3f}", Style(REFERENCE, "bar", DASHES[2]), prior, y)] if near else []
    for method in methods:
        own = [s for s in mine if s.method == method]
        series += _curves(own, look[method])
        level = sum(s.mean("baseline") for s in own) / len(own)
        style = Style(look[method].colour, "bar", DASHES[1])
        series.append(_level(f"{short(method)} without the run", style, level, y))
    alt = (
        f"{point.metric} against attack score for {', '.join(methods)}, {_title(threat)}. The table holds the numbers."
    )
    return Plot(_title(threat), alt, x, y, tuple(series), height=380)


def _ends(values: Iterable[tuple[float, float | None]]) -> list[float]:
    """Both ends of the bars."""
    return [end for value, error in values for end in (value - (error or 0), value + (error or 0))]


def family(protection: str) -> tuple[str, str]:
    """A protection without its strengths, which one line goes through, and the strengths, which label its points.

    >>> family("iso:target:0.1+iso:average:0.1@aggregate"), family("gaussian:representation:1:1e+2")
    (('iso:target+iso:average@aggregate', '0.1'), ('gaussian:representation', '1:1e+2'))
    """
    strength = r":([\d.]+(?:e[+-]?\d+)?)(?=[:+@]|$)"
    parts = re.split(r"\+(?!\d)", protection)
    numbers = dict.fromkeys(":".join(re.findall(strength, part)) for part in parts)
    return re.sub(strength, "", protection), ", ".join(numbers)


def _curves(mine: list[Spot], style: Style) -> list[Series]:
    """One line for each family of protections of a method, from no protection on."""
    start = [spot for spot in mine if not spot.protection]
    families: dict[str, list[Spot]] = {}
    for spot in mine:
        if spot.protection:
            families.setdefault(family(spot.protection)[0], []).append(spot)
    lines = {f"{mine[0].method}, {name}": start + line for name, line in families.items()} or {mine[0].method: start}
    return [
        Series(short(name), replace(style, dash=DASHES[number % len(DASHES)]), tuple(_dot(s) for s in line))
        for number, (name, line) in enumerate(lines.items())
    ]


def _dot(spot: Spot) -> Dot:
    """A strength; the words beside it say which."""
    text = short(family(spot.protection)[1] or "none")
    x, y = spot.mean("score"), spot.mean("main")
    return Dot(x, y, _hover(spot), spread_x=spot.std("score"), spread_y=spot.std("main"), text=text)


def _hover(spot: Spot) -> str:
    main, attack = (score_text(spot.mean(name), spot.std(name)) for name in ("main", "score"))
    return f"{short(spot.protection or 'none')}\nmain {main}\nattack {attack}\nn = {len(spot.points)}"


def _level(name: str, style: Style, value: float, y: Axis) -> Series:
    """A vertical line."""
    return Series(name, style, (Dot(value, y.low, name), Dot(value, y.high, name)), marked=False)
