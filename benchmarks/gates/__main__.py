"""`python -m benchmarks.gates [ROOT]`: every place that breaks a rule, and exit status 1 where there is one."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.gates.checks import CHECKS
from benchmarks.gates.tree import Tree


def main(arguments: list[str]) -> int:
    tree = Tree(Path(arguments[0]) if arguments else Path(__file__).parents[2])
    found = [f"{rule}: {place}" for rule, check in CHECKS.items() for place in check(tree)]
    print("\n".join(found) or f"{len(CHECKS)} rules of the house kept by {len(tree.modules)} modules.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
