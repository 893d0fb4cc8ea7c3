"""A small recipe from its content to what is kept: runs, numbers, verdicts, files, the page of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colonnade.bench import compare, kept, reproduce
from colonnade.bench.kept import docs, keep, merge, read_kept
from colonnade.bench.recipe import chosen, parse, recipe
from colonnade.bench.reproduce import Asked, jobs_of, run_jobs
from colonnade.bench.tuning import merit
from colonnade.cli import main
from colonnade.console import console
from colonnade.errors import ConfigError
from colonnade.report.reproduction import markdown
from tests.bench.small_recipe import content

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cells that were trained."""
    done: list[str] = []
    real = compare.run_cell

    def counted(cell: Any, **options: Any) -> Any:
        done.append(cell.key)
        return real(cell, **options)

    monkeypatch.setattr(compare, "run_cell", counted)
    return done


def small(folder: Path, **asked: Any) -> Any:
    made = parse(content(), "small")
    given = Asked(folder, **{"commit": "abc", **asked})
    ((job, result, measured),) = run_jobs(jobs_of([made], given), given, lambda outcome: None)
    return job, result, measured


def test_a_recipe_from_end_to_end(tmp_path: Path, ran: list[str]):
    job, result, measured = small(tmp_path)
    assert len(ran) == 16 and len(measured) == 8 and not result["failed"]
    line = next(n for n in result["numbers"] if n["method"] == "Alone" and n["at"] == {"labels": "many"})
    assert line["claimed"] == 0.99 and line["n"] == 2 and line["here"] == {"labels": "60"}
    assert line["difference"] == pytest.approx(line["mean"] - 0.99) and line["holds"] in ("yes", "no")
    assert line["mean"] == pytest.approx(sum(line["values"]) / 2) and line["bytes"] == 0
    few = next(n for n in result["numbers"] if n["method"] == "Alone" and n["at"] == {"labels": "few"})
    assert few["holds"] == "above"  # anything is better than .1
    assert [claim["says"] for claim in result["claims"]][-1] == "contrast matters little"
    assert result["claims"][-1]["holds"] == "yes" and result["claims"][0]["pairs"][0]["n"] == 2
    assert result["skipped"] == [{"name": "Vineyards", "why": "nobody has them."}]
    assert result["data"][0]["commit"] == "abc" and result["data"][0]["runs"] == 16
    assert json.loads((job.folder / "002-table-2.json").read_text()) == result
    assert job.folder == tmp_path / "002" / "abc" and (job.folder / "002-table-2.md").read_text() == markdown(result)
    page = (job.folder / "002-table-2.html").read_text()
    assert "together is better" in page and "Vineyards" in page
    small(tmp_path)
    assert len(ran) == 16  # nothing is run again


def test_the_markdown_has_claimed_measured_and_verdict(tmp_path: Path):
    _, result, _ = small(tmp_path)
    text = markdown(result)
    assert "| claim | data | holds? | difference | beyond chance | n |" in text
    assert "| data | method | setting | claimed | measured | difference | holds? | sent | seconds |" in text
    assert "| wine | Alone (`local`) | labels many (here 60) | 0.990 |" in text
    assert "- Vineyards: nobody has them." in text


def test_every_run_of_a_tuned_table_is_chosen_on_validation_rows(tmp_path: Path, ran: list[str]):
    job, result, measured = small(tmp_path, tune=4)
    assert len(ran) == 64 and result["data"][0]["runs"] == 16 and result["data"][0]["tune"] == 4
    assert ", each run the best of 4 tries on validation rows." in markdown(result)
    assert job.folder == tmp_path / "002" / "abc-tune4"
    plain = small(tmp_path)[2]
    gains = []
    for place, spot in measured.items():
        for seed, record in spot.records.items():
            settled = record["tuned"]["chosen"]
            assert all(record["config"][name] == value for name, value in settled.items())
            gains.append(merit(record) - merit(plain[place].records[seed]))
    assert min(gains) >= 0 and max(gains) > 0


@pytest.mark.parametrize(("table", "why"), [("002 2", "transductive"), ("000 6", "attacks"), ("004 fig-10", "nothing")])
def test_a_table_that_cannot_be_tuned_is_refused(table: str, why: str):
    paper, number = table.split()
    with pytest.raises(ConfigError, match=rf"--tune.*{paper}-\S+: .*{why}.* Leave it out, or leave --tune out\."):
        jobs_of([recipe(name) for name in chosen(paper, number)], Asked(Path("out"), tune=3))


def test_no_tries_at_all_are_refused():
    with pytest.raises(ConfigError, match=r"tune must be a whole number of at least 1\. Got 0"):
        jobs_of([parse(content(), "small")], Asked(Path("out"), tune=0))


def test_quick_takes_the_ends_of_axes_and_one_seed(tmp_path: Path, ran: list[str]):
    job, result, _ = small(tmp_path, quick=True)
    assert len(ran) == 8 and job.folder.name == "abc-quick" and "Quick" in markdown(result)
    assert {claim["holds"] for claim in result["claims"]} == {"not judged"}
    page = (job.folder / "002-table-2.html").read_text()
    assert "No claim is judged" in page and "tests of claims" not in page
    with pytest.raises(ConfigError, match="quick run, which measures nothing"):
        keep([result], tmp_path / "results")


def test_data_that_are_not_at_hand_are_left_out_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = content()
    wanted["data"].append({"name": "mfeat", "paper": "UCI", "same": True})
    asked = Asked(tmp_path, quick=True, commit="abc")
    (job,) = jobs_of([parse(wanted, "small")], asked)
    assert {item.cell.data for item in job.planned} == {"wine"}
    assert "UCI 72" in job.skipped["mfeat"] and "mfeat/mfeat.npz" in job.skipped["mfeat"]
    assert "`colonnade data get mfeat`" in job.skipped["mfeat"]


def test_only_some_data_and_unknown_ones(tmp_path: Path):
    wanted = content()
    wanted["data"].append({"name": "digits", "paper": "Digits", "same": True})
    made = parse(wanted, "small")
    (job,) = jobs_of([made], Asked(tmp_path, data=("digits",), commit="abc"))
    assert {item.cell.data for item in job.planned} == {"digits"} and job.skipped["wine"] == "not asked for."
    with pytest.raises(ConfigError, match="--data 'digit' is in none of these recipes"):
        jobs_of([made], Asked(tmp_path, data=("digit",)))


def test_a_run_that_fails_is_named_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = compare.run_cell

    def broken(cell: Any, **options: Any) -> Any:
        if cell.method == "splitnn" and cell.seed == 1:
            raise ConfigError("no luck")
        return real(cell, **options)

    monkeypatch.setattr(compare, "run_cell", broken)
    _, result, _ = small(tmp_path)
    assert len(result["failed"]) == 2 and "splitnn on wine, labels 20" in result["failed"][0]
    assert next(n for n in result["numbers"] if n["method"] == "Together")["n"] == 1


def test_kept_results_are_replaced_data_set_by_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted = content()
    wanted["data"].append({"name": "digits", "paper": "Digits", "same": True})
    made = parse(wanted, "small")
    monkeypatch.setattr(kept, "recipe", lambda name: made)
    old = {**_blank(), "data": [_data("wine"), _data("digits")], "numbers": [{"data": "wine"}, {"data": "digits"}]}
    new = {**_blank(), "data": [_data("wine", "new")], "skipped": [{"name": "digits", "why": "not asked for."}]}
    both = merge(old, new)
    assert [(d["name"], d["commit"]) for d in both["data"]] == [("wine", "new"), ("digits", "old")]
    assert both["numbers"] == [{"data": "digits"}] and both["skipped"] == []


def _blank() -> dict[str, Any]:
    keys = ("data", "skipped", "failed", "numbers", "claims", "differs")
    return {
        "paper": "002",
        "table": "table-2",
        "title": "t",
        "of": "x",
        "protocol": "inductive",
        **{k: [] for k in keys},
    }


def _data(name: str, commit: str = "old") -> dict[str, Any]:
    stamp = {"commit": commit, "date": "d", "hardware": "h", "quick": False, "runs": 1, "core_seconds": 1}
    return {"name": name, "paper": name, "same": True, "why": "", **stamp}


def test_the_page_of_results_is_what_the_results_make(tmp_path: Path):
    """docs/results.md is never edited by hand: `make results`."""
    assert (ROOT / "docs/results.md").read_text() == docs(read_kept(ROOT / "results/reproduce"))


def test_results_say_which_claims_hold(tmp_path: Path):
    _, result, _ = small(tmp_path)
    (path,) = keep([result], tmp_path / "results")
    assert json.loads(path.read_text()) == result
    text = docs(read_kept(tmp_path / "results"))
    holds = [claim["holds"] for claim in result["claims"]]
    part = sum(h.startswith("in ") for h in holds)
    assert f"| 002 SSVFL | 1 | {holds.count('yes')} | {part} | {holds.count('no')} |" in text
    assert "| together is better | wine |" in text and "[002-table-2.md](../results/reproduce/002-table-2.md)" in text


def test_refuted_are_claims_that_fail_beyond_chance(tmp_path: Path):
    def claim(holds: str, against: int) -> dict[str, Any]:
        return {"says": "s", "data": "wine", "holds": holds, "certain": [0, against], "pairs": [],
                "measure": "score", "check": "above"}  # fmt: skip

    claims = [claim("yes", 1), claim("no", 1), claim("no", 0), claim("in 1 of 2", 1), claim("not run", 0)]
    text = docs([{**_blank(), "data": [_data("wine")], "claims": claims}])
    assert "| 002 SSVFL | 1 | 1 | 1 | 2 | 2 |" in text


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        main(["reproduce"])
    out = capsys.readouterr().out
    assert not end.value.code and all(table in out for table in ("table-2", "fig-10", "appendix-b"))
    assert f"Start with: {reproduce.EXAMPLE}" in out
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "002", "--table", "3", "--quick", "--json", "found.json"])
    err = " ".join(capsys.readouterr().err.split())
    assert end.value.code == 2 and "mfeat, caltech101_20, mnist10k_multiview, reuters are not at hand" in err
    assert "`colonnade data get mfeat caltech101_20 mnist10k_multiview reuters`" in err and reproduce.EXAMPLE in err
    assert not list(tmp_path.iterdir())  # no page of nothing
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "007"])
    assert end.value.code == 2 and "there is no paper '007'" in capsys.readouterr().err


SMALLEST = ["--set", "epochs=1", "--set", "pretrain_epochs=1"]


def test_the_example_runs_without_any_data_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setattr(console, "_width", 160)
    with pytest.raises(SystemExit) as end:
        main([*reproduce.EXAMPLE.split()[1:], *SMALLEST, "--jobs", "1", "--json", "found.json"])
    assert not end.value.code and "001: SS-VFL-I sends" in " ".join(capsys.readouterr().out.split())
    (found,) = json.loads((tmp_path / "found.json").read_text())["results"]
    assert not found["failed"] and not found["skipped"] and all(c["holds"] != "not run" for c in found["claims"])
    (page,) = tmp_path.glob("colonnade-out/**/digits-order.html")
    assert "digits, order: the order of methods" in page.read_text()


def test_the_command_for_machines_without_rich(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any):
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert reproduce.main(["002", "--table", "3", "--quick", "--out", str(tmp_path)]) == 2
    assert "colonnade data get mfeat" in capsys.readouterr().err
    assert reproduce.main(["002", "--table", "99"]) == 2
    monkeypatch.setattr(reproduce, "recipe", lambda name: parse(content(), "small"))
    assert reproduce.main(["002", "--table", "2", "--quick", "--out", str(tmp_path), "--commit", "abc"]) == 0
    assert "# 002, Table 2: a small table" in capsys.readouterr().out
    assert (tmp_path / "002" / "abc-quick" / "002-table-2.json").exists()
