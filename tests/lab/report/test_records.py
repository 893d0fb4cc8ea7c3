"""What the reader refuses, and how it says so."""

from __future__ import annotations

import json

import pytest

from colonnade.errors import DataError
from colonnade.lab.report import read_records

from .conftest import make_record, write_comparison, write_run


def test_reads_a_run_and_a_comparison(tmp_path, comparison):
    assert [r["method"] for r in read_records(write_run(tmp_path / "run", make_record()))] == ["splitnn"]
    assert len(read_records(comparison)) == 45


def test_names_folder_and_what_was_expected(tmp_path):
    with pytest.raises(DataError, match=r"record\.json \(a run\) or .*cells/\*\.json \(a comparison\)") as caught:
        read_records(tmp_path)
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(DataError, match="it is not a folder"):
        read_records(tmp_path / "absent")


def test_refuses_a_run_and_a_comparison_in_one_folder(comparison):
    write_run(comparison, make_record())
    with pytest.raises(DataError, match="both a run"):
        read_records(comparison)


def test_lists_every_problem_with_its_file(tmp_path):
    bad = make_record() | {"score": "high", "history": {}}
    del bad["metric"]
    folder = write_comparison(tmp_path, [bad, make_record()])
    (folder / "cells" / "002.json").write_text("{")
    (folder / "cells" / "003.json").write_text("[]")
    with pytest.raises(DataError) as caught:
        read_records(folder)
    for part in (
        "000.json: 'metric' must be text. Got nothing",
        "'score' must be a number. Got 'high'",
        "'history' must be a list",
        "002.json is not readable JSON",
        "003.json must hold one record",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"traffic": {"bytes": -1}}, "'bytes' must be a number, 0 or more. Got -1"),
        ({"traffic": {"bytes": 1, "by_kind": {"gradient": 3}}}, "'by_kind' must map names to objects"),
        ({"config": {"labels": "few"}}, "'labels' must be a number or null. Got 'few'"),
        ({"map": {"points": [[0, 1]], "labels": []}}, "of equal length"),
        ({"map": {"points": [[0]], "labels": [1]}}, r"must be \[x, y\]"),
        ({"history": [3]}, "a list of objects"),
        ({"kind": "best"}, "'kind' must be one of federated, alone, pooled. Got 'best'"),
        ({"references": [0.4]}, "'references' must be an object"),
    ],
)
def test_looks_inside(tmp_path, change, text):
    with pytest.raises(DataError, match=text):
        read_records(write_run(tmp_path, make_record() | change))


def test_refuses_to_mix_data_metrics_or_twice_the_same_run(tmp_path):
    other = make_record(seed=1) | {"data": "digits", "metric": "auc"}
    with pytest.raises(DataError) as caught:
        read_records(write_comparison(tmp_path, [make_record(), other, make_record()]))
    for part in ("one data. Got digits, mfeat", "one metric. Got accuracy, auc", "000.json and cells/002.json are the"):
        assert part in str(caught.value)


def test_a_diverged_run_is_still_shown(tmp_path):
    (tmp_path / "record.json").write_text(json.dumps(make_record() | {"score": float("nan")}))
    assert len(read_records(tmp_path)) == 1
