"""The command line as a user meets it: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn
from colonnade.lab.report import summarise
from colonnade.methods.local import Local

TINY = ["--set", "epochs=2", "--set", "hidden=[8]", "--set", "width=4"]
DOCUMENTED = {
    "method",
    "kind",
    "data",
    "task",
    "metric",
    "score",
    "scores",
    "traffic",
    "seconds",
    "seed",
    "config",
    "versions",
    "history",
    "references",
}


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


# list and help --------------------------------------------------------------------------------------------------------


def test_list_names_everything(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("list", "--all", "--json", "all.json")
    assert code == 0
    for name in (*cn.METHODS, *cn.DATASETS, *cn.OBJECTIVES):
        assert name in out, name
    saved = json.loads((tmp_path / "all.json").read_text())
    assert set(saved) == {"methods", "datasets", "objectives"}
    assert set(saved["methods"]) == set(cn.METHODS) and set(saved["datasets"]) == set(cn.DATASETS)
    assert saved["datasets"]["wine"]["available"] and not saved["datasets"]["adult"]["available"]


@pytest.mark.parametrize("command", ["list", "run", "compare", "report"])
def test_help_teaches_by_example(colonnade: Any, command: str) -> None:
    code, out, _ = colonnade(command, "--help")
    assert code == 0 and f"Example: colonnade {command}" in " ".join(out.split())


# run ------------------------------------------------------------------------------------------------------------------


def test_run_prints_and_records(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("run", "splitnn", "--data", "wine", "--labels", "20", *TINY, "--json", "record.json")
    assert code == 0 and "splitnn on wine: 20 labelled and 106 aligned training rows, 36 test rows" in out
    assert files(tmp_path) == {"record.json"}
    record = json.loads((tmp_path / "record.json").read_text())
    assert set(record) == DOCUMENTED
    assert record["method"] == "splitnn" and record["data"] == "wine" and record["task"] == "multiclass"
    assert record["metric"] == "accuracy" and record["score"] == record["scores"]["accuracy"]
    assert f"{record['score']:.4f}" in out
    assert {"bytes", "messages", "rounds", "by_phase", "by_kind"} <= set(record["traffic"])
    assert {"labels", "aligned", "seed", "epochs", "hidden"} <= set(record["config"])
    assert record["config"]["labels"] == 20 and record["config"]["aligned"] == 1 and record["config"]["hidden"] == [8]
    assert {"colonnade", "python", "torch", "numpy"} <= set(record["versions"])
    assert [epoch["epoch"] for epoch in record["history"]] == [1, 2]


def test_the_same_seed_gives_the_same_record(colonnade: Any, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        colonnade(
            "run", "splitnn", "--data", "wine", "--seed", seed, "--aligned", "0.5", *TINY, "--json", f"{name}.json"
        )
    records = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "abc"]
    for record in records:
        del record["seconds"]
        for epoch in record["history"]:
            del epoch["seconds"]
    assert records[0] == records[1] != records[2]
    assert records[0]["config"]["rows"]["train_aligned"] == 53


def test_run_out_holds_record_model_audit_and_report(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("run", "splitnn", "--data", "digits-halves", "--labels", "60", *TINY, "--out", "my/run")
    assert code == 0 and "Report: my/run/report.html" in out
    folder = tmp_path / "my" / "run"
    assert {"record.json", "audit.json", "report.html", "model/model.json"} <= files(folder)
    record = json.loads((folder / "record.json").read_text())
    assert set(record) == DOCUMENTED | {"map"}
    model = cn.load(folder / "model")
    parts = cn.DATASETS["digits-halves"](labels=60, seed=0)
    assert model.score(parts.test.views, parts.test.labels) == pytest.approx(record["score"])
    audit = json.loads((folder / "audit.json").read_text())
    assert sum(entry["messages"] for entry in audit) >= record["traffic"]["messages"]
    assert {entry["kind"] for entry in audit} >= {"plan", "rows", "representation", "gradient"}
    again, _, _ = colonnade("run", "splitnn", "--data", "digits-halves", "--labels", "60", *TINY, "--out", "my/run")
    assert again == 0  # one's own folder may be written again
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    code, _, err = colonnade("run", "splitnn", "--data", "wine", *TINY, "--out", "other")
    assert code == 2 and "--out other holds other files. Name a new or empty folder." in err
    assert files(tmp_path / "other") == {"thesis.txt"}
    (folder / "model" / "notes.txt").write_text("precious")
    code, out, err = colonnade("run", "splitnn", "--data", "wine", *TINY, "--out", "my/run")
    assert code == 2 and "my/run/model also holds what was not written with model.json: notes.txt." in err
    assert "splitnn on wine" not in out and "model/notes.txt" in files(folder)  # said before training


# refusals: exit code 2, one message, no traceback, nothing written ----------------------------------------------------

WRONG = [
    (["run", "splitn", "--data", "wine"], "there is no method 'splitn'. Did you mean 'splitnn'?"),
    (["run", "splitnn", "--data", "wnie"], "dataset 'wnie' does not exist. Did you mean 'wine'?"),
    (
        ["run", "splitnn", "--data", "wine", "--set", "epoch=3"],
        "'epoch' is no option of SplitNN. Did you mean 'epochs'?",
    ),
    (["run", "splitnn", "--data", "wine", "--set", "epochs"], "--set: 'epochs' is not key=value."),
    (
        ["run", "splitnn", "--data", "wine", "--set", "epochs=many"],
        "epochs must be a whole number of at least 1. Got 'many'.",
    ),
    (["run", "splitnn", "--data", "wine", "--set", "seed=3"], "Use --seed, or --seeds of a comparison."),
    (["run", "splitnn:join=maen", "--data", "wine"], "join must be one of concat, mean, sum. Got 'maen'."),
    (["run", "splitnn", "--data", "wine", "--labels", "few"], "--labels must be a number or a fraction. Got 'few'."),
    (
        ["run", "splitnn", "--data", "wine", "--labels", "nan"],
        "labels must be a number of rows or a fraction in (0, 1]. Got nan.",
    ),
    (
        ["run", "splitnn", "--data", "wine", "--labels", "5000"],
        "labels=5000 asks for more than the 106 labelled training rows",
    ),
    (["run", "splitnn", "--data", "wine", "--aligned", "0"], "aligned must be in (0, 1]. Got 0.0."),
    (["run", "splitnn", "--data", "wine", "--seed", "-1"], "seed must be a whole number of at least 0. Got -1."),
    (["run", "splitnn", "--data", "wine", "--parties", "99"], "parties=99 is more than the 13 columns"),
    (["run", "splitnn", "--data", "own.toml"], "own.toml cannot be opened"),
    (["run", "splitnn", "--data", "adult"], "COLONNADE_DATA is not set"),
    (["compare", "--data", "wine", "--methods", "splitnn,locl"], "there is no method 'locl'. Did you mean 'local'?"),
    (["compare", "--data", "wnie", "--methods", "splitnn"], "dataset 'wnie' does not exist. Did you mean 'wine'?"),
    (
        ["compare", "--data", "wine", "--methods", "splitnn,local", "--set", "epoch=3"],
        "--set: 'epoch' is an option of none of splitnn, local. Did you mean 'epochs'?",
    ),
    (
        ["compare", "--data", "wine", "--methods", "local", "--set", "splitnn.epochs=3"],
        "'splitnn.epochs' is an option of none of",
    ),
    (["compare", "--data", "wine", "--methods", ","], "--methods is empty. Name some, e.g. local,splitnn."),
    (["compare", "--data", "wine", "--methods", "local,local"], "compare: --methods names 'local' twice."),
    (["compare", "--data", "wine", "--methods", "local", "--labels", "20,20.0"], "compare: --labels names 20 twice."),
    (
        ["compare", "--data", "wine", "--methods", "local", "--labels", "20,999"],
        "labels=999 asks for more than the 106",
    ),
    (["compare", "--data", "wine", "--methods", "local", "--aligned", "0.5,2"], "aligned must be in (0, 1]. Got 2."),
    (["compare", "--data", "wine", "--methods", "local", "--seeds", "0"], "--seeds"),
    (
        ["report", "nowhere"],
        "No report can be made of nowhere: it is not a folder. Expected nowhere/record.json (a run)",
    ),
    (["report", "."], "no record is there. Expected ./record.json (a run) or ./cells/*.json (a comparison)."),
    (["run", "splitnn"], "--data"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_a_wrong_command_is_explained_and_writes_nothing(
    colonnade: Any, tmp_path: Path, arguments: Any, text: str
) -> None:
    out = [] if arguments[0] == "report" else ["--out", "result", "--json", "record.json"]
    code, _, err = colonnade(*arguments, *out)
    assert code == 2
    assert text in " ".join(err.split()), err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_json_must_be_a_file_and_out_a_folder(colonnade: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    code, _, err = colonnade("run", "splitnn", "--data", "wine", *TINY, "--json", "folder")
    assert code == 2 and "--json folder is a folder. Name a file." in err
    code, _, err = colonnade("compare", "--data", "wine", "--methods", "local", *TINY, "--out", "file")
    assert code == 2 and "--out file is a file. Name a folder." in err


def test_ctrl_c_says_how_to_go_on(colonnade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Local, "fit", interrupted)
    code, _, err = colonnade("compare", "--data", "wine", "--methods", "local", "--jobs", "1", *TINY, "--out", "result")
    assert code == 130 and "goes on from here with the same command." in err


# compare --------------------------------------------------------------------------------------------------------------

GRID = ["compare", "--data", "wine", "--methods", "local,splitnn", "--labels", "20,40", "--seeds", "2", "--jobs", "1"]


def cell_times(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in (folder / "cells").glob("*.json")}


def test_compare_runs_resumes_and_reruns(colonnade: Any, tmp_path: Path) -> None:
    folder = tmp_path / "result"
    code, out, _ = colonnade(*GRID, *TINY, "--out", "result", "--json", "all.json")
    assert code == 0 and "wine: accuracy on test rows (higher is better)" in out and "mean ± std" in out
    runs = json.loads((tmp_path / "all.json").read_text())["runs"]
    assert [(r["config"]["labels"], r["config"]["seed"], r["method"]) for r in runs] == [
        (labels, seed, method) for labels in (20, 40) for seed in (0, 1) for method in ("local", "splitnn")
    ]
    assert all(set(r) - {"map"} == DOCUMENTED - {"references"} for r in runs) and any("map" in r for r in runs)
    assert {(r["method"], r["kind"]) for r in runs} == {("local", "alone"), ("splitnn", "federated")}
    assert {r["traffic"]["bytes"] > 0 for r in runs if r["method"] == "splitnn"} == {True}
    first = cell_times(folder)
    assert len(first) == 8 and (folder / "report.html").is_file()

    code, _, _ = colonnade(*GRID, *TINY, "--out", "result", "--json", "again.json")
    assert code == 0 and cell_times(folder) == first  # nothing was trained again
    assert json.loads((tmp_path / "again.json").read_text())["runs"] == runs

    lost = sorted(first)[3]
    (folder / "cells" / lost).unlink()
    (folder / "cells" / sorted(first)[5]).write_text('{"half": ')  # as a crash of the machine may leave it
    code, _, _ = colonnade(*GRID, *TINY, "--out", "result", "--json", "resumed.json")
    resumed = cell_times(folder)
    assert code == 0 and {n for n in first if resumed[n] != first[n]} == {lost, sorted(first)[5]}
    scores = [r["score"] for r in runs]
    assert [r["score"] for r in json.loads((tmp_path / "resumed.json").read_text())["runs"]] == scores

    code, _, _ = colonnade(*GRID, *TINY, "--set", "splitnn.learning_rate=0.01", "--out", "result", "--json", "new.json")
    changed = cell_times(folder)
    assert code == 0 and len(changed) == 12 and all(changed[n] == resumed[n] for n in resumed)
    new = json.loads((tmp_path / "new.json").read_text())["runs"]
    assert {r["config"]["learning_rate"] for r in new if r["method"] == "splitnn"} == {0.01}
    assert {r["config"]["learning_rate"] for r in new if r["method"] == "local"} == {0.001}
    code, out, _ = colonnade("report", "result", "--out", "page.html")
    assert code == 0 and "Report: page.html" in out and (tmp_path / "page.html").stat().st_size > 1000


def test_methods_with_options_stand_beside_each_other(colonnade: Any, tmp_path: Path) -> None:
    methods = "splitnn,splitnn:join=mean,splitnn:hidden=[4,4]"
    code, out, _ = colonnade(
        "compare", "--data", "wine", "--methods", methods, "--seeds", "1", "--jobs", "1", *TINY, "--json", "all.json"
    )
    assert code == 0 and "colonnade-out/compare-wine/report.html" in out
    runs = {r["method"]: r["config"] for r in json.loads((tmp_path / "all.json").read_text())["runs"]}
    assert list(runs) == ["splitnn", "splitnn:join=mean", "splitnn:hidden=[4,4]"]
    assert [c["join"] for c in runs.values()] == ["concat", "mean", "concat"]
    assert [c["hidden"] for c in runs.values()] == [[8], [8], [4, 4]]


@pytest.mark.parametrize("error", [cn.DataError("the moon was full"), RuntimeError("the moon was full")])
def test_one_failing_run_does_not_lose_the_others(
    colonnade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    plain = Local.fit

    def fails_once(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.seed == 1:
            raise error
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(Local, "fit", fails_once)
    grid = ["compare", "--data", "wine", "--methods", "local,linear", "--seeds", "3", "--jobs", "1", "--out", "result"]
    code, out, err = colonnade(*grid, *TINY, "--json", "all.json")
    assert code == 2 and "1 of 6 runs failed" in err and "local, labels None, seed 1" in err
    assert "the moon was full" in err and "Traceback" not in err
    assert "mean ± std" in out and (tmp_path / "result" / "report.html").is_file()
    assert len(json.loads((tmp_path / "all.json").read_text())["runs"]) == 5 == len(cell_times(tmp_path / "result"))
    monkeypatch.setattr(Local, "fit", plain)
    before = cell_times(tmp_path / "result")
    code, _, _ = colonnade(*grid, *TINY)
    after = cell_times(tmp_path / "result")
    assert code == 0 and len(after) == 6 and before.items() <= after.items()


def test_runs_in_parallel_give_the_same(colonnade: Any, tmp_path: Path) -> None:
    grid = ["compare", "--data", "wine", "--methods", "splitnn", "--seeds", "2", *TINY]
    for jobs in ("1", "2"):
        code, _, _ = colonnade(*grid, "--jobs", jobs, "--out", f"result{jobs}", "--json", f"{jobs}.json")
        assert code == 0
    one, two = (json.loads((tmp_path / f"{jobs}.json").read_text())["runs"] for jobs in "12")
    assert [r["seed"] for r in two] == [0, 1]
    np.testing.assert_allclose(
        [r["history"][-1]["loss"] for r in one], [r["history"][-1]["loss"] for r in two], rtol=1e-4
    )


# own data -------------------------------------------------------------------------------------------------------------

TOML = """
[federation]
metric = "auc"
[parties.bank]
data = "bank.csv"
id = "customer"
label = "default"
[parties.shop]
data = "shop.csv"
id = "customer"
"""


@pytest.fixture
def own_data(tmp_path: Path) -> Path:
    """120 customers of a bank and 100 of a shop, 80 of them common; a fifth has no label."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 2))
    bank = pd.DataFrame({"customer": [f"c{i:03d}" for i in range(120)], "income": hidden[:120, 0]})
    bank["job"] = rng.choice(["cook", "nurse", None], 120)
    bank["default"] = np.where(hidden[:120].sum(axis=1) > 0, "yes", "no")
    bank.loc[rng.random(120) < 0.2, "default"] = None
    shop = pd.DataFrame({"customer": [f"c{i:03d}" for i in range(40, 140)], "spent": hidden[40:140, 1]})
    shop["visits"] = np.where(rng.random(100) < 0.1, np.nan, rng.integers(0, 9, 100))
    bank.to_csv(tmp_path / "bank.csv", index=False)
    shop.to_csv(tmp_path / "shop.csv", index=False)
    (tmp_path / "own.toml").write_text(TOML)
    return tmp_path / "own.toml"


def test_own_data_end_to_end(colonnade: Any, own_data: Path, tmp_path: Path) -> None:
    code, _, err = colonnade("run", "splitnn", "--data", "own.toml", *TINY, "--set", "epochs=20", "--out", "run")
    assert code == 0, err
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert record["metric"] == "auc" and record["task"] == "binary" and record["config"]["parties"] == ["bank", "shop"]
    assert record["config"]["active"] == "bank" and record["score"] > 0.5
    model = cn.load(tmp_path / "run" / "model")
    bank = pd.read_csv(tmp_path / "bank.csv", index_col="customer").drop(columns="default")
    shop = pd.read_csv(tmp_path / "shop.csv", index_col="customer")
    named = model.predict({"bank": bank.loc[["c050", "c060"]], "shop": shop})
    assert set(named) <= {"yes", "no"} and len(named) == 2

    grid = ["compare", "--data", "own.toml", "--methods", "local,splitnn", "--seeds", "1", "--jobs", "1", *TINY]
    assert colonnade(*grid, "--out", "result")[0] == 0
    before = cell_times(tmp_path / "result")
    assert colonnade(*grid, "--out", "result")[0] == 0 and cell_times(tmp_path / "result") == before
    changed = pd.read_csv(tmp_path / "shop.csv")
    changed.assign(spent=-changed["spent"], more=range(len(changed))).to_csv(tmp_path / "shop.csv", index=False)
    assert colonnade(*grid, "--out", "result")[0] == 0
    assert len(cell_times(tmp_path / "result")) == 4  # other data, other runs


def test_what_is_wrong_with_own_data_is_listed(colonnade: Any, own_data: Path, tmp_path: Path) -> None:
    bank = pd.read_csv(tmp_path / "bank.csv").assign(one=1)
    pd.concat([bank, bank.iloc[:1]]).to_csv(tmp_path / "bank.csv", index=False)
    code, _, err = colonnade("run", "splitnn", "--data", "own.toml", "--out", "run")
    assert code == 2 and "own.toml: The data cannot be used: 3 problems." in err and "Traceback" not in err
    assert "party 'bank': 1 ids occur more than once, e.g. 'c000'." in err
    assert "party 'bank': column 'one' has one value in all rows." in err
    assert not (tmp_path / "run").exists()


def test_own_data_says_who_the_parties_are(colonnade: Any, own_data: Path) -> None:
    code, _, err = colonnade("run", "splitnn", "--data", "own.toml", "--parties", "3")
    assert code == 2 and "own.toml says who the parties are. Leave --parties out." in err


def test_a_metric_that_test_rows_do_not_define_is_explained(colonnade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Local, "scores", lambda self, views, labels: {"accuracy": float("nan"), "f1": 0.5})
    code, _, err = colonnade("run", "local", "--data", "wine", *TINY)
    assert code == 2 and "accuracy is not defined on the 36 test rows. Name another metric." in err


def test_the_installed_command_answers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "colonnade", "run", "splitn", "--data", "wine"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2 and done.stderr.startswith("Error: there is no method 'splitn'.")


def test_list_of_a_method_shows_its_options(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("list", "vflhlp", "--json", "options.json")
    found = {option["name"]: option for option in json.loads((tmp_path / "options.json").read_text())}
    assert code == 0 and "beta" in out
    assert found["beta"]["default"] == "0.1" and "Eq. 7" in found["beta"]["meaning"]
    assert set(found) == {field.name for field in dataclasses.fields(cn.METHODS["vflhlp"])}
    assert colonnade("list", "vflhpl")[2].count("Did you mean 'vflhlp'?") == 1


def test_bytes_to_a_target_are_those_of_the_first_epoch_that_reached_it(colonnade: Any, tmp_path: Path) -> None:
    options = ["--labels", "30", "--seeds", "2", "--jobs", "1", "--out", "c", "--json", "c.json", "--set", "epochs=40"]
    arguments = ["compare", "--data", "wine", "--methods", "local,splitnn,fedonce", *options]
    code, out, _ = colonnade(*arguments, "--target", "0.8")
    assert code == 0 and "to 0.8" in out
    runs = json.loads((tmp_path / "c.json").read_text())["runs"]
    for row in summarise(runs, 0.8):
        mine = [r for r in runs if r["method"] == row.method]
        first = [next((e["bytes"] for e in r["history"] if e.get("validation", 0) >= 0.8), None) for r in mine]
        reached = [b for b in first if b is not None]
        assert row.reached == len(reached)
        assert row.to_target == (round(sum(reached) / len(reached)) if reached else None)
    assert "bytes to 0.8" in (tmp_path / "c" / "report.html").read_text()
    code, out, _ = colonnade(*arguments, "--target", "1.1")
    assert "not reached" in out


def test_options_of_a_description_are_used(colonnade: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("bank", "shop"):
        frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).assign(customer=range(80))
        frame.assign(y=(frame["a"] > 0).astype(int)).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "own.toml").write_text(
        '[parties.bank]\ndata = "bank.csv"\nid = "customer"\nlabel = "y"\n'
        '[parties.shop]\ndata = "shop.csv"\nid = "customer"\ncolumns = ["a", "b"]\n'
        '[method]\nname = "splitnn"\nepochs = 3\nhidden = [5]\n'
    )
    assert colonnade("run", "splitnn", "--data", "own.toml", "--set", "width=7", "--json", "r.json")[0] == 0
    config = json.loads((tmp_path / "r.json").read_text())["config"]
    assert (config["epochs"], config["hidden"], config["width"]) == (3, [5], 7)
    assert colonnade("run", "local", "--data", "own.toml", "--set", "epochs=2", "--json", "l.json")[0] == 0
    assert json.loads((tmp_path / "l.json").read_text())["config"]["hidden"] == [128]
    assert "Describe the parties' tables in a TOML file" in colonnade("run", "local", "--data", "bank.csv")[2]
