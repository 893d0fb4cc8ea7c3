"""FedOnce-L1 on phishing beside Table 6(c) of Wu et al. 2022: four parties, each once the host, ε of 2 to 8.

`python -m benchmarks.fedonce_l1 FOLDER [JOBS]` keeps each finished run there and writes `privacy-fedonce-l1.json` and
`.md`. Settings are the authors', which differ by ε and division; the other ways have those of moments division:

- `exchanged`: targets exchanged within each sample, the paper's version, for which no ε holds;
- `untrained`: guests leave their encoders as they were drawn, 16 wide, and the host has the whole budget;
- `local`: the host alone.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import joblib

import colonnade as cn
from colonnade.data.datasets import dataset
from colonnade.data.splits import Split
from colonnade.methods._base.parts.privacy import privacy_of

# guest epochs, host epochs, guest rate, host rate, guest layer, batch, host layer, Ω
MOMENTS = {
    2: (10, 10, 0.3, 0.3, 50, 32, 10, 1.0),
    4: (6, 30, 0.2, 0.2, 100, 32, 10, 1.0),
    6: (6, 20, 0.3, 0.3, 30, 32, 10, 1.0),
    8: (10, 30, 0.3, 0.6, 30, 128, 50, 1.5),
}
SIMPLE = {
    **MOMENTS,
    6: (10, 40, 0.3, 0.6, 30, 128, 10, 1.5),
    8: (10, 30, 0.3, 0.6, 30, 128, 10, 1.0),
}
WAYS = ("moments", "simple", "untrained", "exchanged", "local", "pld")
SEEDS, HOSTS = range(3), range(4)


def main(folder: Path, jobs: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cells = [(s, e, w, h) for w, s, e, h in product(WAYS, SEEDS, MOMENTS, HOSTS)]
    runs = joblib.Parallel(jobs)(joblib.delayed(once)(folder, *cell) for cell in cells)
    Path("results/privacy-fedonce-l1.json").write_text(json.dumps({"runs": runs}, indent=0))
    print(table(runs))


def once(folder: Path, seed: int, epsilon: int, way: str, host: int) -> dict[str, Any]:
    """One run, or what is kept of it."""
    kept = folder / f"{way}-{epsilon}-{host}-{seed}.json"
    if kept.exists():
        found: dict[str, Any] = json.loads(kept.read_text())
        return found
    parts = hosted(dataset("phishing")(seed=seed, parties=4), host)
    started = time.perf_counter()
    model = build(way, epsilon, seed).fit(parts.train, parts.valid, metric="accuracy")
    privacy = privacy_of(model)
    assert privacy is not None
    run = {
        "way": way, "epsilon": epsilon, "host": host, "seed": seed,
        "nominal": privacy["nominal"], "covered": privacy["covered"],
        "noise": {row["party"]: row["noise"] for row in privacy["rows"]},
        "score": model.score(parts.test.views, parts.test.labels), "seconds": time.perf_counter() - started,
    }  # fmt: skip
    kept.write_text(json.dumps(run))
    return run


def build(way: str, epsilon: int, seed: int) -> cn.Method:
    guest, epochs, guest_rate, rate, layer, batch, head, clip = (SIMPLE if way == "simple" else MOMENTS)[epsilon]
    shared: dict[str, Any] = {
        "epsilon": float(epsilon), "delta": 1e-5, "clip": clip, "epochs": epochs, "learning_rate": rate,
        "batch_size": batch, "optimizer": "plain-sgd", "weight_decay": 0.0, "patience": 1000, "seed": seed,
    }  # fmt: skip
    if way == "local":
        return cn.Local(**shared, hidden=(head,), width=head)
    division = way if way in ("simple", "pld") else "moments"
    if way == "untrained":
        return cn.FedOnceL1(**shared, pretrain_epochs=0, hidden=(layer,), width=16, head_hidden=(head,))
    assignment = "batch" if way == "exchanged" else "fixed"
    return cn.FedOnceL1(
        **shared, division=division, assignment=assignment, hidden=(layer,), head_hidden=(head,),
        pretrain_epochs=guest, pretrain_learning_rate=guest_rate, pretrain_batch_size=batch,
    )  # fmt: skip


def hosted(parts: Split, host: int) -> Split:
    """The same rows with the labels at another party, whose view comes first."""

    def moved(data: cn.VerticalData) -> cn.VerticalData:
        names = list(data.views)
        active = names[host]
        views = {name: data.views[name] for name in (active, *(n for n in names if n != active))}
        return cn.VerticalData.of(views, data.labels, active, data.task)

    assert parts.valid is not None
    return Split(moved(parts.train), moved(parts.valid), moved(parts.test))


def table(runs: list[dict[str, Any]]) -> str:
    """Range over hosts of the mean over seeds, in percent."""
    lines = ["| | " + " | ".join(f"ε = {e}" for e in MOMENTS) + " |", "|---" * 5 + "|"]
    for way in WAYS:
        cells = []
        for epsilon in MOMENTS:
            means = [
                100 * statistics.mean(
                    r["score"] for r in runs if (r["way"], r["epsilon"], r["host"]) == (way, epsilon, host)
                )
                for host in HOSTS
            ]  # fmt: skip
            cells.append(f"{min(means):.2f} to {max(means):.2f}")
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
