"""`Method`: the part that all methods share, in scikit-learn's manner.

Options in the constructor, checked there; `fit` returns self; what training found ends in an underscore.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor

from colonnade.data.ids import Ids, locate
from colonnade.data.labels import Labels, Task, as_labels
from colonnade.data.vertical import VerticalData
from colonnade.errors import ColonnadeError, ConfigError, DataError, raise_all
from colonnade.methods.folder import new_folder
from colonnade.methods.given import tables, tables_and_labels, training_rows
from colonnade.methods.options import Options, at_least
from colonnade.methods.threads import Rule, limited
from colonnade.metrics import check_metric, default_metric, score, scores
from colonnade.wire.meter import Traffic

Progress = Callable[[str, int, int], None]  # phase, steps done, steps in all
Kind = Literal["federated", "alone", "pooled"]  # pooled: all columns in one place, a reference that is not federated
FORMAT = 1
MARKER = "model.json"
ABSENT = ("error", "zero")


def check_absent(absent: str) -> None:
    """Refuse an unknown way to deal with rows that a party does not hold."""
    if absent not in ABSENT:
        raise ConfigError(f"absent must be one of {', '.join(ABSENT)}. Got {absent!r}.")


def no_progress(phase: str, done: int, total: int) -> None:
    """Nobody listens."""


class NotFittedError(ColonnadeError):
    """The method has not been trained."""


@dataclass(kw_only=True, eq=False, repr=False)
class Method(Options):
    """Base of all methods."""

    seed: int = 0  # same seed, same result

    name: ClassVar[str]  # as on the command line
    paper: ClassVar[str] = ""
    summary: ClassVar[str] = ""  # half a line
    family: ClassVar[str] = "other"  # a key of `FAMILIES`
    packages: ClassVar[tuple[str, ...]] = ()  # that it cannot do without, beyond those of the core
    extra: ClassVar[str] = ""  # of Colonnade, which installs them
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass", "regression")
    kind: ClassVar[Kind] = "federated"

    @classmethod
    def installed(cls) -> bool:
        """Whether the packages that the method needs are here."""
        return all(find_spec(package) is not None for package in cls.packages)

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        at_least(problems, "seed", self.seed, 0)

    # training -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        data: VerticalData | Mapping[str, Any],
        validation: Any = None,
        *,
        metric: str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on `data`.

        Args:
            data: the parties' training rows; or tables by party, the active party's first, and then `validation` is
                their labels.
            validation: labelled rows of all parties for early stopping and selection; none of them may be in `data`.
                Without it, training runs for all its epochs.
            metric: what `score` and the history report; accuracy or R² by default.
            progress: called with phase, steps done and steps in all.
        """
        self.check_options()
        data, validation = training_rows(data, validation)
        if data.task not in self.tasks:
            from colonnade.methods import METHODS

            able = ", ".join(name for name, method in METHODS.items() if data.task in method.tasks)
            raise ConfigError(
                f"{self.name} does {', '.join(self.tasks)}, not {data.task}. These do {data.task}: {able}."
            )
        self.task_: Task = data.task
        self.metric_ = check_metric(metric or default_metric(data.task), data.task)
        self.active_ = data.active
        self.history_: list[dict[str, Any]] = []
        self.traffic_ = Traffic()
        self._check_data(data, validation)
        with limited(Rule.here().of(data).number):
            self._train(data, validation, progress or no_progress)
        return self

    def _check_data(self, data: VerticalData, validation: VerticalData | None) -> None:
        problems: list[str] = []
        if validation is not None:
            if list(validation.views) != list(data.views):
                problems.append(f"validation has the parties {list(validation.views)}, training {list(data.views)}.")
            else:
                for name, view in data.views.items():
                    shared = int((locate(view.ids, validation.views[name].ids) >= 0).sum())
                    if shared:
                        problems.append(
                            f"party {name!r}: {shared} validation rows are training rows too. Keep them apart."
                        )
        raise_all(problems, DataError, "The data cannot be used")

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        raise TypeError(f"{type(self).__name__} does not define _train")

    # prediction ---------------------------------------------------------------------------------------------------

    def _outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        """Ids and predictions, (N,) targets or (N, C) probabilities."""
        raise TypeError(f"{type(self).__name__} does not define _outputs")

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of `predict_proba`'s columns."""
        raise TypeError(f"{type(self).__name__} does not define classes_")

    def predict_proba(self, views: VerticalData | Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[Any]:
        """Class probabilities, (N, C), in the row order of the active party's view.

        Args:
            views: party name to table, as in training; or `VerticalData`.
            absent: what to do about rows that a party does not hold: "error", or "zero" (go on with a zero
                representation, as Wu et al. 2022, App. C do, or with missing values where all columns are in one
                place; `absent_` then says how many rows each party lacked).
        """
        self._check_fitted()
        check_absent(absent)
        if self.task_ == "regression":
            raise ConfigError(
                "predict_proba is for classification, and this model was trained for regression. Use predict."
            )
        return self._outputs(tables(views), absent)[1]

    def predict(self, views: VerticalData | Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[Any]:
        """Classes or targets, (N,), in the row order of the active party's view."""
        self._check_fitted()
        check_absent(absent)
        out = self._outputs(tables(views), absent)[1]
        return out if self.task_ == "regression" else self.classes_[out.argmax(axis=1)]

    def score(
        self,
        views: VerticalData | Mapping[str, Any],
        labels: Any = None,
        *,
        metric: str | None = None,
        absent: str = "error",
    ) -> float:
        """The metric named in `fit` (accuracy or R² by default) on given rows.

        `VerticalData` brings its own labels; tables by party need `labels`.
        """
        truth, out = self._truth_and_outputs(views, labels, absent)
        return score(check_metric(metric or self.metric_, self.task_), truth, out, self.classes_)

    def scores(
        self, views: VerticalData | Mapping[str, Any], labels: Any = None, *, absent: str = "error"
    ) -> dict[str, float]:
        """Every metric that fits the task, on rows given as for `score`."""
        truth, out = self._truth_and_outputs(views, labels, absent)
        return scores(truth, out, self.classes_, self.task_)

    def _truth_and_outputs(
        self, given: VerticalData | Mapping[str, Any], labels: Any, absent: str
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        self._check_fitted()
        check_absent(absent)
        views, labels = tables_and_labels(given, labels)
        ids, out = self._outputs(views, absent)
        problems: list[str] = []
        known: Labels = as_labels(labels, ids, "labels", problems)
        values, labelled = known.of(ids)
        if not labelled.any():
            problems.append("none of the rows has a label. Index the labels by the same ids as the views.")
        raise_all(problems, DataError, "score")
        return values[labelled], out[labelled]

    def _check_fitted(self) -> None:
        if not hasattr(self, "task_"):
            raise NotFittedError(
                f"this {type(self).__name__} has not been trained. Call fit first, or colonnade.load a saved one."
            )

    # storing ------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """What a saved model needs beyond the shared part: JSON, and tensors by file name."""
        raise TypeError(f"{type(self).__name__} does not define _state")

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        """The inverse of `_state`."""
        raise TypeError(f"{type(self).__name__} does not define _restore")

    def options_json(self) -> dict[str, Any]:
        """The options as JSON can hold them; modules of the user's are named by their class."""
        out = {}
        for key, value in self.get_params().items():
            if isinstance(value, Mapping):
                value = {k: v if isinstance(v, str | int | float) else type(v).__name__ for k, v in value.items()}
            out[key] = list(value) if isinstance(value, tuple) else value
        return out

    def save(self, folder: str | Path) -> Path:
        """Write the model as safetensors and JSON. The folder appears complete or not at all.

        It must be new, empty, or hold an earlier saved model and nothing else.
        """
        from safetensors.torch import save_file

        self._check_fitted()
        own, tensors = self._state()
        names = {name: f"{name}.safetensors" for name in tensors}
        shared = {
            "format": FORMAT, "method": self.name, "files": [MARKER, *names.values()],
            "options": self.options_json(), "task": self.task_, "metric": self.metric_, "active": self.active_,
            "history": self.history_, "traffic": self.traffic_.to_json(),
        }  # fmt: skip
        with new_folder(Path(folder), MARKER) as draft:
            (draft / MARKER).write_text(json.dumps({**shared, **own}, indent=1))
            for name, content in tensors.items():
                save_file({k: v.detach().cpu().contiguous().clone() for k, v in content.items()}, draft / names[name])
        return Path(folder)


def classes_json(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Class names as JSON, with their type."""
    return {"type": classes.dtype.str, "values": classes.tolist()}


def classes_from_json(saved: dict[str, Any]) -> npt.NDArray[Any]:
    """The inverse of `classes_json`."""
    return np.array(saved["values"], dtype=np.dtype(saved["type"]))
