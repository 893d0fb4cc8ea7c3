"""SecureBoost on whole data sets: equal to one place, level with other boosting libraries, and what encryption costs.

COLONNADE_DATA=… python -m benchmarks.secureboost [--data phishing superconduct] [--trees 100] [--encrypted 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch

import colonnade as cn
from colonnade.data.metrics import score
from colonnade.data.splits import Split
from colonnade.methods.references.combined import EVERYONE, merge, merge_data

PARTIES, DEPTH, BINS, RATE, PENALTY = 4, 5, 32, 0.1, 1.0


def outputs(model: cn.Method, views: Any) -> np.ndarray:
    return model.predict(views) if model.task_ == "regression" else model.predict_proba(views)


def fit(parts: Split, *, together: bool = False, **options: Any) -> tuple[cn.SecureBoost, float]:
    """A model on the training rows of all parties, or on one table with all columns; and its CPU seconds."""
    model = cn.SecureBoost(depth=DEPTH, bins=BINS, learning_rate=RATE, penalty=PENALTY, **options)
    started = time.process_time()
    model.fit(merge_data(parts.train) if together else parts.train)
    return model, time.process_time() - started


def joined(data: cn.VerticalData) -> tuple[np.ndarray, np.ndarray]:
    view = merge(data.views, data.aligned)
    return np.concatenate([view.x, view.codes], axis=1), data.labels.of(view.ids)[0]


def others(parts: Split, trees: int, metric: str) -> dict[str, float]:
    """Boosting libraries with the same settings on one table; numbers only."""
    import lightgbm
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    (x, y), (new, truth) = joined(parts.train), joined(parts.test)
    regression = parts.train.task == "regression"
    own = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    sk = own(max_iter=trees, max_depth=DEPTH, max_leaf_nodes=None, max_bins=BINS, learning_rate=RATE,
             l2_regularization=PENALTY, min_samples_leaf=1, early_stopping=False)  # fmt: skip
    make = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    lgb = make(n_estimators=trees, max_depth=DEPTH, num_leaves=2**DEPTH, max_bin=BINS, learning_rate=RATE,
               reg_lambda=PENALTY, min_child_weight=1.0, min_child_samples=1, verbosity=-1, n_jobs=1)  # fmt: skip
    found = {}
    for name, model in (("scikit-learn", sk), ("LightGBM", lgb)):
        model.fit(x, y)
        out = model.predict(new) if regression else model.predict_proba(new)
        classes: np.ndarray = np.zeros(0) if regression else np.unique(y)
        found[name] = score(metric, truth, np.asarray(out), classes)
    return found


def report(name: str, trees: int, encrypted: int) -> None:
    parts = cn.DATASETS[name](seed=0, parties=PARTIES)
    metric = cn.DATASETS[name].metric
    test = parts.test
    one_place = {EVERYONE: merge(test.views, next(iter(test.views.values())).ids)}
    plain, seconds = fit(parts, trees=trees, encrypt=False)
    alone, _ = fit(parts, together=True, trees=trees)
    gap = np.abs(outputs(plain, test.views) - outputs(alone, one_place)).max()
    print(f"\n## {name}: {len(parts.train.labels)} training rows, {PARTIES} parties, {trees} trees\n")
    print(f"largest difference to one place, in the clear, {len(test.labels)} test rows: {gap:g}")
    print(f"{metric}: secureboost {plain.score(test.views, test.labels, metric=metric):.4f}", end="")
    print("".join(f", {other} {value:.4f}" for other, value in others(parts, trees, metric).items()))
    print(f"in the clear: {seconds / trees:.3f} CPU s and {plain.traffic_.bytes / trees:,.0f} bytes per tree")
    if not encrypted:
        return
    few, _ = fit(parts, together=True, trees=encrypted)
    secret, seconds = fit(parts, trees=encrypted)
    gap = np.abs(outputs(secret, test.views) - outputs(few, one_place)).max()
    print(f"encrypted, {secret.key_bits} bits, {encrypted} trees: {seconds / encrypted:.1f} CPU s and ", end="")
    print(f"{secret.traffic_.bytes / encrypted:,.0f} bytes per tree; largest difference to one place: {gap:g}")


def primitives(bits: int, count: int = 300) -> None:
    """CPU time of what encryption is made of; plain r^n mod n² beside the factors that `Keys` draws."""
    import gmpy2

    from colonnade.methods.secureboost.trees.packing import Packing
    from colonnade.methods.secureboost.trees.paillier import Keys, as_bytes, as_numbers, join

    keys, packing = Keys(bits), Packing(bits, 10_000, 1, 1)
    n = keys.scheme.public_key.n
    square = n**2
    values = np.arange(count, dtype=object)[:, None]
    numbers = as_numbers(keys.encrypt(values))
    parts = [numbers[k : k + packing.packs] for k in range(0, count, packing.packs)]
    joined_up = as_bytes([join(part, packing.shift, square) for part in parts], packing.size)
    found = {
        "encrypt a row": seconds_of(lambda: keys.encrypt(values)) / count,
        "plain r^n mod n²": seconds_of(lambda: [gmpy2.powmod(r, n, square) for r in numbers[:30]]) / 30,
        "add a row": seconds_of(lambda: [a * b % square for a, b in pairwise(numbers)]) / count,
        "shift a sum": seconds_of(lambda: [join(part, packing.shift, square) for part in parts]) / count,
        "decrypt, by sum": seconds_of(lambda: keys.decrypt(joined_up)) / count,
    }
    print(f"\n{bits} bits: " + ", ".join(f"{name} {1e3 * value:.4f} ms" for name, value in found.items()))


def seconds_of(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["phishing", "superconduct"])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--encrypted", type=int, default=3, help="trees under encryption; 0 for none")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for bits in (1024, 2048):
        primitives(bits)
    for name in asked.data:
        report(name, asked.trees, asked.encrypted)


if __name__ == "__main__":
    main()
