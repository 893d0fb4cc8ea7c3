"""`python -m benchmarks.golden --against COMMIT`: this tree and another commit, all cases, bit by bit.

The commit is checked out beside the tree. Each tree runs in processes of its own, with these cases and with its own
package; then each loads what both saved. Any difference, and any case that fails, ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .compare import Difference, compare, report

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Tree:
    """One of the two trees.

    Args:
        name: "here" or "there".
        path: where it is checked out.
        work: folder for what its cases leave.
        cases: folder from which the package `golden` is imported; the same for both trees.
    """

    name: str
    path: Path
    work: Path
    cases: Path

    def start(self, out: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """One worker in this tree."""
        environment = {
            **os.environ, **THREADS, "PYTHONPATH": f"{self.path}{os.pathsep}{self.cases}", "PYTHONHASHSEED": "0",
            "COLUMNS": "160",
        }  # fmt: skip
        environment.pop("COLONNADE_DATA", None)
        command = [sys.executable, "-m", "golden.worker", "--tree", str(self.path), "--out", str(out), *arguments]
        return subprocess.Popen(command, cwd=self.work, env=environment)

    def run(self, workers: int, only: str) -> tuple[dict[str, Any], float]:
        """All cases; what each gave, and CPU seconds."""
        outs = [self.work / f"share{i}.json" for i in range(workers)]
        shares = [["--share", str(i), str(workers), "--only", only, "--save", str(self.saved)] for i in range(workers)]
        return gather([(self.start(out, *share), out) for out, share in zip(outs, shares, strict=True)])

    def load(self, trees: Sequence[Tree], only: str) -> tuple[subprocess.Popen[bytes], Path]:
        """A worker that reads what the trees saved."""
        out = self.work / "loaded.json"
        folders = [text for tree in trees for text in ("--load", tree.name, str(tree.saved))]
        return self.start(out, "--only", only, *folders), out

    @property
    def saved(self) -> Path:
        """Where its cases leave their files."""
        return self.work / "saved"


def gather(started: list[tuple[subprocess.Popen[bytes], Path]]) -> tuple[dict[str, Any], float]:
    """Wait for workers; what they found together, and their CPU seconds."""
    try:
        codes = [process.wait() for process, _ in started]
    finally:
        for process, _ in started:  # those that still run when this is interrupted
            process.kill()
    if any(codes):
        sys.exit(f"golden: a worker ended with {max(codes, key=abs)}. Its error is above.")
    found = [json.loads(out.read_text()) for _, out in started]
    return {k: v for part in found for k, v in part["cases"].items()}, sum(part["cpu"] for part in found)


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """The commit in a worktree of its own, which is removed afterwards."""
    git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", wrong=f"there is no commit {commit!r}.")
    git("worktree", "add", "--quiet", "--detach", str(folder), commit, wrong="the commit could not be checked out.")
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder), wrong=f"{folder} is left: `git worktree remove` it.")


def git(*arguments: str, wrong: str) -> None:
    """Run git in this tree, or end with what is wrong."""
    done = subprocess.run(["git", "-C", str(TREE), *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"golden: {wrong} {done.stderr.strip()}")


def both(there: Tree, here: Tree, workers: int, only: str) -> tuple[list[Difference], list[str]]:
    """What differs, and what was run."""
    started = time.perf_counter()
    (old, old_cpu), (new, new_cpu) = (tree.run(workers, only) for tree in (there, here))
    loading = [tree.load((there, here), only) for tree in (there, here)]
    (old_loaded, old_load), (new_loaded, new_load) = (gather([one]) for one in loading)
    differences = compare(old, new) + compare(old_loaded, new_loaded)
    seconds = f"{old_cpu + old_load:.0f} CPU seconds there, {new_cpu + new_load:.0f} here"
    lines = [
        f"{len(new)} cases, {len(new_loaded)} loads: {seconds}, {time.perf_counter() - started:.0f} seconds in all."
    ]
    return differences, lines


def main(arguments: list[str] | None = None) -> None:
    """Compare, print, and end with 1 when something differs."""
    parser = argparse.ArgumentParser(prog="golden", description="Compare this tree with another commit, bit by bit.")
    parser.add_argument("--against", required=True, metavar="COMMIT", help="the commit that this tree is held against")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name holds this text")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name).resolve()
        cases = folder / "import"
        shutil.copytree(HERE, cases / "golden", ignore=shutil.ignore_patterns("__pycache__"))  # as they are now
        with checked_out(asked.against, folder / "tree") as path:
            there, here = (Tree(n, p, folder / n, cases) for n, p in (("there", path), ("here", TREE)))
            for tree in (there, here):
                tree.work.mkdir()
            differences, lines = both(there, here, asked.workers, asked.only)
    print(*report(differences), *lines, sep="\n")
    if differences:
        sys.exit(f"{len({d.case for d in differences})} cases differ from {asked.against}.")
    print(f"All equal to {asked.against}.")


if __name__ == "__main__":
    main()
