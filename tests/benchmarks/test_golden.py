"""`make golden`: what it compares, what it finds, and what it must not take for equal."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import colonnade as cn
from benchmarks.golden import adapter, digest, worker
from benchmarks.golden.cases import Case, Command, Fit, Sites, cases
from benchmarks.golden.compare import compare, report
from benchmarks.golden.tables import METHODS

SPLIT = Fit("split", "splitnn", {**METHODS["splitnn"], "epochs": 1})
SITES = Sites("sites", "splitnn", {**METHODS["splitnn"], "epochs": 1})


def run(case: Case, folder: Path, **options: Any) -> dict[str, Any]:
    if not isinstance(case, Command):
        case = replace(case, options={**case.options, **options})
    found = worker.run(case, folder)
    assert "error" not in found, found["error"]
    return found


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(SPLIT, tmp_path_factory.mktemp("split"))


def test_every_method_has_all_its_tasks_and_numbers_of_parties() -> None:
    assert list(METHODS) == list(cn.METHODS)
    found = {(c.method, c.data.task, c.data.parties) for c in cases() if isinstance(c, Fit) and ", " in c.name}
    wanted = {(name, task, k) for name, method in cn.METHODS.items() for task in method.tasks for k in (2, 3, 7)}
    assert wanted <= found and len(wanted) == 225
    between = {case.method for case in cases() if isinstance(case, Sites)}
    assert between == {n for n, method in cn.METHODS.items() if hasattr(method, "codec")}


def test_the_same_tree_twice_is_equal(split: dict[str, Any], tmp_path: Path) -> None:
    assert not compare({"split": split}, {"split": run(SPLIT, tmp_path)})


def test_another_seed_is_found_in_each_field_but_traffic(split: dict[str, Any], tmp_path: Path) -> None:
    found = compare({"split": split}, {"split": run(SPLIT, tmp_path, seed=1)})
    assert {d.field for d in found} == {"weights", "predictions", "absent", "history", "record"}
    text = "\n".join(report(found))
    assert "split: weights:" in text and "split: history: " in text and "record: 1 difference" in text
    assert "options.seed: 0 there, 1 here" in text


def test_more_traffic_is_found(split: dict[str, Any], tmp_path: Path) -> None:
    found = {d.field for d in compare({"split": split}, {"split": run(SPLIT, tmp_path, width=5)})}
    assert {"traffic", "audit"} <= found


@pytest.mark.parametrize("field", ["weights", "predictions", "history", "traffic", "audit", "record", "absent"])
def test_one_changed_value_is_named(field: str, split: dict[str, Any]) -> None:
    changed = copy.deepcopy(split)
    part = changed
    key: Any = field
    while isinstance(part[key], dict | list):
        part, key = part[key], next(iter(part[key])) if isinstance(part[key], dict) else 0
    part[key] = "other"
    (found,) = compare({"split": split}, {"split": changed})
    assert (found.case, found.field, found.here) == ("split", field, "other")


def test_the_last_bit_counts() -> None:
    one = torch.ones(3)
    other = torch.nextafter(one, torch.tensor(2.0))
    assert digest.of_array(one) != digest.of_array(other) != digest.of_array(other.double())
    assert digest.of_array(torch.tensor([0.0])) != digest.of_array(torch.tensor([-0.0]))
    for old, new in ((0.1, 0.1 + 2**-56), (1, 1.0), (0.0, -0.0), (True, 1), ([1], [1, 2]), (None, "None")):
        assert len(compare({"c": {"f": old}}, {"c": {"f": new}})) == 1
    assert not compare({"c": {"f": digest.of_json(float("nan"))}}, {"c": {"f": digest.of_json(float("nan"))}})


def test_a_case_that_fails_in_both_trees_is_a_difference(tmp_path: Path) -> None:
    failed = worker.run(replace(SPLIT, options={"width": 0}), tmp_path)
    (found,) = compare({"split": failed}, {"split": failed})
    assert found.field == "error" and "width must be a whole number of at least 1" in found.there


def test_a_case_that_one_tree_lacks_is_a_difference(split: dict[str, Any]) -> None:
    assert {d.here for d in compare({"split": split}, {})} == {"nothing"}


def test_what_a_tree_saved_is_loaded_and_predicts_the_same(split: dict[str, Any], tmp_path: Path) -> None:
    run(SPLIT, tmp_path)
    assert worker.load(SPLIT, tmp_path)["predictions"] == split["predictions"]


def test_another_seed_is_found_in_the_frames_between_sites(tmp_path: Path) -> None:
    one, again, other = (run(SITES, tmp_path / str(i), seed=seed) for i, seed in enumerate((0, 0, 1)))
    assert not compare({"sites": one}, {"sites": again})
    found = compare({"sites": one}, {"sites": other})
    assert {"weights", "frames", "history"} <= {d.field for d in found}
    assert any(d.where == "shop.forward" for d in found)
    assert worker.load(SITES, tmp_path / "0")["predictions"] != worker.load(SITES, tmp_path / "2")["predictions"]


def test_a_cut_run_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    cut = run(replace(SITES, cut=7), tmp_path / "cut")
    assert cut["weights"] == run(SITES, tmp_path / "whole")["weights"]
    assert cut["record"]["record"]["resumed"] > 0
    late = worker.run(replace(SITES, cut=10_000), tmp_path / "late")
    assert "the run was over before request 10000" in late["error"]


def test_commands_are_compared_without_seconds(tmp_path: Path) -> None:
    line = ("run", "local", "--data", "wine", "--set", "epochs=1", "--json", "record.json")
    case = Command("command", (line,))
    one, two = (run(case, tmp_path / str(i)) for i in range(2))
    assert one == two and 0 < one["record"]["record.json"]["score"] <= 1
    assert not {"seconds", "versions"} & set(one["record"]["record.json"])
    failed = worker.run(Command("wrong", (("run", "splitn", "--data", "wine"),)), tmp_path)
    assert "Did you mean 'splitnn'?" in failed["error"]


def test_a_moved_module_is_found_where_it_lies_now() -> None:
    before = ("colonnade.gone.data", "colonnade.data")
    assert adapter.find("VerticalData", {"VerticalData": before}) is cn.VerticalData
    with pytest.raises(ImportError, match=r"split is in none of colonnade.gone. Add its module to MODULES"):
        adapter.find("split", {"split": ("colonnade.gone",)})
    for name in adapter.MODULES:
        assert adapter.find(name).__module__.startswith("colonnade.")


def test_another_trees_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=f"and this process is for {tmp_path}"):
        adapter.check_tree(tmp_path)
    adapter.check_tree(Path(__file__).parents[2])
