"""An earlier commit beside this tree, and programs that run on either: each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "6d8c931"  # the last commit before rooms, skills and one verb


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The files of a commit in a folder of its own, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
        yield Path(folder)


def run_on(tree: Path, program: str, *arguments: str) -> Any:
    """What a program prints as JSON, with the package of a tree and one thread.

    A program is a file of `benchmarks/programs`; it uses public names alone, or tells the two trees apart by itself.
    """
    file = ROOT / "benchmarks" / "programs" / f"{program}.py"
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(file), *arguments],
        cwd=tree, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{program} failed on {tree}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
