"""What a run costs now ÷ what it cost at an earlier commit, in interleaved pairs of processes.

`python -m benchmarks.pairs [COMMIT [PAIRS [NAME …]]]`. CPU seconds with one thread, as the machine may be shared; MB
for the peak of memory. Worse is where the lower end of the 95 % interval of the median ratio is above 1.02.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.commits import BEFORE, ROOT, checked_out, run_on
from benchmarks.timing import median_with_interval

PAIRS, WORSE = 15, 1.02
COSTS = {
    "many": "SplitNN, 50 parties",
    "nat": "FedOnce, NAT",
    "fedhssl": "FedHSSL",
    "trees": "SecureBoost in the clear",
    "frames": "a frame between sites",
    "memory": "peak of memory",
}
COMMANDS = {"import": ("-c", "import colonnade"), "help": ("-m", "colonnade", "--help")}


def cost(tree: Path, name: str) -> float:
    """One measurement in a process of its own."""
    if name not in COMMANDS:
        return float(run_on(tree, "cost", name))
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, *COMMANDS[name]], cwd=tree, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} failed on {tree}.")
    return usage.ru_utime + usage.ru_stime


def compare(there: Path, name: str, pairs: int) -> bool:
    """Print the ratio of one cost; whether it is worse."""
    cost(there, name), cost(ROOT, name)  # files into the system's cache
    before, now = [], []
    for k in range(pairs):
        for tree, into in ((there, before), (ROOT, now))[:: 1 if k % 2 else -1]:
            into.append(cost(tree, name))
    found = median_with_interval([a / b for a, b in zip(now, before, strict=True)])
    middle = [median_with_interval(values).median for values in (before, now)]
    title = COSTS.get(name, name)
    print(f"{title:<26} before {middle[0]:9.4g}  now {middle[1]:9.4g}  ratio {found}  {'WORSE' * (found.low > WORSE)}")
    return found.low > WORSE


def main(commit: str = BEFORE, pairs: str = str(PAIRS), *names: str) -> None:
    with checked_out(commit) as there:
        worse = [name for name in names or (*COSTS, *COMMANDS) if compare(there, name, int(pairs))]
    if worse:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
