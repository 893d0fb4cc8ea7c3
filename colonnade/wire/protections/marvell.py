"""Marvell (Li et al. 2022, "Label leakage and protection in two-party split learning"): noise that hides two classes.

Gradients of class c are taken as normal with mean ḡ_c and the same variance in all directions: u for class 0, v for
class 1. Noise of each class has variance a_c along Δ = ḡ_1 - ḡ_0 and b_c across it. They minimise
sumKL = KL(P_0 ‖ P_1) + KL(P_1 ‖ P_0) of the perturbed gradients while the mean power of the noise is S · ‖Δ‖² at most.

No label crosses: the sender of gradients is the active party, which has the labels and has itself asked for the rows.

R rows of a gradient, D their width, p share of class 1. Variances are in units of ‖Δ‖².
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from colonnade.errors import ConfigError
from colonnade.wire.kind import Kinds
from colonnade.wire.message import Message
from colonnade.wire.protection import Noise
from colonnade.wire.protections.asked import Asked

Labels = Callable[[Tensor], Tensor]  # (R,) positions of training rows → (R,) 0, 1, or -1 where there is no label
LEAST = 1e-6  # of u and v, so that one row of a class has a variance


@dataclass(frozen=True)
class Shape:
    """Variances of the noise of class 0 and 1: `along` Δ and `across` it; along is never below across."""

    along: tuple[float, float]
    across: tuple[float, float]

    def power(self, share: float, width: int) -> float:
        """E‖noise‖² of a row."""
        of = [a + (width - 1) * b for a, b in zip(self.along, self.across, strict=True)]
        return (1 - share) * of[0] + share * of[1]

    def sum_kl(self, spread: tuple[float, float], width: int) -> float:
        """The divergence of both classes, whose own variances are `spread`."""
        a0, a1 = (a + s for a, s in zip(self.along, spread, strict=True))
        b0, b1 = (b + s for b, s in zip(self.across, spread, strict=True))
        along = (a0 + 1) / a1 + (a1 + 1) / a0
        return 0.5 * ((width - 1) * (b0 / b1 + b1 / b0) + along) - width


def best_shape(spread: tuple[float, float], share: float, width: int, power: float) -> Shape:
    """The shape with the least sumKL under the power; searched from three starts, of which none is better."""
    from scipy.optimize import minimize

    costs = np.array([width * (1 - share), 1 - share, width * share, share])  # of across_0, excess_0, across_1, …

    def shape(x: Sequence[float]) -> Shape:
        across_0, excess_0, across_1, excess_1 = (max(float(value), 0.0) for value in x)
        return Shape((across_0 + excess_0, across_1 + excess_1), (across_0, across_1))

    even = [power / width, 0.0, power / width, 0.0]
    toward = [0.0, power, 0.0, power]
    middle = [0.5 * (a + b) for a, b in zip(even, toward, strict=True)]
    found = [even, toward, middle]
    for start in list(found):
        result = minimize(
            lambda x: shape(x).sum_kl(spread, width), start, method="SLSQP", bounds=[(0, None)] * 4,
            constraints={"type": "ineq", "fun": lambda x: power - costs @ x}, options={"maxiter": 100, "ftol": 1e-10},
        )  # fmt: skip
        if np.isfinite(result.x).all():
            x = result.x.clip(min=0)
            found.append(list(x * min(1.0, power / max(float(costs @ x), 1e-300))))
    return min((shape(x) for x in found), key=lambda s: s.sum_kl(spread, width))


@dataclass
class Marvell(Noise):
    """The noise of least sumKL on gradients, of mean power `scale` · ‖Δ‖²; `labels` is set when the parties are."""

    labels: Labels | None = field(default=None, kw_only=True, repr=False)
    asked: Asked = field(default_factory=Asked, repr=False)

    name: ClassVar[str] = "marvell"

    def learn(self, kinds: Kinds) -> None:
        """Take in the kinds of the run."""
        super().learn(kinds)
        self.asked.kinds = kinds

    def apply(self, message: Message) -> Message:
        """The message with noise, if it is a gradient."""
        self.asked.note(message)
        return super().apply(message)

    def protect(self, rows: Tensor, message: Message) -> Tensor:
        """(R, D) → (R, D). A batch of one class has no Δ: it gets isotropic noise of power S · max ‖row‖²."""
        y = self._classes(message)  # (R,)
        parts = [rows[y == c] for c in (0, 1)]
        noise = self.draw(rows.shape, rows, message.sender)  # (R, D)
        extra = self.draw((len(rows), 1), rows, message.sender)
        if not all(len(part) for part in parts):
            largest: Tensor = torch.linalg.vector_norm(rows, dim=1).amax()
            return rows + math.sqrt(self.scale / rows.shape[1]) * largest * noise
        apart = parts[1].mean(dim=0) - parts[0].mean(dim=0)  # Δ, (D,)
        length = float(torch.linalg.vector_norm(apart))
        if length == 0:
            return rows
        found = best_shape(_spread(parts, length), len(parts[1]) / len(rows), rows.shape[1], self.scale)
        across = rows.new_tensor(found.across).sqrt()[y, None]  # (R, 1)
        beyond = (rows.new_tensor(found.along) - rows.new_tensor(found.across)).sqrt()[y, None]
        return rows + length * across * noise + beyond * extra * apart

    def _classes(self, message: Message) -> Tensor:
        question = self.asked.about(message)
        if self.labels is None or question is None or question.rows is None:
            raise ConfigError("marvell: the rows of a gradient, or their labels, are not known. Use iso:gradient.")
        y = self.labels(question.rows)
        if bool((y < 0).any()):
            raise ConfigError(
                "marvell: the method sends gradients of rows without a label, and Marvell shapes noise by the label. "
                "Use iso:gradient."
            )
        return y


def _spread(parts: Sequence[Tensor], length: float) -> tuple[float, float]:
    """u and v: the mean variance of a number in each class."""
    u, v = (max(float((part - part.mean(dim=0)).square().mean()) / length**2, LEAST) for part in parts)
    return u, v
