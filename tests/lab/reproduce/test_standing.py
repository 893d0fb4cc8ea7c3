"""What the record lacks: seeds, results, marks; and the digest of what a run depends on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colonnade.lab.reproduce import digest, standing
from colonnade.lab.reproduce.digest import code_lines, digest_of
from colonnade.lab.reproduce.form import Recipe
from colonnade.lab.reproduce.kept import RESULTS
from colonnade.lab.reproduce.recipe import parse, recipe
from colonnade.lab.reproduce.standing import Mark, problems, seeds_of
from colonnade.lab.reproduce.standing import standing as stands
from tests.lab.reproduce.small_recipe import content

ROOT = Path(__file__).parents[3]


def test_the_record_has_the_seeds_that_its_recipes_name_or_says_why_not():
    assert problems(ROOT / RESULTS) == []


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record of one recipe, with all of its five seeds."""
    monkeypatch.setattr(standing, "names", lambda: ["digits-order"])
    name = "digits-order.json"
    (tmp_path / name).write_text((ROOT / RESULTS / name).read_text())
    return tmp_path


def test_fewer_seeds_fail_unless_marked_with_a_reason(record: Path):
    assert problems(record) == []
    path = record / "digits-order.json"
    changed = json.loads(path.read_text())
    changed["numbers"][3]["of"] = 4
    path.write_text(json.dumps(changed))
    assert seeds_of(changed, "digits") == 4
    (problem,) = problems(record)
    assert "digits-order: digits has 4 of the 5 seeds that the recipe names" in problem and "stale.toml" in problem
    mark = record / "stale.toml"
    mark.write_text('[[stale]]\ntable = "digits-order"\ndata = ["digits"]\nwhy = "stopped"\n')
    assert problems(record) == []
    mark.write_text('[[stale]]\ntable = "digits-order"\n')
    assert ["say why digits-order is stale" in line for line in problems(record)] == [True]


def test_a_recipe_without_a_record_and_a_mark_of_nothing_fail(record: Path):
    (record / "digits-order.json").unlink()
    assert problems(record)[0].startswith("digits-order has no record.")
    (record / "stale.toml").write_text('[[stale]]\ntable = "nothing"\nwhy = "x"\n')
    assert any("there is no recipe 'nothing'" in line for line in problems(record))
    (record / "stale.toml").write_text('[[stale]]\ntable = "digits-order"\ndata = ["wine"]\nwhy = "x"\n')
    assert ["'wine' is none of the data of digits-order" in line for line in problems(record)] == [True]


def test_the_command_of_make_lint_fails_with_the_problems(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(ROOT)
    assert standing.main() == 0
    monkeypatch.setattr(standing, "problems", lambda: ["000-fig-4 has no record."])
    assert standing.main() == 1 and "000-fig-4 has no record." in capsys.readouterr().out
    assert "colonnade.lab.reproduce.standing" in (ROOT / "Makefile").read_text()


def small(**changes: Any) -> Recipe:
    return parse({**content(), **changes}, "small")


def test_the_digest_follows_settings_and_code_and_not_words(monkeypatch: pytest.MonkeyPatch):
    first = digest_of(small(), "wine")
    assert digest_of(small(title="other words", claim=[], seeds=9), "wine") == first
    assert digest_of(small(settings={"epochs": 4}), "wine") != first
    real = digest._code
    monkeypatch.setattr(digest, "_code", lambda name: "changed" if name == "colonnade.wire.codec" else real(name))
    assert digest_of(small(), "wine") != first
    foreign = "colonnade.methods.vafl"  # no method of the recipe
    monkeypatch.setattr(digest, "_code", lambda name: "changed" if name == foreign else real(name))
    assert digest_of(small(), "wine") == first


def test_comments_and_docstrings_are_no_code():
    plain = "def f(x):\n    return x\n"
    spoken = '"""A module."""\n\n# a comment\ndef f(x):\n    """Say x."""\n\n    return x\n'
    assert code_lines(spoken) == code_lines(plain) != code_lines(plain.replace("return x", "return -x"))


def test_the_digest_covers_the_rooms_that_a_run_passes():
    rooms = {name.split(".")[1] for name in digest._closure({f"{digest.PACKAGE}.{digest.RUN}"})}
    assert {"data", "wire", "nets", "objectives", "parties", "engines", "methods"} <= rooms


def test_how_a_recipe_stands():
    made = recipe("digits-order")
    kept = json.loads((ROOT / RESULTS / "digits-order.json").read_text())
    kept["data"][0]["digest"] = digest_of(made, "digits")
    assert stands(made, kept, []) == "as the code is" and stands(made, None, []) == "no record"
    kept["data"][0]["digest"] = "other"
    assert stands(made, kept, [Mark("digits-order", "x")]) == "other code or settings since: digits; marked stale"
    del kept["data"][0]["digest"]
    assert stands(made, kept, []) == "code not known: digits"
