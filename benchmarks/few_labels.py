"""Few labels on bundled data: the active party alone, federated, and with all columns in one place.

`python -m benchmarks.few_labels` runs the comparisons and writes `results/few-labels.json` (about two minutes on two
cores). `python -m benchmarks.headline` makes `few-labels.md` from it.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.results import FEW_LABELS
from colonnade.lab.reproduce.reproduce import commit_of, hardware
from colonnade.lab.run.cell import versions

METHODS = "local,ss-vfl-i,splitnn,ssvfl,combined"
LABELS = {"digits": "30,100,300", "breast_cancer": "30"}


def main() -> None:
    runs = [run for data, labels in LABELS.items() for run in compared(data, labels)]
    content = {
        "commands": [" ".join(["colonnade", *arguments(data, labels)]) for data, labels in LABELS.items()],
        "commit": commit_of(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "hardware": hardware(),
        "versions": versions(),
        "runs": runs,
    }
    FEW_LABELS.write_text(json.dumps(content, indent=1) + "\n")


def arguments(data: str, labels: str) -> list[str]:
    return ["compare", "--data", data, "--methods", METHODS, "--labels", labels, "--seeds", "3"]


def compared(data: str, labels: str) -> list[dict[str, Any]]:
    """One comparison, as a user would run it; what the headline needs of each run."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, "-m", "colonnade", *arguments(data, labels)]
        threads = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, "--out", folder, "--json", str(record)], check=True, env=threads)
        return [kept(run) for run in json.loads(record.read_text())["runs"]]


def kept(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": run["data"],
        "method": run["method"],
        "labels": run["config"]["labels"],
        "seed": run["seed"],
        "metric": run["metric"],
        "score": round(run["score"], 5),
        "bytes": run["traffic"]["bytes"],
        "seconds": round(run["seconds"], 2),
    }


if __name__ == "__main__":
    main()
