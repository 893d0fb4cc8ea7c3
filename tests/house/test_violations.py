"""Deliberate violations: each is caught, and named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.gates.checks import CHECKS
from benchmarks.gates.tree import Tree

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package in a folder of its own."""
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "colonnade", tmp_path / "colonnade", ignore=without)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(file: str, text: str) -> Callable[[Path], None]:
    """Add lines to a file of the copy."""

    def change(root: Path) -> None:
        path = root / "colonnade" / file
        before = path.read_text(encoding="utf-8") if path.exists() else '"""New."""\n'
        path.write_text(before + text, encoding="utf-8")

    return change


def third_level(root: Path) -> None:
    """A class with a function between `Method` and a method."""
    path = root / "colonnade" / "methods" / "vafl.py"
    between = "class Between(Method):\n    def between(self) -> None:\n        '''Between.'''\n\n\n@dataclass"
    text = path.read_text(encoding="utf-8").replace("@dataclass", between, 1)
    head, found, tail = text.partition("class VAFL(")
    assert found and "Method):" in tail
    path.write_text(head + found + tail.replace("Method):", "Between):", 1), encoding="utf-8")


def large_file(root: Path) -> None:
    (root / "colonnade" / "lab" / "advisor" / "large.json").write_bytes(b" " * 600_000)


COMPARISON = """

def asks(name: str) -> bool:
    return name == "fit_linear"
"""
WHICH_ENGINE = """

def asks(engine: object) -> bool:
    return isinstance(engine, InProcess)
"""
LATE_IMPORT = """

def late() -> object:
    from colonnade.data import splits

    return splits
"""
SKILL = """

from colonnade.parties.skills.skill import Skill


class Stray(Skill):
    pass
"""
PRIVATE = """

def peeks(wire: object) -> object:
    return wire._groups
"""

VIOLATIONS: list[tuple[str, Callable[[Path], None], str]] = [
    ("loose", add("corner.py", ""), "colonnade/corner.py lies loose at the top level"),
    ("compared", add("engines/absent.py", COMPARISON), "compares with the name 'fit_linear'"),
    ("deep", third_level, "VAFL stands on 3 classes with behaviour: VAFL, Between, Method"),
    ("large", large_file, "large.json has 600 kB"),
    ("engine-asked", add("methods/local.py", WHICH_ENGINE), "the engine InProcess"),
    ("late-imports", add("seeds.py", LATE_IMPORT), "imports colonnade.data inside a function"),
    ("stray-skills", add("engines/absent.py", SKILL), "the skill Stray lies outside"),
    ("private-read", add("lab/run/cell.py", PRIVATE), "wire._groups"),
]


@pytest.mark.parametrize(("rule", "change", "said"), VIOLATIONS, ids=[rule for rule, _, _ in VIOLATIONS])
def test_a_violation_is_caught_by_name(copy: Path, rule: str, change: Callable[[Path], None], said: str) -> None:
    change(copy)
    assert any(said in place for place in CHECKS[rule](Tree(copy)))


def test_the_command_ends_with_1_and_says_which_rule(copy: Path) -> None:
    large_file(copy)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gates", str(copy)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "large: colonnade/lab/advisor/large.json" in done.stdout


BROKEN = [
    (
        add("wire/meter.py", "\nfrom colonnade.parties import party\n"),
        "wire.meter -> colonnade.parties.party",
    ),
    (add("errors.py", "\n\ndef late() -> object:\n    from colonnade import seeds\n\n    return seeds\n"), "seeds"),
    (add("corner.py", ""), "corner"),
]


def test_the_contract_of_imports_names_each_violation(copy: Path) -> None:
    """The wire that imports a party, a circle by an import inside a function, a module that no layer has."""
    for change, _ in BROKEN:
        change(copy)
    add("seeds.py", "\nfrom colonnade import errors as _errors\n")(copy)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=copy, env={"PYTHONPATH": str(copy)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    for _, said in BROKEN:
        assert said in done.stdout
    assert "The wire knows nothing of learning BROKEN" in done.stdout
    assert "Nothing imports in a circle, within a room either BROKEN" in done.stdout
