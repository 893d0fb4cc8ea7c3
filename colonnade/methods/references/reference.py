"""What the reference models share: all parties' columns side by side, in one place, without a network.

N rows, F columns after preprocessing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.ids import Ids
from colonnade.data.preprocess import Preprocessor
from colonnade.data.table import Table
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, DataError
from colonnade.methods._base.fitted import classes_from_json, classes_json
from colonnade.methods.references.merge import merge_data, merge_given
from colonnade.parties.active import Targets

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Rows:
    """Labelled rows of all parties' columns, and their targets."""

    table: Table
    y: npt.NDArray[Any]


class Predictor(Protocol):
    """A fitted model of somebody else's library."""

    def logits(self, table: Table) -> npt.NDArray[Any]:
        """(N, C) outputs as `Targets.decode` reads them."""

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """What a saved model needs of it: JSON, and tensors by file name."""


class ReferenceModel:
    """A model that sees all columns of the aligned labelled rows."""

    has_networks = False

    def __init__(
        self, made: Preprocessor, targets: Targets, parties: Mapping[str, tuple[str, ...]], active: str
    ) -> None:
        self.preprocessor, self.targets, self.parties, self.active = made, targets, parties, active
        self.predictor: Predictor | None = None
        self.federation = None
        self.absent: dict[str, int] = {}
        self.late: dict[str, int] = {}

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of the probabilities."""
        return self.targets.classes

    def outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        """Ids and predictions, (N,) targets or (N, C) probabilities."""
        merged, self.absent = merge_given(views, self.preprocessor, self.parties, self.active, absent)
        table = self.preprocessor.transform(merged, "all parties together")
        return merged.ids, self.targets.decode(torch.from_numpy(self._fitted().logits(table)))

    def transform(self, views: Mapping[str, Any], absent: str) -> npt.NDArray[np.float32]:
        """There is no representation."""
        raise ConfigError("a reference has no representation to transform into. Use combined, or a federated method.")

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """What a saved model needs beyond the shared part."""
        own, tensors = self._fitted().state()
        shared = {
            "classes": classes_json(self.targets.classes), "mean": self.targets.mean, "scale": self.targets.scale,
            "parties": {n: list(f) for n, f in self.parties.items()}, "preprocessing": self.preprocessor.to_json(),
        }  # fmt: skip
        return {**shared, **own}, tensors

    def _fitted(self) -> Predictor:
        if self.predictor is None:
            raise ConfigError("this reference has not been trained. Call fit first.")
        return self.predictor


Fit = Callable[[ReferenceModel, Rows, Rows | None], Predictor]


def fit_reference(method: Any, data: VerticalData, validation: VerticalData | None, fit: Fit) -> ReferenceModel:
    """Merge the parties' columns, fit the preprocessing on all aligned rows, and the model on the labelled ones."""
    merged = merge_data(data)
    view = merged.views[merged.active]
    values, known = merged.labels.of(view.ids)
    parties = {name: view.fields for name, view in data.views.items()}
    model = ReferenceModel(Preprocessor.fit(view), Targets(data.task, values[known]), parties, data.active)
    rows = rows_of(model, merged)
    if len(rows.y) == 0:
        raise DataError(
            f"The data cannot be used: no labelled row is held by all parties, and {method.name} needs some."
        )
    if data.task != "regression" and len(model.classes) < 2:
        raise DataError("The data cannot be used: the aligned labelled rows are all of one class. Label another class.")
    model.predictor = fit(model, rows, None if validation is None else rows_of(model, merge_data(validation)))
    return model


def rows_of(model: ReferenceModel, merged: VerticalData) -> Rows:
    """The labelled rows of merged data, and their targets."""
    view = merged.views[merged.active]
    values, known = merged.labels.of(view.ids)
    table = model.preprocessor.transform(view.take(np.flatnonzero(known)), "all parties together")
    return Rows(table, model.targets.encode(values[known]).numpy())


def restore_reference(saved: Mapping[str, Any]) -> ReferenceModel:
    """A reference model without its predictor."""
    targets = Targets(saved["task"], classes_from_json(saved["classes"]))
    targets.mean, targets.scale = saved["mean"], saved["scale"]
    parties = {n: tuple(f) for n, f in saved["parties"].items()}
    return ReferenceModel(Preprocessor.from_json(saved["preprocessing"]), targets, parties, saved["active"])


def one_hot(table: Table) -> Matrix:
    """Numbers and one column per known category; the unknown category is all zeros."""
    x = table.x.flatten(1).numpy()
    if table.codes is None:
        return x
    blocks = [x]
    for q, size in enumerate(table.sizes):
        blocks.append(np.eye(size + 1, dtype=np.float32)[table.codes[:, q].numpy()][:, 1:])
    return np.concatenate(blocks, axis=1)
