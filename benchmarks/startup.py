"""`colonnade --help` must answer at once: torch is not imported."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.timing import seconds


def main() -> None:
    command = [sys.executable, "-m", "colonnade", "--help"]
    times = [seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(7)]
    print(f"colonnade --help: {statistics.median(times):.2f} s (goal: below 0.5 s)")


if __name__ == "__main__":
    main()
