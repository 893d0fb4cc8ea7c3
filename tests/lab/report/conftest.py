"""Records as real runs write them, made up but plausible: five methods, three label rates, three seeds."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

# method: (score with all labels, what few labels cost it, bytes at 40% aligned, seconds)
METHODS = {
    "fedhssl": (0.955, 0.10, 31_400_000, 41.0),
    "local": (0.80, 0.22, 0, 3.1),
    "one_shot": (0.925, 0.12, 1_900_000, 12.5),
    "splitnn": (0.945, 0.30, 48_800_000, 9.4),
    "ssvfl": (0.935, 0.17, 7_200_000, 17.8),
}
KINDS = {"representation": 0.55, "gradient": 0.38, "model": 0.05, "control": 0.02}


def fake_history(method: str, score: float, total: int, rng: random.Random) -> list[dict[str, Any]]:
    phases = {"pretrain": 8, "train": 15} if method in ("fedhssl", "ssvfl", "one_shot") else {"train": 20}
    epochs = [(phase, epoch) for phase, length in phases.items() for epoch in range(1, length + 1)]
    history = []
    for step, (phase, epoch) in enumerate(epochs, 1):
        sent = total if method == "one_shot" else round(total * step / len(epochs))
        entry = {"phase": phase, "epoch": epoch, "loss": 2.3 * math.exp(-epoch / 5) + rng.random() * 0.1, "bytes": sent}
        if phase == "train":
            entry["validation"] = score * (1 - 0.6 * math.exp(-epoch / 3)) + rng.gauss(0, 0.006)
        history.append(entry)
    return history


def fake_map(rng: random.Random, classes: int = 10, rows: int = 400) -> dict[str, Any]:
    labels = [rng.randrange(classes) for _ in range(rows)]
    centre = [
        (math.cos(2 * math.pi * c / classes) * 6, math.sin(2 * math.pi * c / classes) * 6) for c in range(classes)
    ]
    points = [[centre[c][0] + rng.gauss(0, 1), centre[c][1] + rng.gauss(0, 1)] for c in labels]
    return {"points": points, "labels": [f"digit {c}" for c in labels]}


def make_record(
    method: str = "splitnn", labels: float | None = 0.05, aligned: float = 0.4, seed: int = 0
) -> dict[str, Any]:
    rng = random.Random(f"{method} {labels} {aligned} {seed}")
    full, few, total, seconds = METHODS.get(method, (0.9, 0.1, 10_000_000, 10.0))
    score = full - few * -math.log10(labels or 1) / 2 - 0.1 * (1 - aligned) + rng.gauss(0, 0.012)
    total = round(total * aligned / 0.4)
    shares = {kind: {"bytes": round(total * share), "messages": 100} for kind, share in KINDS.items()} if total else {}
    return {
        "method": method,
        "data": "mfeat",
        "task": "multiclass",
        "metric": "accuracy",
        "score": score,
        "scores": {"accuracy": score, "f1": score - 0.01},
        "traffic": {
            "bytes": total,
            "messages": 400 if total else 0,
            "rounds": 200 if total else 0,
            "by_phase": {"train": {"bytes": total, "messages": 400, "rounds": 200}} if total else {},
            "by_kind": shares,
            "by_direction": {
                "up": {"bytes": round(total * 0.6), "messages": 200},
                "down": {"bytes": round(total * 0.4)},
            },
        },
        "seconds": seconds * rng.uniform(0.9, 1.1),
        "seed": seed,
        "config": {"labels": labels, "aligned": aligned, "seed": seed, "parties": ["fou", "kar", "pix"], "epochs": 20},
        "versions": {"colonnade": "0.1.0", "torch": "2.13.0", "python": "3.11.9"},
        "history": fake_history(method, score, total, rng),
        "map": fake_map(rng) if seed == 0 else None,
    }


def write_run(folder: Path, record: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "record.json").write_text(json.dumps(record))
    return folder


def write_comparison(folder: Path, records: list[dict[str, Any]]) -> Path:
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    for i, record in enumerate(records):
        (folder / "cells" / f"{i:03d}.json").write_text(json.dumps(record))
    return folder


def comparison_records(aligned: tuple[float, ...] = (0.4,)) -> list[dict[str, Any]]:
    return [
        make_record(method, labels, part, seed)
        for method in METHODS
        for labels in (0.01, 0.05, 0.2)
        for part in aligned
        for seed in range(3)
    ]


@pytest.fixture
def comparison(tmp_path: Path) -> Path:
    return write_comparison(tmp_path / "comparison", comparison_records())
