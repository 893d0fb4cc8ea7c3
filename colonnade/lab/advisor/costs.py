"""Bytes and seconds of a full run, from those of the record: so much per labelled row, so much per other row.

Least squares of relative differences, with coefficients that cannot be negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from colonnade.lab.advisor.setting import Setting

Cost = tuple[Setting, float]  # a setting, and what a run cost there


def bytes_like(known: Sequence[Cost], setting: Setting) -> float | None:
    """Bytes in a setting, by those in others: each passive party's rows are what costs. None: nothing is known."""
    return _scaled([(_sent(s), cost) for s, cost in known], _sent(setting))


def seconds_like(known: Sequence[Cost], setting: Setting) -> float | None:
    """Seconds in a setting, by those in others. None: nothing is known."""
    return _scaled([(_worked(s), cost) for s, cost in known], _worked(setting))


def _sent(setting: Setting) -> list[float]:
    return [setting.passive * setting.labelled_aligned, setting.passive * setting.aligned, setting.passive]


def _worked(setting: Setting) -> list[float]:
    return [setting.parties * setting.labelled_aligned, setting.parties * setting.rows, setting.parties]


def _scaled(known: Sequence[tuple[list[float], float]], asked: list[float]) -> float | None:
    """What these amounts cost, by the costs of other amounts."""
    from scipy.optimize import nnls

    paid = [(np.array(amounts), cost) for amounts, cost in known if cost > 0]
    if not paid:
        return 0.0 if known else None
    unit = np.maximum(np.mean([amounts for amounts, _ in paid], axis=0), 1e-12)
    a: npt.NDArray[np.float64] = np.array([amounts / unit / cost for amounts, cost in paid])
    size = float(np.mean([cost for _, cost in paid]))  # for numbers near 1
    coefficients, _ = nnls(a * size, np.ones(len(paid)))
    return float((np.array(asked) / unit) @ coefficients * size)
