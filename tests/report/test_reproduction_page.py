"""The page of a paper's table: tables, lines, heat maps; what comes from data stays text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from colonnade.report.reproduction_page import page, sentence

pytest.importorskip("plotly")


def line(method: str, mean: float, at: dict[str, str], claimed: float | None = None) -> dict[str, Any]:
    return {
        "data": "wine", "paper_data": "Wine", "method": method, "run": method.lower(), "ours": False, "at": at,
        "here": {}, "measure": "score", "metric": "accuracy", "claimed": claimed, "mean": mean, "std": 0.01, "n": 3,
        "of": 3, "values": [mean] * 3, "bytes": 10, "seconds": 1.0, "holds": "yes",
        **({"difference": mean - claimed} if claimed is not None else {}),
    }  # fmt: skip


def result(numbers: list[dict[str, Any]], claims: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    stamp = {"commit": "abc", "date": "d", "hardware": "h", "quick": False, "runs": 6, "core_seconds": 6}
    return {
        "paper": "002", "table": "fig-4", "title": "a <table>", "of": "Zhang et al. 2024", "protocol": "inductive",
        "differs": ["fewer <rows>"], "data": [{"name": "wine", "paper": "Wine", "same": True, "why": "", **stamp}],
        "skipped": [], "failed": [], "numbers": numbers, "claims": claims or [],
    }  # fmt: skip


def figures(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_lines_have_the_paper_beside_the_measurement():
    numbers = [line("A", 0.5, {"labels": "1"}, 0.4), line("A", 0.6, {"labels": "2"}, 0.5), line("B", 0.7, {})]
    text = page(result(numbers))
    (plot,) = figures(text)
    measured, paper, level = plot["data"]
    assert measured["y"] == [0.5, 0.6] and paper["y"] == [0.4, 0.5] and paper["line"]["dash"] == "dash"
    assert level["x"] == ["1", "2"] and level["y"] == [0.7, 0.7]  # B does not depend on the labels
    assert (
        "a &lt;table&gt;" in text and "fewer &lt;rows&gt;" in text and '<td data-value="0.5">0.500 ± 0.010</td>' in text
    )


def test_a_heat_map_for_two_axes():
    numbers = [
        line("A", 0.1 * i + 0.01 * j, {"x": str(i), "y": str(j), "labels": "9"}) for i in (1, 2) for j in (1, 2, 3)
    ]
    (plot,) = figures(page(result(numbers), heat=("x", "y")))
    (heat,) = plot["data"]
    assert heat["type"] == "heatmap" and heat["x"] == ["1", "2", "3"] and heat["y"] == ["1", "2"]
    assert heat["z"][1][2] == pytest.approx(0.23)


def test_the_sentence_counts_what_holds():
    claims = [{"holds": h} for h in ("yes", "no", "in 1 of 2", "yes", "not run")]
    assert sentence(result([], claims)) == "Of 4 tests of claims, 2 hold, 1 hold in part, 1 do not hold."
