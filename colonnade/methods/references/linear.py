"""Linear: logistic or ridge regression over all columns in one place (LR, Linear-Combine). A reference."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.table import Table
from colonnade.data.vertical import VerticalData
from colonnade.methods._base.method import Kind, Method, Progress
from colonnade.methods._base.options import Gt, Help
from colonnade.methods.references.reference import ReferenceModel, Rows, fit_reference, one_hot, restore_reference

GRID = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)  # inverse strengths tried on validation rows


@dataclass(kw_only=True, eq=False, repr=False)
class Linear(Method):
    """scikit-learn's LogisticRegression or Ridge; its strength is chosen on validation rows where there are any."""

    name = "linear"
    paper = "reference"
    summary = "logistic or ridge regression in one place; not federated"
    family = "pooled"
    kind: ClassVar[Kind] = "pooled"
    between_sites: ClassVar[bool] = False

    strength: Annotated[
        float,
        Gt(0),
        Help("Inverse of the regularisation (C, or 1/α) without validation rows. Smaller holds weights nearer to 0."),
    ] = 1.0

    def train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        """Fit on all columns at once."""
        self.fitted_ = fit_reference(self, data, validation, self._fit)
        progress("train", 1, 1)

    def restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        """Take over a saved model."""
        model = self.fitted_ = restore_reference(saved)
        model.predictor = Line(tensors["linear"]["coefficients"].numpy(), tensors["linear"]["intercept"].numpy())

    def _fit(self, model: ReferenceModel, rows: Rows, valid: Rows | None) -> Line:
        x = one_hot(rows.table)
        if valid is None:
            return self._solve(x, rows.y, self.strength)
        best, kept = float("inf"), None
        for strength in GRID:
            line = self._solve(x, rows.y, strength)
            loss = float(model.targets.loss(torch.from_numpy(line.logits(valid.table)), torch.from_numpy(valid.y)))
            record = {"phase": "train", "epoch": len(self.history_) + 1, "strength": strength, "validation_loss": loss}
            self.history_.append(record)
            if kept is None or loss < best:
                best, kept = loss, line
        return kept  # type: ignore[return-value]

    def _solve(self, x: npt.NDArray[Any], y: npt.NDArray[Any], strength: float) -> Line:
        """Coefficients (C, F) and intercepts (C,), float32."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression, Ridge

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # weak regularisation converges slowly, and is not chosen
            if self.task_ == "regression":
                model = Ridge(alpha=1 / strength, random_state=self.seed).fit(x, y)
            else:
                model = LogisticRegression(C=strength, max_iter=500, random_state=self.seed).fit(x, y)
        coefficients = np.atleast_2d(model.coef_).astype(np.float32)
        intercept = np.atleast_1d(model.intercept_).astype(np.float32)
        if self.task_ != "regression" and len(coefficients) == 1:  # two classes: logits 0 and w·x + b
            coefficients = np.concatenate([np.zeros_like(coefficients), coefficients])
            intercept = np.concatenate([np.zeros_like(intercept), intercept])
        return Line(coefficients, intercept)


@dataclass(frozen=True)
class Line:
    """Coefficients (C, F) and intercepts (C,), float32."""

    coefficients: npt.NDArray[Any]
    intercept: npt.NDArray[Any]

    def logits(self, table: Table) -> npt.NDArray[Any]:
        """(N, C)."""
        out: npt.NDArray[Any] = one_hot(table) @ self.coefficients.T + self.intercept
        return out

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """The weights."""
        weights = {"coefficients": torch.from_numpy(self.coefficients), "intercept": torch.from_numpy(self.intercept)}
        return {}, {"linear": weights}
