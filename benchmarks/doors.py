"""What must be opened to read a method, and how large each room is.

`python -m benchmarks.doors [COMMIT]`: for each method the classes with behaviour, and the files of its classes and
skills; statements by room (docstrings left out), now and at a commit. A group of fields is no class with behaviour.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.commits import BEFORE, ROOT, checked_out, run_on

DEEPEST = 2  # classes with behaviour
FILES = {"splitnn": 4, "fedhssl*": 6, "fedgssl*": 6}  # at most


def statements(tree: Path) -> Counter[str]:
    """Statements of each room; a file at the top level is a room of its own name."""
    found: Counter[str] = Counter()
    for path in sorted((tree / "colonnade").rglob("*.py")):
        inside = path.relative_to(tree / "colonnade")
        room = inside.parts[0] + "/" if len(inside.parts) > 1 else "(top level)"
        found[room] += count(ast.parse(path.read_text(encoding="utf-8")))
    return found


def count(tree: ast.Module) -> int:
    """Statements, without docstrings."""
    every = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sum(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in every)


def show_methods(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """One line for each method; what breaks a bar."""
    broken = []
    print(f"{'method':<16} {'classes':<28} before  files")
    for name, found in now.items():
        old = len(before[name]["classes"]) if name in before else "-"
        print(
            f"{name:<16} {' '.join(found['classes']):<28} {old:>6}  {len(found['files'])}: {' '.join(found['files'])}"
        )
        if len(found["classes"]) > DEEPEST:
            broken.append(f"{name} stands on {len(found['classes'])} classes with behaviour, above {DEEPEST}.")
        if len(found["files"]) > FILES.get(name, 99):
            broken.append(f"{name} is in {len(found['files'])} files, above {FILES[name]}.")
    return broken


def show_rooms(now: Counter[str], before: Counter[str]) -> None:
    print(f"\n{'room':<16} {'before':>8} {'now':>8}  statements")
    for room in sorted({*now, *before}):
        print(f"{room:<16} {before[room]:>8,} {now[room]:>8,}")
    print(f"{'all':<16} {before.total():>8,} {now.total():>8,}")


def main(commit: str = BEFORE) -> None:
    with checked_out(commit) as tree:
        broken = show_methods(run_on(ROOT, "doors"), run_on(tree, "doors"))
        show_rooms(statements(ROOT), statements(tree))
    print("\n" + ("\n".join(broken) or "every bar is kept"))
    if broken:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
