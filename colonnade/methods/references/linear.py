"""Linear: logistic or ridge regression over all columns in one place (LR, Linear-Combine). A reference."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.table import Table
from colonnade.methods._base.options import above
from colonnade.methods.references.reference import Reference, one_hot

GRID = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)  # inverse strengths tried on validation rows


@dataclass(kw_only=True, eq=False, repr=False)
class Linear(Reference):
    """scikit-learn's LogisticRegression or Ridge; its strength is chosen on validation rows where there are any."""

    name = "linear"
    paper = "reference"
    summary = "logistic or ridge regression in one place; not federated"

    strength: float = 1.0  # inverse regularisation (C, or 1/α) when there are no validation rows

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        above(problems, "strength", self.strength, 0)

    def _fit(self, table: Table, y: npt.NDArray[Any], valid: tuple[Table, npt.NDArray[Any]] | None) -> None:
        x = one_hot(table)
        best = float("inf")
        for strength in (self.strength,) if valid is None else GRID:
            coefficients, intercept = self._solve(x, y, strength)
            if valid is None:
                self.coefficients_, self.intercept_ = coefficients, intercept
                return
            logits = torch.from_numpy(one_hot(valid[0]) @ coefficients.T + intercept)
            loss = float(self.targets_.loss(logits, torch.from_numpy(valid[1])))
            record = {"phase": "train", "epoch": len(self.history_) + 1, "strength": strength, "validation_loss": loss}
            self.history_.append(record)
            if loss < best:
                best, self.coefficients_, self.intercept_ = loss, coefficients, intercept

    def _solve(
        self, x: npt.NDArray[Any], y: npt.NDArray[Any], strength: float
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Coefficients (C, F) and intercepts (C,), float32."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression, Ridge

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # weak regularisation converges slowly and is not chosen
            if self.task_ == "regression":
                model = Ridge(alpha=1 / strength, random_state=self.seed).fit(x, y)
            else:
                model = LogisticRegression(C=strength, max_iter=500, random_state=self.seed).fit(x, y)
        coefficients = np.atleast_2d(model.coef_).astype(np.float32)
        intercept = np.atleast_1d(model.intercept_).astype(np.float32)
        if self.task_ != "regression" and len(coefficients) == 1:  # two classes: logits 0 and w·x + b
            coefficients = np.concatenate([np.zeros_like(coefficients), coefficients])
            intercept = np.concatenate([np.zeros_like(intercept), intercept])
        return coefficients, intercept

    def _logits(self, table: Table) -> npt.NDArray[Any]:
        out: npt.NDArray[Any] = one_hot(table) @ self.coefficients_.T + self.intercept_
        return out

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, torch.Tensor]]]:
        own, _ = super()._state()
        weights = {"coefficients": torch.from_numpy(self.coefficients_), "intercept": torch.from_numpy(self.intercept_)}
        return own, {"linear": weights}

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, torch.Tensor]]) -> None:
        super()._restore(saved, tensors)
        self.coefficients_ = tensors["linear"]["coefficients"].numpy()
        self.intercept_ = tensors["linear"]["intercept"].numpy()
