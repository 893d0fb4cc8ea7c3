"""What the reference models share: all parties' columns side by side, in one place, without a network.

N rows, F columns after preprocessing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.ids import Ids
from colonnade.data.preprocess import Preprocessor
from colonnade.data.table import Table
from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError
from colonnade.methods._base.method import Kind, Method, Progress, classes_from_json, classes_json
from colonnade.methods.references.combined import merge_data, merge_given
from colonnade.parties.active import Targets

Matrix = npt.NDArray[np.float32]


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(Method):
    """A model that sees all columns of the aligned labelled rows."""

    kind: ClassVar[Kind] = "pooled"
    family = "pooled"

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        self.parties_ = {name: view.fields for name, view in data.views.items()}
        rows = self._rows(merge_data(data), fit=True)
        if len(rows[1]) == 0:
            raise DataError(
                f"The data cannot be used: no labelled row is held by all parties, and {self.name} needs some."
            )
        if self.task_ != "regression" and len(self.targets_.classes) < 2:
            raise DataError(
                "The data cannot be used: the aligned labelled rows are all of one class. Label another class."
            )
        self._fit(*rows, None if validation is None else self._rows(merge_data(validation), fit=False))
        progress("train", 1, 1)

    def _rows(self, data: VerticalData, *, fit: bool) -> tuple[Table, npt.NDArray[Any]]:
        """The labelled rows of merged data, and their targets."""
        view = data.views[data.active]
        if fit:
            self.preprocessor_ = Preprocessor.fit(view)  # on all aligned training rows, labelled or not
        values, known = data.labels.of(view.ids)
        if fit:
            self.targets_ = Targets(data.task, values[known])
        table = self.preprocessor_.transform(view.take(np.flatnonzero(known)), "all parties together")
        return table, self.targets_.encode(values[known]).numpy()

    def _fit(self, table: Table, y: npt.NDArray[Any], valid: tuple[Table, npt.NDArray[Any]] | None) -> None:
        raise TypeError(f"{type(self).__name__} does not define _fit")

    def _logits(self, table: Table) -> npt.NDArray[Any]:
        """(N, C) outputs as `Targets.decode` reads them."""
        raise TypeError(f"{type(self).__name__} does not define _logits")

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of `predict_proba`'s columns."""
        return self.targets_.classes

    def _outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        merged, self.absent_ = merge_given(views, self.preprocessor_, self.parties_, self.active_, absent)
        table = self.preprocessor_.transform(merged, "all parties together")
        return merged.ids, self.targets_.decode(torch.from_numpy(self._logits(table)))

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, torch.Tensor]]]:
        own = {
            "classes": classes_json(self.targets_.classes), "mean": self.targets_.mean, "scale": self.targets_.scale,
            "parties": {n: list(f) for n, f in self.parties_.items()}, "preprocessing": self.preprocessor_.to_json(),
        }  # fmt: skip
        return own, {}

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, torch.Tensor]]) -> None:
        self.targets_ = Targets(saved["task"], classes_from_json(saved["classes"]))
        self.targets_.mean, self.targets_.scale = saved["mean"], saved["scale"]
        self.parties_ = {n: tuple(f) for n, f in saved["parties"].items()}
        self.preprocessor_ = Preprocessor.from_json(saved["preprocessing"])


def one_hot(table: Table) -> Matrix:
    """Numbers and one column per known category; the unknown category is all zeros."""
    x = table.x.flatten(1).numpy()
    if table.codes is None:
        return x
    blocks = [x]
    for q, size in enumerate(table.sizes):
        blocks.append(np.eye(size + 1, dtype=np.float32)[table.codes[:, q].numpy()][:, 1:])
    return np.concatenate(blocks, axis=1)
