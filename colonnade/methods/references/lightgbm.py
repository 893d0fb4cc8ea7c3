"""LightGBM: gradient-boosted trees over all columns in one place (LGB). A reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.table import Table
from colonnade.errors import MissingDependencyError
from colonnade.methods._base.options import above, at_least
from colonnade.methods.references.reference import Reference


@dataclass(kw_only=True, eq=False, repr=False)
class LightGBM(Reference):
    """LightGBM; the number of trees is chosen on validation rows where there are any."""

    name = "lightgbm"
    paper = "reference"
    summary = "boosted trees over all columns in one place; not federated"
    extra = "boost"
    packages = ("lightgbm",)

    trees: int = 300  # at most; early stopping on the validation loss ends before
    leaves: int = 31
    learning_rate: float = 0.05
    min_leaf: int = 5  # rows in a leaf; small, because labels are few
    patience: int = 30  # trees without a lower validation loss before training stops

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        for name in ("trees", "min_leaf", "patience"):
            at_least(problems, name, getattr(self, name), 1)
        at_least(problems, "leaves", self.leaves, 2)
        above(problems, "learning_rate", self.learning_rate, 0)

    def _parameters(self) -> dict[str, Any]:
        classes = self.targets_.outputs
        objective = {"regression": "regression", "binary": "binary", "multiclass": "multiclass"}[self.task_]
        more = {"num_class": classes} if objective == "multiclass" else {}
        return {
            "objective": objective, "num_leaves": self.leaves, "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.min_leaf, "seed": self.seed, "verbosity": -1, "deterministic": True,
            "force_row_wise": True, "num_threads": torch.get_num_threads(), **more,
        }  # fmt: skip

    def _fit(self, table: Table, y: npt.NDArray[Any], valid: tuple[Table, npt.NDArray[Any]] | None) -> None:
        lgb = _lightgbm()
        categorical = list(range(table.x.shape[1], table.x.shape[1] + len(table.sizes)))
        made: dict[str, Any] = {"categorical_feature": categorical, "free_raw_data": False}
        train = lgb.Dataset(_columns(table), y, **made)
        curve: dict[str, dict[str, list[float]]] = {}
        sets, callbacks = [], []
        if valid is not None:
            known = valid[1] >= 0 if self.task_ != "regression" else np.ones(len(valid[1]), dtype=bool)
            sets = [lgb.Dataset(_columns(valid[0])[known], valid[1][known], reference=train, **made)]
            callbacks = [lgb.early_stopping(self.patience, verbose=False), lgb.record_evaluation(curve)]
        self.booster_ = lgb.train(self._parameters(), train, self.trees, valid_sets=sets, callbacks=callbacks)
        for losses in curve.get("valid_0", {}).values():
            self.history_ += [{"phase": "train", "epoch": i, "validation_loss": v} for i, v in enumerate(losses, 1)]

    def _logits(self, table: Table) -> npt.NDArray[Any]:
        raw = self.booster_.predict(_columns(table), raw_score=True)
        if self.task_ == "multiclass":
            return np.asarray(raw)
        out = np.zeros((len(raw), self.targets_.outputs))
        out[:, -1] = raw  # regression has one output; two classes have the logits 0 and raw
        return out

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, torch.Tensor]]]:
        own, tensors = super()._state()
        return {**own, "booster": self.booster_.model_to_string()}, tensors

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, torch.Tensor]]) -> None:
        super()._restore(saved, tensors)
        self.booster_ = _lightgbm().Booster(model_str=saved["booster"])


def _columns(table: Table) -> npt.NDArray[Any]:
    """Numbers, then category codes."""
    x = table.x.flatten(1).numpy()
    return x if table.codes is None else np.concatenate([x, table.codes.numpy().astype(np.float32)], axis=1)


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise MissingDependencyError(
            "the method lightgbm needs the package lightgbm: pip install 'colonnade[boost]'."
        ) from None
    return lightgbm
