"""LightGBM: gradient-boosted trees over all columns in one place (LGB). A reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.labels import Task
from colonnade.data.table import Table
from colonnade.data.vertical import VerticalData
from colonnade.errors import MissingDependencyError
from colonnade.methods._base.method import Kind, Method, Progress
from colonnade.methods._base.options import Ge, Gt, Help
from colonnade.methods.references.reference import ReferenceModel, Rows, fit_reference, restore_reference


@dataclass(kw_only=True, eq=False, repr=False)
class LightGBM(Method):
    """LightGBM; the number of trees is chosen on validation rows where there are any."""

    name = "lightgbm"
    paper = "reference"
    summary = "boosted trees over all columns in one place; not federated"
    family = "pooled"
    kind: ClassVar[Kind] = "pooled"
    between_sites: ClassVar[bool] = False
    packages = ("lightgbm",)
    extra = "boost"

    trees: Annotated[
        int, Ge(1), Help("Number of trees at most. Early stopping on the validation loss may end earlier.")
    ] = 300
    leaves: Annotated[int, Ge(2), Help("Leaves of a tree. More fit more, and need more rows.")] = 31
    learning_rate: Annotated[float, Gt(0), Help("Factor of each tree's weights. Smaller needs more trees.")] = 0.05
    min_leaf: Annotated[int, Ge(1), Help("Rows in a leaf at least. Small by default, because labels are few.")] = 5
    patience: Annotated[int, Ge(1), Help("Trees without a lower validation loss before training stops.")] = 30

    def train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        """Fit on all columns at once."""
        self.fitted_ = fit_reference(self, data, validation, self._fit)
        progress("train", 1, 1)

    def restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        """Take over a saved model."""
        model = self.fitted_ = restore_reference(saved)
        model.predictor = Boosted(_lightgbm().Booster(model_str=saved["booster"]), saved["task"], model.targets.outputs)

    def _parameters(self, classes: int) -> dict[str, Any]:
        objective = {"regression": "regression", "binary": "binary", "multiclass": "multiclass"}[self.task_]
        more = {"num_class": classes} if objective == "multiclass" else {}
        return {
            "objective": objective, "num_leaves": self.leaves, "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.min_leaf, "seed": self.seed, "verbosity": -1, "deterministic": True,
            "force_row_wise": True, "num_threads": torch.get_num_threads(), **more,
        }  # fmt: skip

    def _fit(self, model: ReferenceModel, rows: Rows, valid: Rows | None) -> Boosted:
        lgb, table = _lightgbm(), rows.table
        categorical = list(range(table.x.shape[1], table.x.shape[1] + len(table.sizes)))
        made: dict[str, Any] = {"categorical_feature": categorical, "free_raw_data": False}
        train = lgb.Dataset(columns(table), rows.y, **made)
        curve: dict[str, dict[str, list[float]]] = {}
        sets, callbacks = [], []
        if valid is not None:
            known = valid.y >= 0 if self.task_ != "regression" else np.ones(len(valid.y), dtype=bool)
            sets = [lgb.Dataset(columns(valid.table)[known], valid.y[known], reference=train, **made)]
            callbacks = [lgb.early_stopping(self.patience, verbose=False), lgb.record_evaluation(curve)]
        parameters = self._parameters(model.targets.outputs)
        booster = lgb.train(parameters, train, self.trees, valid_sets=sets, callbacks=callbacks)
        for losses in curve.get("valid_0", {}).values():
            self.history_ += [{"phase": "train", "epoch": i, "validation_loss": v} for i, v in enumerate(losses, 1)]
        return Boosted(booster, self.task_, model.targets.outputs)


@dataclass(frozen=True)
class Boosted:
    """A trained booster."""

    booster: Any
    task: Task
    outputs: int

    def logits(self, table: Table) -> npt.NDArray[Any]:
        """(N, C)."""
        raw = self.booster.predict(columns(table), raw_score=True)
        if self.task == "multiclass":
            return np.asarray(raw)
        out = np.zeros((len(raw), self.outputs))
        out[:, -1] = raw  # regression has one output; two classes have the logits 0 and raw
        return out

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """The booster as its library writes it."""
        return {"booster": self.booster.model_to_string()}, {}


def columns(table: Table) -> npt.NDArray[Any]:
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
