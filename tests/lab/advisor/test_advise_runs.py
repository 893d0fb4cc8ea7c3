"""Runs that the advisor learns from, read from files of comparisons; and its evaluation on runs made up here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.advise_check import ADVISE, PROBES, leave_one_out
from benchmarks.advise_runs import Place, Run, entries, read_runs, scores
from benchmarks.appraise_check import Pair, gap
from benchmarks.appraise_check import leave_one_out as leave_one_pair_out
from colonnade.lab.advisor.probes import Probe
from colonnade.lab.advisor.record import Entry, Known, packaged
from colonnade.lab.run.cell import Cell, run_cell

TINY = {"epochs": 1, "hidden": (4,), "width": 4}


def test_a_whole_record_is_read_with_its_arrangement(tmp_path: Path) -> None:
    records = [
        run_cell(Cell("local", "wine", labels=20, rows=100))[0],
        run_cell(Cell("local", "wine", labels=20, rows=100, options=TINY, seed=1))[0],
        run_cell(Cell("secureboost:encrypt=false:trees=200", "wine", labels=20))[0],
    ]
    records[2]["method"] = "secureboost:encrypt=false"
    (tmp_path / "some.json").write_text(json.dumps({"runs": records}))
    runs, left_out = read_runs([tmp_path])
    assert left_out == {"options other than the defaults": 1}
    assert [(run.method, run.place) for run in runs] == [
        ("local", Place("wine", 20, 1.0, rows=100)),
        ("secureboost", Place("wine", 20, 1.0)),
    ]
    assert runs[0].bytes == 0 and runs[1].bytes is None  # in the clear it sends less than encrypted
    flat = tmp_path / "flat.json"
    flat.write_text(json.dumps([run.flat() for run in runs]))
    again, _ = read_runs([flat])
    assert [(r.place, r.method, r.seed) for r in again] == [(r.place, r.method, r.seed) for r in runs]


@pytest.mark.parametrize(
    ("change", "why"),
    [({"method": "combined"}, "reference"), ({"method": "splitnn:join=mean"}, "options"), ({"data": "a.toml"}, "own"),
     ({"protocol": "transductive"}, "transductive"), ({"metric": "auc"}, "metric")],
)  # fmt: skip
def test_what_cannot_be_compared_is_left_out(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    run = {"data": "wine", "method": "splitnn", "labels": 20, "aligned": 1.0, "seed": 0, "metric": "accuracy",
           "score": 0.9, "bytes": 10, "seconds": 1.0}  # fmt: skip
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([run, {**run, "seed": 1, **change}]))
    runs, left_out = read_runs([file])
    assert [one.seed for one in runs] == [0] and why in next(iter(left_out))


def test_entries_are_means_over_seeds() -> None:
    place = Place("wine", 20, 1.0)
    runs = [Run(place, "local", seed, score, 0, 1.0) for seed, score in enumerate((0.8, 0.9))]
    missing = replace(place, data="phishing", rows=5)
    (entry,), left = entries([*runs, Run(missing, "local", 0, 0.5, 0, 1.0)], {})
    assert entry.methods["local"].score == pytest.approx(0.85) and entry.methods["local"].runs == 2
    assert entry.methods["local"].std == pytest.approx(np.std([0.8, 0.9], ddof=1))
    assert entry.setting.labelled == 20 and list(left) == [missing.name]


def made_up(best: dict[str, str]) -> tuple[list[Entry], dict[Place, dict[str, dict[int, Run]]]]:
    """Settings of several data sets in which one method is best; probes say so."""
    found, runs = [], []
    for data, method in best.items():
        place = Place(data, 100, 1.0)
        setting = packaged().entries[0].setting
        value = {name: 0.9 if name == method else 0.7 for name in ("local", "splitnn", "hybrid")}
        probes = {n: Probe(n, v, 400, 1, 0, 0.1) for n, v in value.items() if n != "hybrid"}
        found.append(Entry(place.name, data, setting, {n: Known(v, 2, 0.01, 1, 1.0) for n, v in value.items()}, probes))
        runs += [Run(place, n, seed, v, 1, 1.0) for n, v in value.items() for seed in (0, 1)]
    return found, scores(runs)


def test_probes_find_what_the_record_cannot_know() -> None:
    kinds = {f"d{i}": ("local", "splitnn")[i % 2] for i in range(6)}
    checked = leave_one_out(*made_up(kinds))
    assert checked is not None
    ways = {way.way: way for way in checked.ways()}
    assert ways[ADVISE].hits == ways[PROBES].hits == 1.0 and ways[ADVISE].regret == 0.0
    assert ways["local"].hits == pytest.approx(0.5) and ways["hybrid"].hits == 0.0
    assert ways["local"].regret == pytest.approx(0.1 / packaged().entries[0].setting.guess)


def test_fewer_than_three_data_sets_say_nothing() -> None:
    assert leave_one_out(*made_up({"a": "local", "b": "splitnn"})) is None


def test_the_gap_between_one_round_and_full_training_is_found() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.normal(0.0, 0.2, 60)
    realised = 0.5 * predicted + 0.05 + 0.02 * rng.normal(size=60)
    pairs = [
        Pair("s", f"d{i % 10}", "p", "accuracy", 1.0, float(p), 1e-4, {"splitnn": [float(r)]}, 1, 1.0)
        for i, (p, r) in enumerate(zip(predicted, realised, strict=True))
    ]
    found = gap(pairs)
    assert found["factor"] == pytest.approx(0.5, abs=0.05) and found["constant"] == pytest.approx(0.05, abs=0.01)
    assert found["spread"] == pytest.approx(0.02, rel=0.3)
    checked = leave_one_pair_out(pairs)
    assert 0.8 <= checked.covered <= 1.0 and checked.raw_covered < 0.2 and checked.correlation > 0.9
