"""Boosted trees over one table, row by row and in floating point: what the federation has to equal.

Written from XGBoost's formulas. Of `colonnade.methods.secureboost.trees` it uses the slots that rows are in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

TIE = 1e-7  # of two gains that differ by less, the first column and the lowest threshold win


@dataclass
class Settings:
    categorical: list[bool]
    trees: int
    depth: int
    learning_rate: float
    penalty: float
    gamma: float
    min_weight: float


@dataclass
class Leaf:
    weight: float


@dataclass
class Fork:
    column: int
    left_slots: set[int]
    known_slots: set[int]  # that rows of training were in
    heavier_left: bool
    left: object = None
    right: object = None
    is_category: bool = field(default=False)

    def goes_left(self, slot: int) -> bool:
        if slot not in self.known_slots and (self.is_category or slot == 0):
            return self.heavier_left
        return slot in self.left_slots


def boost(slots: np.ndarray, y: np.ndarray, task: str, s: Settings, new: np.ndarray) -> np.ndarray:
    """Scores of new rows, (N, C)."""
    classes = 1 if task != "multiclass" else int(y.max()) + 1
    if task == "regression":
        first = [float(np.mean(y))]
    else:
        counts = [int((y == c).sum()) + 1 for c in range(max(2, classes))]
        share = [math.log(k / sum(counts)) for k in counts]
        first = [share[1] - share[0]] if task == "binary" else share
    scores = np.array([first] * len(y))
    out = np.array([first] * len(new))
    for _ in range(s.trees):
        g, h = zip(*(row_derivatives(task, scores[i], y[i]) for i in range(len(y))), strict=True)
        for c in range(classes):
            tree = grow(slots, [r[c] for r in g], [r[c] for r in h], list(range(len(y))), s.depth, s)
            scores[:, c] += [weight_of(tree, row) for row in slots]
            out[:, c] += [weight_of(tree, row) for row in new]
    return out


def row_derivatives(task: str, score: np.ndarray, y: float) -> tuple[list[float], list[float]]:
    if task == "regression":
        return [score[0] - y], [1.0]
    if task == "binary":
        p = 1 / (1 + math.exp(-score[0]))
        return [p - y], [p * (1 - p)]
    e = [math.exp(v - max(score)) for v in score]
    p = [v / sum(e) for v in e]
    return [p[c] - (y == c) for c in range(len(p))], [v * (1 - v) for v in p]


def weight_of(node: object, row: np.ndarray) -> float:
    while isinstance(node, Fork):
        node = node.left if node.goes_left(int(row[node.column])) else node.right
    return node.weight


def grow(slots: np.ndarray, g: list, h: list, rows: list[int], depth: int, s: Settings) -> object:
    fork = best_fork(slots, g, h, rows, s) if depth else None
    if fork is None:
        return Leaf(-s.learning_rate * math.fsum(g[i] for i in rows) / (math.fsum(h[i] for i in rows) + s.penalty))
    sides = [i for i in rows if fork.goes_left(int(slots[i, fork.column]))]
    fork.left = grow(slots, g, h, sides, depth - 1, s)
    fork.right = grow(slots, g, h, [i for i in rows if i not in set(sides)], depth - 1, s)
    return fork


def best_fork(slots: np.ndarray, g: list, h: list, rows: list[int], s: Settings) -> Fork | None:
    best, found = 1e-9, None
    order = sorted(range(slots.shape[1]), key=lambda k: s.categorical[k])
    for k in order:
        there = sorted({int(slots[i, k]) for i in rows})
        members = {v: [i for i in rows if slots[i, k] == v] for v in there}
        sums = {v: (math.fsum(g[i] for i in at), math.fsum(h[i] for i in at)) for v, at in members.items()}
        for chosen in candidates(sums, s.categorical[k], s):
            gain, left_heavier = gain_of(sums, chosen, s)
            if gain > best + TIE * max(1.0, abs(best)) or (found is None and gain > best):
                best = gain
                found = Fork(k, chosen, set(there), left_heavier, is_category=s.categorical[k])
                if not s.categorical[k]:
                    found.left_slots = chosen | set(range(1, max(chosen - {0}) + 1)) if chosen - {0} else chosen
    return found


def candidates(sums: dict, is_category: bool, s: Settings) -> list[set[int]]:
    """Sets of slots that may go left, in the order in which ties fall."""
    if is_category:
        ranked = sorted(sums, key=lambda v: (sums[v][0] / (sums[v][1] + s.penalty), v))
        return [set(ranked[:i]) for i in range(1, len(ranked))]
    bins = [v for v in sums if v != 0]
    below = [set(bins[:i]) for i in range(1, len(bins) + 1)]
    return below + ([chosen | {0} for chosen in below] if 0 in sums else [])


def gain_of(sums: dict, left: set[int], s: Settings) -> tuple[float, bool]:
    g = [math.fsum(sums[v][0] for v in sums if (v in left) == side) for side in (True, False)]
    h = [math.fsum(sums[v][1] for v in sums if (v in left) == side) for side in (True, False)]
    if min(h) < s.min_weight or set(sums) == left:
        return -math.inf, False
    parts = [g[i] ** 2 / (h[i] + s.penalty) for i in range(2)]
    return 0.5 * (sum(parts) - sum(g) ** 2 / (sum(h) + s.penalty)) - s.gamma, h[0] >= h[1]
