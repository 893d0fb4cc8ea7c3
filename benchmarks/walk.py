"""How far it is from `fit` to what a passive party computes: frames and files, and the calls of a step.

`python -m benchmarks.walk [COMMIT]`: SplitNN on digits, an active party and three passive ones, now and at a commit.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.commits import BEFORE, ROOT, checked_out, run_on

FRAMES, FILES = 9, 5  # at most, in a training step


def show(title: str, found: dict[str, Any]) -> None:
    print(f"\n{title}: {found['calls']:.0f} calls into {found['functions']} functions of {found['files']} files a step")
    for operation, way in found["ways"].items():
        files = dict.fromkeys(place.partition(":")[0] for place in way)
        print(f"  fit to {operation}: {len(way)} frames in {len(files)} files")
        for place in way:
            print(f"    {place}")


def main(commit: str = BEFORE) -> None:
    now = run_on(ROOT, "walk")
    show("now", now)
    with checked_out(commit) as tree:
        show(commit, run_on(tree, "walk"))
    way = now["ways"]["forward"]
    files = {place.partition(":")[0] for place in way}
    kept = len(way) <= FRAMES and len(files) <= FILES
    print(f"\nat most {FRAMES} frames in {FILES} files in a training step: {'kept' if kept else 'BROKEN'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
