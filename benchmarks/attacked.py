"""Membership inference against an over-fitted model and the same with ε = 4; reconstruction with noise and without.

`python -m benchmarks.attacked` writes `results/privacy-attacks.json` and prints the tables of `privacy-attacks.md`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import colonnade as cn
from colonnade.data.datasets import dataset
from colonnade.lab.attacks import Run, judge
from colonnade.methods._base.parts.privacy import privacy_of

SEEDS = range(3)
#: the same networks and updates with and without noise; many epochs on few rows
SAME: dict[str, Any] = {
    "epochs": 150, "pretrain_epochs": 20, "hidden": (64,), "head_hidden": (128,), "width": 8, "batch_size": 32,
    "pretrain_batch_size": 32, "assignment": "fixed", "patience": 1000, "optimizer": "plain-sgd", "learning_rate": 0.3,
    "pretrain_optimizer": "plain-sgd", "pretrain_learning_rate": 0.3,
}  # fmt: skip
LABELS = {"credit_default": 400, "adult": 400}
NOISES = ("", "noise:representation:0.5", "noise:representation:2", "gaussian:representation:1:1")


def main() -> None:
    runs = []
    for run in chain(reconstruction(), membership()):
        runs.append(run)
        Path("results/privacy-attacks.json").write_text(json.dumps({"runs": runs}, indent=0))
    for key in dict.fromkeys((r["data"], r["attack"], r["setting"]) for r in runs):
        same = [r for r in runs if (r["data"], r["attack"], r["setting"]) == key]
        print(*key, *(f"{name} {mean(same, name)}" for name in ("main", "score", "advantage")), sep=" | ")


def mean(runs: list[dict[str, Any]], name: str) -> str:
    values = [r[name] for r in runs]
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def membership() -> Iterator[dict[str, Any]]:
    for data, labels in LABELS.items():
        for seed in SEEDS:
            parts = dataset(data)(labels=labels, seed=seed)
            epsilons: tuple[float | None, ...] = (None, 4.0)
            for epsilon in epsilons:
                model = cn.FedOnceL1(**SAME, epsilon=epsilon, seed=seed).fit(parts.train)
                privacy = privacy_of(model)
                setting = "no noise" if privacy is None else f"epsilon {privacy['spent']:.3f}"
                yield from attacked(model, parts, data, setting, "membership", seed)


def reconstruction() -> Iterator[dict[str, Any]]:
    for data in ("mfeat", "phishing"):
        for seed in SEEDS:
            parts = dataset(data)(seed=seed)
            for protect in NOISES:
                model = cn.FedOnce(protect=protect or (), seed=seed, pretrain_epochs=15, epochs=60).fit(parts.train)
                yield from attacked(model, parts, data, protect or "no noise", "reconstruction", seed)


def attacked(
    model: cn.Method, parts: cn.Split, data: str, setting: str, attack: str, seed: int
) -> list[dict[str, Any]]:
    found = judge(Run.of(model, parts), attacks=[attack]).findings
    main_score = model.score(parts.test.views, parts.test.labels)
    return [
        {"data": data, "setting": setting, "attack": attack, **f.to_json(), "seed": seed, "main": main_score}
        for f in found
    ]


if __name__ == "__main__":
    main()
