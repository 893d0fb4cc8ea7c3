"""g_i and h_i: the loss's first and second derivative by each row's score, as whole numbers.

Whole numbers, because their sums are the same in any order and under encryption: what the parties add up is exact, and
a federation cannot differ from its columns in one place. One unit is a power of two, chosen anew for each tree so that
the largest derivative takes `BITS` bits; rounding moves a derivative by less than one part in 10⁹ of the largest.

n rows, C outputs: one for two classes and for regression, else one per class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from colonnade.data.labels import Task
from colonnade.methods.secureboost.trees.columns import Whole

Floats = npt.NDArray[np.float64]
BITS = 30
EXACT = 52  # bits up to which a float64 adds whole numbers without rounding


def first_scores(task: Task, y: Floats, outputs: int) -> Floats:
    """What is predicted before the first tree, (C,): the classes' frequencies as logits, or the mean."""
    if task == "regression":
        return np.array([y.mean()])
    counts = np.bincount(y.astype(np.int64), minlength=outputs) + 1.0  # one more, as a class may have no row
    share = np.log(counts / counts.sum())
    return np.array([share[1] - share[0]]) if task == "binary" else share


def derivatives(task: Task, scores: Floats, y: Floats) -> tuple[Floats, Floats]:
    """g and h, (n, C), of the cross entropy or of half the squared error."""
    if task == "regression":
        return scores - y[:, None], np.ones_like(scores)
    if task == "binary":
        p = 1 / (1 + np.exp(-scores))
        return p - y[:, None], p * (1 - p)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p - (y[:, None] == np.arange(p.shape[1])), p * (1 - p)


def logits(task: Task, scores: Floats) -> Floats:
    """Scores, (N, C), as `Targets` reads them: two classes have the logits 0 and the score."""
    return np.concatenate([np.zeros_like(scores), scores], axis=1) if task == "binary" else scores


@dataclass(frozen=True, eq=False)
class Counted:
    """Derivatives as whole numbers."""

    values: Whole  # (n, 2C): g and h of the first output, of the second, …
    units: Floats  # (2,): what one is worth, in g and in h

    @classmethod
    def of(cls, g: Floats, h: Floats) -> Counted:
        """Derivatives (n, C), rounded."""
        bits = bits_for(len(g))
        units = np.array([_unit(g, bits), _unit(h, bits)])
        values = np.stack([np.rint(g / units[0]), np.rint(h / units[1])], axis=2)  # (n, C, 2)
        return cls(values.reshape(len(g), -1).astype(np.int64), units)

    def output(self, c: int) -> Whole:
        """g and h of one output, (n, 2)."""
        return self.values[:, 2 * c : 2 * c + 2]


def bits_for(rows: int) -> int:
    """Bits of the largest derivative, so that sums over these rows stay exact."""
    return min(BITS, EXACT - rows.bit_length())


def _unit(values: Floats, bits: int) -> float:
    """The power of two in which the largest value takes `bits` bits."""
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))  # largest < 2**exponent
    return float(np.ldexp(1.0, int(exponent) - bits))
