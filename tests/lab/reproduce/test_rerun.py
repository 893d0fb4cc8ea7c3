"""`reproduce --check`: a random tenth of the record, run again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from colonnade.cli import main, reproduce_check
from colonnade.lab.reproduce.recipe import parse
from colonnade.lab.reproduce.reproduce import Asked, jobs_of, run_jobs
from colonnade.lab.reproduce.rerun import check_again, other_versions, recorded_cells, report
from colonnade.lab.run.files import write_json
from tests.lab.reproduce.small_recipe import content

MADE = parse(content(), "small")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A recorded table of 16 cells, with a setting that was asked for."""
    asked = Asked(tmp_path_factory.mktemp("out"), commit="abc", settings={"width": 3})
    ((_, found, _),) = run_jobs(jobs_of([MADE], asked), asked, lambda outcome: None)
    return found


def again(result: dict[str, Any], draw: int = 0) -> Any:
    return check_again(MADE, result, jobs=1, done=lambda outcome: None, draw=random.Random(draw))


def test_a_tenth_is_run_again_as_it_was_asked_for(result: dict[str, Any]):
    assert len(recorded_cells(MADE, result)) == 16
    checked = again(result)
    assert len(checked) == 2 and all("score" in one.recorded and not one.differences for one in checked)
    assert {one.what for one in again(result, 1)} != {one.what for one in checked}
    assert report(checked, ["x"]) == "2 of 2 cells run again give what is recorded, to 1e-06."


def test_every_difference_is_named(result: dict[str, Any]):
    wrong = {**result, "numbers": [{**n, "values": [v + 2e-6 for v in n["values"]]} for n in result["numbers"]]}
    lines = [line for one in again(wrong) for line in one.differences]
    assert len(lines) >= 2 and all(" on wine, labels " in line and ", recorded " in line for line in lines)
    others = other_versions(result, {"torch": "0.0", "hardware": result["data"][0]["hardware"]})
    assert [note.split(" with ")[1].split()[0] for note in others] == ["torch"]
    assert "Note: wine: recorded with torch" in report(again(wrong), others)


def test_the_command_ends_with_an_error_where_the_record_differs(
    result: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce_check, "recipe", lambda name: MADE)
    path = tmp_path / "results/reproduce/002-table-2.json"

    def check(*more: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main(["reproduce", "002", "--table", "2", "--check", "--jobs", "1", *more])
        out, err = capsys.readouterr()
        return int(end.value.code or 0), " ".join((out + err).split())

    assert check()[0] == 2 and "has no record in results/reproduce" in check()[1]
    write_json(path, result)
    code, said = check("--json", "found.json")
    assert code == 0 and "002-table-2: 2 of 2 cells run again" in said and (tmp_path / "found.json").exists()
    write_json(path, {**result, "numbers": [{**n, "values": [9.0, 9.0]} for n in result["numbers"]]})
    code, said = check()
    assert code == 2 and "the record is not what the code gives" in said and "recorded 9" in said
    code, said = check("--seeds", "2")
    assert code == 2 and "--seeds goes with running a table, not with --check" in said
