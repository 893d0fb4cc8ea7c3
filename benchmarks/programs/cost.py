"""Print as JSON the CPU seconds that something costs, after a first run that warms up; or the peak of memory."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import colonnade as cn


def make(widths: list[int], rows: int, classes: int = 10) -> cn.VerticalData:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    views = {f"p{k}": rng.normal(size=(rows, f)).astype(np.float32) + 0.1 * y[:, None].astype(np.float32)
             for k, f in enumerate(widths)}  # fmt: skip
    return cn.VerticalData(views, y)


def fitting(method: type[cn.Method], widths: list[int], rows: int, classes: int = 10, **options: object) -> float:
    """CPU seconds of the second of two equal trainings."""
    data = make(widths, rows, classes)
    method(**options).fit(data)
    return timed(lambda: method(**options).fit(data))


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def many() -> float:
    return fitting(cn.SplitNN, [20] * 50, 5_000, batch_size=256, epochs=6)


def nat() -> float:
    return fitting(cn.FedOnce, [16, 15, 16, 15], 2_560, pretrain_epochs=12, epochs=2)


def fedhssl() -> float:
    return fitting(cn.FedHSSL, [16, 15, 16, 15], 1_280, pretrain_epochs=6, epochs=4)


def trees() -> float:
    return fitting(cn.SecureBoost, [16, 16, 16], 4_000, 2, trees=12, encrypt=False)


def frames() -> float:
    """CPU seconds of a frame between sites: SplitNN at three sites, without sockets."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from golden import cases, sites

    case = next(c for c in cases.cases() if isinstance(c, cases.Sites) and c.method == "splitnn")
    with tempfile.TemporaryDirectory() as folder:
        sites.train(case, Path(folder, "first"))
        found: dict[str, object] = {}
        spent = timed(lambda: found.update(sites.train(case, Path(folder, "second"))))
    if "error" in found:
        raise SystemExit(str(found["error"]))
    sent = [str(text).split()[0] for key, text in _flat(found) if "frames" in key]
    return spent / sum(int(count) for count in sent)


def _flat(found: object, name: str = "") -> list[tuple[str, object]]:
    if isinstance(found, dict):
        return [pair for key, value in found.items() for pair in _flat(value, f"{name}.{key}")]
    return [(name, found)]


def memory() -> float:
    """Peak of memory in MB, of training on 200 MB of columns."""
    data = make([256, 256], 100_000)
    cn.SplitNN(batch_size=512, epochs=1).fit(data)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(globals()[sys.argv[1]]()))
