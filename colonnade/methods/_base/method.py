"""`Method`: the part that all methods share, in scikit-learn's manner.

Options in the constructor, checked there; `fit` returns self; what training found ends in an underscore. A method says
what a run sets up (`setup`), and writes the paper's loop (`run`). What training leaves is one object, `fitted_`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from colonnade.data.ids import locate
from colonnade.data.labels import Labels, Task, as_labels
from colonnade.data.metrics import check_metric, default_metric, score, scores
from colonnade.data.vertical import VerticalData
from colonnade.errors import ColonnadeError, ConfigError, DataError, did_you_mean, raise_all
from colonnade.methods._base.fitted import Fitted, check_absent
from colonnade.methods._base.given import tables, tables_and_labels, training_rows
from colonnade.methods._base.model import restore_network
from colonnade.methods._base.network import finish, memory_errors, network_problems, start
from colonnade.methods._base.options.data import Ge, Help, options_of, problem_of
from colonnade.methods._base.options.text import plain
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.setup import Setup, Skills
from colonnade.methods._base.store import save_model
from colonnade.methods._base.threads import Rule, limited
from colonnade.parties.federation import Federation
from colonnade.wire.meter import Traffic
from colonnade.wire.protections.text import unreadable
from colonnade.wire.wire import Observer

Progress = Callable[[str, int, int], None]  # phase, steps done, steps in all
SEEDED = "the noise follows from the run's seed: whoever knows the seed can take it away"
Kind = Literal["federated", "alone", "pooled"]  # pooled: all columns in one place, a reference that is not federated


def no_progress(phase: str, done: int, total: int) -> None:
    """Nobody listens."""


class NotFittedError(ColonnadeError):
    """The method has not been trained."""


@dataclass(kw_only=True, eq=False, repr=False)
class Method:
    """Base of all methods."""

    seed: Annotated[int, Ge(0), Help("Seed of all random draws. Same seed, same result.")] = 0

    name: ClassVar[str]  # as on the command line
    paper: ClassVar[str] = ""
    summary: ClassVar[str] = ""  # half a line
    family: ClassVar[str] = "other"  # a key of `FAMILIES`
    packages: ClassVar[tuple[str, ...]] = ()  # that it cannot do without, beyond those of the core
    extra: ClassVar[str] = ""  # of Colonnade, which installs them
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass", "regression")
    kind: ClassVar[Kind] = "federated"
    between_sites: ClassVar[bool] = True  # whether it trains between sites
    skills: ClassVar[Skills] = ()  # of passive parties, that a run with some options needs; `setup` says which

    @classmethod
    def installed(cls) -> bool:
        """Whether the packages that the method needs are here."""
        return all(find_spec(package) is not None for package in cls.packages)

    # what a method writes ------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """What is wrong with options together; each alone is checked by its own bounds."""
        return []

    def setup(self) -> Setup:
        """What a run with these options sets up."""
        return Setup()

    def check_data(self, data: VerticalData) -> None:
        """Refuse data that the method cannot use."""

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """The paper's loop."""
        raise TypeError(f"{type(self).__name__} does not define run")

    def train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        """Train, and set `fitted_`: networks at all parties, by `run`, unless a method has none."""
        model, monitor = start(self, data, validation, progress)
        self.fitted_ = model
        with memory_errors(self, model.federation):
            self.run(model.federation, monitor)
        finish(self, model)

    def restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        """Set `fitted_` from what a saved model holds."""
        self.fitted_ = restore_network(self, saved, tensors)

    # options -------------------------------------------------------------------------------------------------------

    def __new__(cls, **options: Any) -> Any:
        """Refuse unknown options; the dataclass's own error would name no way out."""
        known = [field.name for field in fields(cls)]
        wrong = [
            f"{name!r} is no option of {cls.__name__}. {did_you_mean(name, known)}"
            for name in options
            if name not in known
        ]
        raise_all(wrong, ConfigError, "Unknown option")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.check_options()

    def check_options(self) -> None:
        """Refuse options that cannot be; numbers of numpy become Python's. Also called before training."""
        for field in fields(self):
            setattr(self, field.name, plain(getattr(self, field.name)))
        found = [problem_of(option, getattr(self, name)) for name, option in options_of(type(self)).items()]
        problems = [problem for problem in found if problem is not None]
        problems += unreadable(getattr(self, "protect", ())) if problems else self.check() + network_problems(self)
        raise_all(problems, ConfigError, type(self).__name__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All options by name, as in scikit-learn."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **options: Any) -> Self:
        """Change options, as in scikit-learn; they are checked anew."""
        changed = type(self)(**{**self.get_params(), **options})
        for name, value in changed.get_params().items():
            setattr(self, name, value)
        return self

    def options_json(self) -> dict[str, Any]:
        """The options as JSON can hold them; modules of the user's are named by their class."""
        out = {}
        for key, value in self.get_params().items():
            if isinstance(value, Mapping):
                value = {k: v if isinstance(v, str | int | float) else type(v).__name__ for k, v in value.items()}
            out[key] = list(value) if isinstance(value, tuple) else value
        return out

    def __repr__(self) -> str:
        changed = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.default is MISSING or getattr(self, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # training ------------------------------------------------------------------------------------------------------

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
            able = ", ".join(method.name for method in known_methods() if data.task in method.tasks)
            raise ConfigError(
                f"{self.name} does {', '.join(self.tasks)}, not {data.task}. These do {data.task}: {able}."
            )
        self.task_: Task = data.task
        self.metric_ = check_metric(metric or default_metric(data.task), data.task)
        self.active_ = data.active
        self.history_: list[dict[str, Any]] = []
        self.traffic_ = Traffic()
        vars(self).pop("ledger_", None)  # of an earlier training, whose budget says nothing of this one
        check_apart(data, validation)
        self.check_data(data)
        with limited(Rule.here().of(data).number):
            self.train(data, validation, progress or no_progress)
        return self

    # prediction ----------------------------------------------------------------------------------------------------

    fitted_ = cast("Fitted | None", None)  # what training left; set by `train`
    observers = cast("tuple[Observer, ...]", ())  # see every message of the next training, as its receiver does

    @property
    def facts_(self) -> dict[str, Any]:
        """What the record of a run says besides."""
        return {}

    @property
    def federation_(self) -> Federation:
        """The parties after training."""
        found = self.trained().federation
        if found is None:
            raise ConfigError(f"{self.name} sees all columns in one place, so there is no federation.")
        return found

    @property
    def late_(self) -> dict[str, int]:
        """Answers of each party that came too late in training and counted as zero."""
        return self.trained().late

    @property
    def protections_(self) -> list[dict[str, Any]]:
        """What was done to messages: name, kind, strength, and whether there is a guarantee; for the record."""
        fed = self.trained().federation
        if fed is None:
            return []
        here, kinds = fed.engine.promises.parties is not None, fed.wire.kinds
        seeded = [here or kinds[str(made.describe()["kind"])].direction == "down" for made in fed.wire.protections]
        caution = {"caution": SEEDED}
        return [
            {**made.describe(), **(caution if known else {})}
            for made, known in zip(fed.wire.protections, seeded, strict=True)
        ]

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of `predict_proba`'s columns."""
        return self.trained().classes

    @property
    def absent_(self) -> dict[str, int]:
        """How many of the rows that were predicted last each party lacked, for those that lacked some."""
        return self.trained().absent

    def predict_proba(self, views: VerticalData | Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[Any]:
        """Class probabilities, (N, C), in the row order of the active party's view.

        Args:
            views: party name to table, as in training; or `VerticalData`.
            absent: what to do about rows that a party does not hold: "error", or "zero" (go on with a zero
                representation, as Wu et al. 2022, App. C do, or with missing values where all columns are in one
                place; `absent_` then says how many rows each party lacked).
        """
        trained = self.trained()
        check_absent(absent)
        if self.task_ == "regression":
            raise ConfigError(
                "predict_proba is for classification, and this model was trained for regression. Use predict."
            )
        return trained.outputs(tables(views), absent)[1]

    def predict(self, views: VerticalData | Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[Any]:
        """Classes or targets, (N,), in the row order of the active party's view."""
        trained = self.trained()
        check_absent(absent)
        out = trained.outputs(tables(views), absent)[1]
        return out if self.task_ == "regression" else self.classes_[out.argmax(axis=1)]

    def transform(self, views: VerticalData | Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[np.float32]:
        """The joint representation that the head reads, (N, …)."""
        trained = self.trained()
        check_absent(absent)
        return trained.transform(tables(views), absent)

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
        truth, out = self.truth_and_outputs(views, labels, absent)
        return score(check_metric(metric or self.metric_, self.task_), truth, out, self.classes_)

    def scores(
        self, views: VerticalData | Mapping[str, Any], labels: Any = None, *, absent: str = "error"
    ) -> dict[str, float]:
        """Every metric that fits the task, on rows given as for `score`."""
        truth, out = self.truth_and_outputs(views, labels, absent)
        return scores(truth, out, self.classes_, self.task_)

    def truth_and_outputs(
        self, given: VerticalData | Mapping[str, Any], labels: Any = None, absent: str = "error"
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Labels and predictions of the labelled rows, given as for `score`: what a metric compares."""
        trained = self.trained()
        check_absent(absent)
        views, labels = tables_and_labels(given, labels)
        ids, out = trained.outputs(views, absent)
        problems: list[str] = []
        known: Labels = as_labels(labels, ids, "labels", problems)
        values, labelled = known.of(ids)
        if not labelled.any():
            problems.append("none of the rows has a label. Index the labels by the same ids as the views.")
        raise_all(problems, DataError, "score")
        return values[labelled], out[labelled]

    def trained(self) -> Fitted:
        """What training left; before training, an error that says what to do."""
        if self.fitted_ is None:
            raise NotFittedError(
                f"this {type(self).__name__} has not been trained. Call fit first, or colonnade.load a saved one."
            )
        return self.fitted_

    def save(self, folder: str | Path) -> Path:
        """Write the model as safetensors and JSON. The folder appears complete or not at all.

        It must be new, empty, or hold an earlier saved model and nothing else.
        """
        return save_model(self, self.trained(), Path(folder))


def known_methods() -> list[type[Method]]:
    """All methods that are loaded, one for each name."""
    found: dict[str, type[Method]] = {}
    left: list[type[Method]] = [Method]
    for method in left:
        left += method.__subclasses__()
        if hasattr(method, "name"):
            found.setdefault(method.name, method)
    return list(found.values())


def check_apart(data: VerticalData, validation: VerticalData | None) -> None:
    """Refuse validation rows of other parties, or that are training rows too."""
    problems: list[str] = []
    if validation is not None:
        if list(validation.views) != list(data.views):
            problems.append(f"validation has the parties {list(validation.views)}, training {list(data.views)}.")
        else:
            for name, view in data.views.items():
                shared = int((locate(view.ids, validation.views[name].ids) >= 0).sum())
                if shared:
                    problems.append(f"party {name!r}: {shared} validation rows are training rows too. Keep them apart.")
    raise_all(problems, DataError, "The data cannot be used")
