"""The page of a paper's table: tables, lines, heat maps; what comes from data stays text."""

from __future__ import annotations

import re
from typing import Any

from colonnade.lab.report.reproduction_page import line_plots, page, sentence


def line(method: str, mean: float, at: dict[str, str], claimed: float | None = None) -> dict[str, Any]:
    return {
        "data": "wine", "paper_data": "Wine", "method": method, "run": method.lower(), "ours": False, "at": at,
        "here": {}, "measure": "score", "metric": "accuracy", "claimed": claimed, "mean": mean, "std": 0.01, "n": 3,
        "of": 3, "values": [mean] * 3, "bytes": 10, "seconds": 1.0, "verdict": "holds", "why": "",
        **({"difference": mean - claimed} if claimed is not None else {}),
    }  # fmt: skip


def result(numbers: list[dict[str, Any]], claims: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    stamp = {"commit": "abc", "date": "d", "hardware": "h", "quick": False, "runs": 6, "core_seconds": 6}
    return {
        "paper": "002", "table": "fig-4", "title": "a <table>", "of": "Zhang et al. 2024", "protocol": "inductive",
        "differs": ["fewer <rows>"], "data": [{"name": "wine", "paper": "Wine", "same": True, "why": "", **stamp}],
        "skipped": [], "failed": [], "numbers": numbers, "claims": claims or [],
    }  # fmt: skip


def test_lines_have_the_paper_beside_the_measurement():
    numbers = [line("A", 0.5, {"labels": "1"}, 0.4), line("A", 0.6, {"labels": "2"}, 0.5), line("B", 0.7, {})]
    text = page(result(numbers))
    (plot,) = line_plots(result(numbers))
    measured, paper, level = plot.series
    assert [dot.y for dot in measured.dots] == [0.5, 0.6] and [dot.y for dot in paper.dots] == [0.4, 0.5]
    assert paper.style.dash and not measured.style.dash and [text for _, text in plot.x.ticks] == ["1", "2"]
    assert [(dot.x, dot.y) for dot in level.dots] == [(0, 0.7), (1, 0.7)]  # B does not depend on the labels
    assert (
        "a &lt;table&gt;" in text and "fewer &lt;rows&gt;" in text and '<td data-value="0.5">0.500 ± 0.010</td>' in text
    )


def test_a_heat_map_for_two_axes():
    numbers = [
        line("A", 0.1 * i + 0.01 * j, {"x": str(i), "y": str(j), "labels": "9"}) for i in (1, 2) for j in (1, 2, 3)
    ]
    text = page(result(numbers), heat=("x", "y"))
    table = text[text.index('class="heat"') :]
    assert re.findall(r'<th scope="col" class="number">(.)</th>', table) == ["1", "2", "3"]
    cells = re.findall(r"var\(--accent\) (\d+)%[^>]*>([\d.]+)<", table)
    assert [value for _, value in cells] == ["0.110", "0.120", "0.130", "0.210", "0.220", "0.230"]
    assert cells[0][0] == "0" and int(cells[-1][0]) == max(int(share) for share, _ in cells)


def test_the_sentence_counts_what_holds():
    claims = [{"verdict": v, "why": ""} for v in ("holds", "refuted", "holds", "undecided", "not testable here")]
    said = "Of 5 tests of claims, 2 hold beyond chance; refuted: 1; undecided: 1; not testable here: 1."
    assert sentence(result([], claims)) == said


def test_a_page_without_verdicts_says_why():
    claims = [{"verdict": "not testable here", "why": why} for why in ("one seed", "one seed", "a quick run")]
    assert sentence(result([], claims)).startswith("No claim can be tested here: one seed; a quick run.")
