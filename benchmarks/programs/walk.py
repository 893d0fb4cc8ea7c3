"""Print as JSON the way from `fit` to what a passive party computes, and the calls of one training step."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np
from sklearn.datasets import load_digits

import colonnade as cn

PACKAGE = str(Path(cn.__file__).parent)
STEPS = 8  # of an epoch; the first ones make what later ones find


def digits() -> cn.VerticalData:
    """Images of digits, cut among an active party and three passive ones; constant pixels are left out."""
    images, labels = load_digits(return_X_y=True)
    squares = images.reshape(-1, 8, 8).astype(np.float32)
    views = {}
    for k in range(4):
        part = squares[:, 4 * (k // 2) : 4 * (k // 2) + 4, 4 * (k % 2) : 4 * (k % 2) + 4].reshape(len(squares), -1)
        views[f"p{k}"] = part[:, part.std(axis=0) > 0.05]
    return cn.VerticalData(views, labels)


def ours(frame: FrameType | None) -> list[FrameType]:
    """The frames of the package, from a frame upwards to `fit`."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            found.append(frame)
            if frame.f_code.co_name == "fit":
                return found[::-1]
        frame = frame.f_back
    return []


def file_of(frame: FrameType) -> str:
    """The file of a frame, from the package's folder."""
    return frame.f_code.co_filename.removeprefix(PACKAGE).lstrip("/")


class Watch:
    """Sees every call of a function of the package during training."""

    def __init__(self) -> None:
        self.ways: dict[str, list[str]] = {}
        self.steps: list[Counter[tuple[str, str]]] = []  # calls of each

    def __call__(self, frame: FrameType, event: str, given: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        file = file_of(frame)
        if code.co_name == "step" and file.endswith("methods/splitnn.py"):
            self.steps.append(Counter())
        if self.steps:
            self.steps[-1][file, code.co_name] += 1
        at_party = "passive" in file or "skills" in file
        if at_party and code.co_name in ("forward", "represent"):
            way = [f"{file_of(one)}: {one.f_code.co_name}" for one in ours(frame)]
            if len(way) > len(self.ways.get(code.co_name, [])):  # the longest one counts
                self.ways[code.co_name] = way


def main() -> None:
    parts = cn.split(digits(), seed=0)
    method = cn.SplitNN(epochs=2, batch_size=-(-len(parts.train.labels) // STEPS))
    watch = Watch()
    sys.setprofile(watch)
    method.fit(parts.train, parts.valid)
    sys.setprofile(None)
    counting = Watch()  # without validation, so that a step's calls are its own
    second = cn.SplitNN(epochs=1, batch_size=-(-len(parts.train.labels) // STEPS))

    def stop(phase: str, done: int, total: int) -> None:
        sys.setprofile(None)

    sys.setprofile(counting)
    second.fit(parts.train, progress=stop)
    middle = sorted(counting.steps[1:-1], key=lambda calls: calls.total())[(STEPS - 2) // 2]
    print(json.dumps({
        "ways": watch.ways,
        "calls": middle.total(),
        "functions": len(middle),
        "files": len({file for file, _ in middle}),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
