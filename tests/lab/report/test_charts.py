"""Charts: where things lie, what words say, and that colours can be told apart."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from colonnade.lab.report.chart import (
    Axis,
    Dot,
    Plot,
    Series,
    bytes_axis,
    level,
    linear,
    linear_between,
    named,
    round_ticks,
)
from colonnade.lab.report.maps import maps
from colonnade.lab.report.palette import COLOURS, Style, styles
from colonnade.lab.report.placing import placed
from colonnade.lab.report.svg import figure, grid

from .conftest import make_record

LOOK = Style(COLOURS[0], "circle", "")


def plot(*series: Series, x: Axis | None = None, title: str = "") -> Plot:
    return Plot(title, "what is shown", x or linear_between("x", 0, 10), linear_between("y", 0, 1), series)


def test_a_dot_lies_where_its_numbers_say():
    """x 2.5 of 0 to 10 is a quarter, y 0.9 of 0 to 1 is a tenth from the top; 0.1 more is at the top."""
    text = figure(plot(Series("a", LOOK, (Dot(2.5, 0.9, "the numbers", spread_y=0.1),))))
    assert '<svg class="mark-at" x="25.00%" y="10.00%"><path' in text and "<title>the numbers</title>" in text
    assert 'x1="25.00%" x2="25.00%" y1="20.00%" y2="0.00%"' in text
    assert 'role="img" aria-label="what is shown"' in text


def test_bytes_lie_on_a_logarithmic_axis():
    axis = bytes_axis("bytes", 1e3, 1e7)
    assert axis.log and axis.at(1e5) == pytest.approx(0.5)
    assert [text for _, text in axis.ticks] == ["1 kB", "10 kB", "100 kB", "1 MB"]


@pytest.mark.parametrize(("low", "high"), [(0.4142, 0.8611), (0.9, 0.91), (3.0, 4117.0), (-0.2, 0.2)])
def test_ticks_are_few_and_round_and_inside(low, high):
    found = round_ticks(low, high)
    assert 3 <= len(found) <= 11 and low <= found[0] and found[-1] <= high
    steps = {f"{b - a:.6g}" for a, b in itertools.pairwise(found)}
    assert len(steps) == 1 and re.fullmatch(r"0?\.?0*[125]0*(e\+\d+)?", steps.pop())


def test_one_value_has_an_axis_too():
    assert linear("y", [0.5]).low < 0.5 < linear("y", [0.5]).high
    assert named("x", [(3.0, "3")]).at(3.0) == pytest.approx(0.5)
    assert "<svg" in figure(plot(Series("a", LOOK, (Dot(1, math.nan), Dot(2, 0.5)))))


def test_a_line_over_gaps_and_a_band():
    dots = (Dot(0, 0.5, spread_y=0.1), Dot(5, math.nan), Dot(10, 0.7, spread_y=0.2))
    text = figure(plot(Series("a", LOOK, dots, marked=False, band=True)))
    assert '<polyline points="0,500 1000,300"' in text
    assert '<polygon points="0,400 1000,100 1000,500 0,600"' in text


def test_words_never_lie_on_one_another():
    near = [Series(f"method {i}", LOOK, (Dot(5 + 0.1 * i, 0.5, text=f"method {i}"),), line=False) for i in range(8)]
    one = plot(*near, level("alone", LOOK, 0.5, linear_between("x", 0, 10), text="alone 0.500"))
    found = list(placed(one))
    assert 2 <= len(found) < 9  # the legend names the others
    assert len({(dot.text, spot) for dot, spot in found}) == len(found)
    far = [Series(str(i), LOOK, (Dot(3 * i, 0.5, text=str(i)),), line=False) for i in range(3)]
    assert len(list(placed(plot(*far)))) == 3


def test_a_legend_names_what_is_drawn_and_one_series_needs_none():
    one = Series("<b>", LOOK, (Dot(1, 0.5),))
    assert "legend" not in figure(plot(one))
    text = figure(plot(one, Series("empty", LOOK, (Dot(1, math.nan),)), Series("c", LOOK, (Dot(1, 0.2),))))
    assert text.count("<li>") == 2 and "&lt;b&gt;" in text and "empty" not in text


def test_several_charts_share_a_row():
    assert grid([plot(), plot()]).count("<figure>") == 2


def lab(colour: str) -> tuple[float, float, float]:
    """CIE L*a*b* of an sRGB colour."""
    rgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_ten_colours_can_be_told_apart():
    """A difference of 2.3 in CIE 1976 is just seen; here no two of ten are nearer than 14."""
    assert len(COLOURS) == len(set(COLOURS)) == 10
    assert min(math.dist(lab(a), lab(b)) for a, b in itertools.combinations(COLOURS, 2)) > 14


def test_references_are_grey_and_dashed_and_methods_differ():
    look = styles([f"m{i:02}" for i in range(14)] + ["alone", "pooled"], ["alone", "pooled"])
    assert len(set(look.values())) == 16
    assert look["alone"].colour == look["pooled"].colour not in COLOURS and look["alone"].dash != look["pooled"].dash


def test_a_map_of_ten_classes_has_ten_colours():
    (text,) = maps([make_record()])
    assert len(set(re.findall(r'stroke="(#\w+)"', text))) == 10
    assert text.count("h0") == 400 and "<title>digit 3</title>" in text


def test_a_map_is_as_high_as_its_points():
    """Twice as wide as high: 400 units wide, 200 high, and a margin of 10 on each side."""
    (text,) = maps([make_record() | {"map": {"points": [[0, 0], [8, 4]], "labels": ["a", "b"]}}])
    assert 'viewBox="-10 -10 420 220"' in text and "M0,200h0" in text and "M400,0h0" in text


def test_a_map_of_a_target_is_in_ranges():
    record = make_record() | {"task": "regression"}
    record["map"]["labels"] = [float(i) for i in range(400)]
    (text,) = maps([record])
    assert "0 to 66.5" in text and "332 to 399" in text and text.count("h0") == 400
