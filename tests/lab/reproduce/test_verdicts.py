"""Verdicts on claims of several comparisons, and what remains of them beside the other claims of a paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colonnade.lab.report.reproduction import claim_row, markdown
from colonnade.lab.reproduce import verdicts
from colonnade.lab.reproduce.again import NOT_KEPT, judged_again
from colonnade.lab.reproduce.evidence import EQUAL, VERDICTS, evidence
from colonnade.lab.reproduce.kept import RESULTS, judge_record, judged, read_kept, table_of
from colonnade.lab.reproduce.recipe import recipe
from colonnade.lab.reproduce.results_page import docs
from colonnade.lab.reproduce.verdicts import NEEDED, TOO_MANY, Pair, settled

ROOT = Path(__file__).parents[3]
SURE, LIKELY, AGAINST = [0.10, 0.101, 0.102], [0.01, 0.11, 0.21], [-0.10, -0.101, -0.102]
EQUALLY, OPEN = [0.001, -0.001, 0.0005], [-0.01, -0.11, 0.05]


def name_of(result: dict[str, Any]) -> str:
    return f"{result['paper']}-{result['table']}"


def claim(*apart: list[float], data: str = "wine", **more: Any) -> dict[str, Any]:
    pairs = [Pair(f"pair {i}", evidence(one), EQUAL).to_json() for i, one in enumerate(apart)]
    return {"says": "it", "check": "above", "data": data, "measure": "score", "pairs": pairs, **more}


def result(*claims: dict[str, Any], paper: str = "002", **data: Any) -> dict[str, Any]:
    entry = {"name": "wine", "same": True, "quick": False, "settings": {}, **data}
    return {"paper": paper, "table": "table-2", "data": [entry], "claims": list(claims), "numbers": []}


def verdict_of(*apart: list[float], **data: Any) -> tuple[str, str]:
    (found,) = settled([result(claim(*apart), **data)])
    return found["claims"][0]["verdict"], found["claims"][0]["why"]


@pytest.mark.parametrize(
    ("apart", "verdict"),
    [
        ([SURE], "holds"),
        ([SURE, SURE], "holds"),
        ([SURE, LIKELY], "direction only"),
        ([SURE, AGAINST], "refuted"),
        ([EQUALLY, EQUALLY], "no difference"),
        ([SURE, OPEN], "undecided"),
        ([[0.1], [0.2]], "not testable here"),
        ([SURE, [0.1]], "direction only"),
        ([], "not testable here"),
    ],
)
def test_a_claim_needs_all_of_its_comparisons(apart: list[list[float]], verdict: str):
    assert verdict_of(*apart)[0] == verdict


def test_one_refuted_comparison_of_many_is_corrected_for_their_number():
    """p = .04 is against the claim alone, and by luck among ten."""
    weak = [-0.025, -0.055, -0.04]
    assert 0.03 < (evidence(weak).p or 0) < 0.05
    assert verdict_of(weak)[0] == "refuted" and verdict_of(weak, *[LIKELY] * 9)[0] == "undecided"


def test_among_many_claims_of_a_paper_a_weak_one_is_taken_back():
    weak = [0.025, 0.055, 0.04]
    assert verdict_of(weak) == ("holds", "")
    many = settled([result(claim(weak), *[claim(LIKELY) for _ in range(9)])])[0]["claims"]
    assert (many[0]["verdict"], many[0]["why"]) == ("direction only", TOO_MANY)
    assert many[0]["q"] > 0.05 > many[0]["p"]
    assert claim_row({**many[0]})[2] == "direction only †"
    other = settled([result(claim(weak)), result(*[claim(LIKELY) for _ in range(9)], paper="003")])
    assert other[0]["claims"][0]["verdict"] == "holds"  # the claims of another paper do not count


@pytest.mark.parametrize(
    ("data", "why"), [({"quick": True}, "a quick run"), ({"settings": {"local.epochs": 2}}, "local.epochs=2")]
)
def test_too_little_to_judge_by(data: dict[str, Any], why: str):
    assert verdict_of(SURE, **data) == ("not testable here", why)
    assert verdict_of(SURE, settings={"epochs": 50}) == ("holds", "")


def test_without_statsmodels_the_reason_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verdicts, "find_spec", lambda name: None)
    assert verdict_of(SURE) == ("not testable here", NEEDED)


def test_judging_again_changes_nothing():
    """Judged from the recorded seeds, every recorded verdict is what stands there."""
    kept = read_kept(ROOT / RESULTS)
    assert judged(kept) == kept


def test_tables_are_those_of_the_record():
    kept = read_kept(ROOT / RESULTS)
    written = {name: (ROOT / RESULTS / f"{name}.md").read_text() for name in map(name_of, kept)}
    wrong = [name_of(one) for one in kept if written[name_of(one)] != table_of(one)]
    assert not wrong, "Make them anew: colonnade reproduce --write-docs"


def test_the_page_of_results_opens_with_what_holds_and_is_short():
    kept = read_kept(ROOT / RESULTS)
    every = [one["verdict"] for whole in kept for one in whole["claims"]]
    text = docs(kept)
    said = f"**{every.count('holds')} of {len(every)} tests of claims hold beyond chance**"
    assert text.splitlines()[2].startswith(said)
    assert len((ROOT / "docs/results.md").read_text().split()) < 2000
    assert all(f"(../results/reproduce/{name_of(one)}.md)" in text for one in kept)


def test_a_changed_value_changes_the_verdicts_of_the_record(tmp_path: Path):
    source = ROOT / RESULTS / "digits-order.json"
    copy = tmp_path / source.name
    changed = json.loads(source.read_text())
    before = [one["verdict"] for one in changed["claims"]]
    for line in changed["numbers"]:
        if line["method"] == "Local Training":
            line["values"] = [2.0 + value for value in line["values"]]
    copy.write_text(json.dumps(changed))
    assert judge_record(tmp_path) == [copy, copy.with_suffix(".md")] and judge_record(tmp_path) == []
    assert [one["verdict"] for one in json.loads(copy.read_text())["claims"]] != before


def test_what_was_recorded_without_its_ratios_cannot_be_tested():
    kept = json.loads((ROOT / RESULTS / "004-fig-6.json").read_text())
    reach = [one for one in kept["claims"] if one["check"] == "reach"]
    assert reach and {one["why"] for one in reach} == {NOT_KEPT}
    made = recipe("004-fig-6")
    for pair in reach[0]["pairs"]:
        pair["ratios"] = [40.0, 41.0, 42.0]
    again = next(one for one in judged_again(made, kept)["claims"] if one["check"] == "reach")
    assert [pair["verdict"] for pair in again["pairs"]] == ["holds"] * len(again["pairs"])
    assert again["pairs"][0]["difference"] == pytest.approx(41, abs=0.1)


def test_every_recorded_verdict_is_one_of_six_and_none_rests_on_one_seed():
    for kept in read_kept(ROOT / RESULTS):
        for one in kept["claims"]:
            assert one["verdict"] in VERDICTS, (name_of(kept), one["says"])
            assert one["verdict"] != "not testable here" or one["why"]
            few = [pair for pair in one["pairs"] if pair["n"] < 2 and one["measure"] != "epsilon"]
            assert not few or one["verdict"] not in ("holds", "refuted")
        assert "## Which claims hold" in markdown(kept) or not kept["claims"]
