"""Help of options: words that say something, and the same from an install without sources."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from colonnade.methods._base.options.text import describe_options
from colonnade.methods.registry import METHODS

PACKAGE = Path(__file__).resolve().parents[2] / "colonnade"
PROGRAM = """
import json
from colonnade.methods import registry
from colonnade.methods._base.options.text import describe_options
told = {name: [[o.name, o.default, o.meaning] for o in describe_options(m)] for name, m in registry.METHODS.items()}
print(json.dumps([registry.__file__, told]))
"""


@pytest.fixture(scope="module")
def without_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a zip of compiled files alone."""
    folder = tmp_path_factory.mktemp("compiled")
    shutil.copytree(PACKAGE, folder / "colonnade", ignore=shutil.ignore_patterns("__pycache__", "recipes", "*.json"))
    assert compileall.compile_dir(folder / "colonnade", quiet=2, legacy=True)
    archive = folder / "colonnade.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (folder / "colonnade").rglob("*.pyc"):
            packed.write(path, path.relative_to(folder))
    return archive


def test_help_is_the_same_without_sources(without_sources: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(without_sources)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    file, told = json.loads(done.stdout)
    assert file.endswith(".pyc") and str(without_sources) in file
    here = {name: [[o.name, o.default, o.meaning] for o in describe_options(m)] for name, m in METHODS.items()}
    assert told == here


@pytest.mark.parametrize("name", METHODS)
def test_help_says_more_than_the_name(name: str) -> None:
    for option in describe_options(METHODS[name]):
        words = re.findall(r"[A-Za-z]{2,}", option.meaning)
        assert len(words) >= 3, f"{option.name}: {option.meaning!r} is a symbol."
        said = " ".join(words).lower()
        assert said != option.name.replace("_", " "), f"{option.name}: the help repeats the name."
        assert option.meaning[0].isupper() and option.meaning.rstrip().endswith((".", ")")), option.meaning
