"""What methods with an encoder at every party share: options, the federation they run in, prediction, storing.

A method of this kind writes one function, `run`: the paper's loop over a `Federation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from colonnade.data.ids import Ids
from colonnade.data.labels import Labels
from colonnade.data.preprocess import Preprocessor
from colonnade.data.vertical import VerticalData
from colonnade.data.view import as_view
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import ConfigError, DataError, raise_all
from colonnade.methods._base.given import tables
from colonnade.methods._base.method import Method, Progress, check_absent, classes_from_json, classes_json, no_progress
from colonnade.methods._base.options import above, at_least, check_mapping, one_of, widths
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.parts.rows import categorical_fields, count_absent, load_rows, no_rows
from colonnade.nets.image import IMAGE_ENCODERS
from colonnade.nets.optimizer import OPTIMIZERS
from colonnade.objectives.training import OwnObjective
from colonnade.parties.active import ActiveParty, Scaler, Targets
from colonnade.parties.federation import Federation, RemoteData
from colonnade.parties.memory import largest_fitting
from colonnade.parties.passive import PassiveParty
from colonnade.wire.message import Value
from colonnade.wire.meter import Traffic
from colonnade.wire.wire import Wire


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkMethod(Method):
    """A method whose parties have encoders and whose active party has a head."""

    hidden: tuple[int, ...] = (128,)  # hidden layers of each encoder
    width: int = 64  # width of a representation
    embedding: int = 8  # width of a category's embedding
    image_encoder: str = "cnn0"  # of parties that hold images: cnn0, cnn1, resnet18 or resnet50
    head_hidden: tuple[int, ...] = ()  # hidden layers of the head; none makes it linear
    epochs: int = 200  # at most; early stopping on the validation loss ends training before
    batch_size: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    optimizer: str = "adam"  # adam, sgd (momentum 0.9) or adagrad
    patience: int = 20  # epochs without a lower validation loss before training stops
    precision: str = "float32"  # bf16: networks run under autocast
    device: str = "cpu"
    encoders: Mapping[str, nn.Module] | None = None  # own networks by party; the others get the default encoder

    needs_aligned_labels: ClassVar[bool] = True
    needs_own_columns: ClassVar[bool] = False  # whether the active party must have columns
    freezes_own: ClassVar[bool] = False  # whether the active party's own encoder stays as pre-training left it
    scales_received: ClassVar[bool] = False  # whether representations, sent once, are standardised on arrival

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        widths(problems, "hidden", self.hidden)
        widths(problems, "head_hidden", self.head_hidden)
        for name in ("width", "embedding", "epochs", "batch_size", "patience"):
            at_least(problems, name, getattr(self, name), 1)
        above(problems, "learning_rate", self.learning_rate, 0)
        at_least(problems, "weight_decay", self.weight_decay, 0, whole=False)
        one_of(problems, "optimizer", self.optimizer, OPTIMIZERS)
        one_of(problems, "image_encoder", self.image_encoder, IMAGE_ENCODERS)
        one_of(problems, "precision", self.precision, ("float32", "bf16"))
        check_mapping(problems, "encoders", self.encoders)
        if not isinstance(self.device, str) or not self.device.startswith(("cpu", "cuda")):
            problems.append(f"device must be 'cpu' or 'cuda' (or 'cuda:1', …). Got {self.device!r}.")
        elif self.device.startswith("cuda") and not torch.cuda.is_available():
            problems.append(f"device={self.device!r}, but no CUDA device is here. Use device='cpu'.")

    def _check_data(self, data: VerticalData, validation: VerticalData | None) -> None:
        super()._check_data(data, validation)
        if self.needs_own_columns and data.active not in data.views:
            raise DataError(
                f"{self.name} trains a network of party {data.active!r}, which has labels and no columns. "
                f"Use a method that needs none of its columns, e.g. splitnn or ss-vfl-c."
            )

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """The method's own loop."""
        raise TypeError(f"{type(self).__name__} does not define run")

    # how the federation is put together; methods with other parties override these -------------------------------

    def participants(self, data: VerticalData) -> tuple[str, ...]:
        """The passive parties that take part."""
        return data.passive

    def wire(self) -> Wire:
        """The wire between the parties."""
        return Wire()

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        fed = self._assemble(data, progress)
        self.federation_ = fed
        self._check_labels(fed.active)
        truth = None
        if validation is not None:
            truth = self._load_validation(fed, validation)
        monitor = Monitor(fed, self.metric_, self.history_, progress, self.epochs, self.patience, truth)
        try:
            self.run(fed, monitor)
        except torch.OutOfMemoryError as error:
            reason = str(error).partition(".")[0]
            raise ConfigError(f"{self.device} ran out of memory: {reason}. {self._way_out(fed)}") from None
        self.traffic_, fed.wire.traffic = fed.wire.traffic, Traffic()

    def _way_out(self, fed: Federation) -> str:
        """Which batch would fit, tried on the device."""
        if not isinstance(fed.engine, InProcess):
            return "Lower batch_size."
        sizes = {k: v for k, v in self.get_params().items() if k in ("batch_size", "pretrain_batch_size")}
        parties = [party for party in (fed.active, *fed.engine.parties.values()) if party.encoder is not None]
        fits = largest_fitting(parties, max(sizes.values()))
        used = " and ".join(f"{name}={size}" for name, size in sizes.items())
        if not fits:
            return f"Used: {used}; not even one row fits. Use a smaller encoder, or fewer parties on one device."
        return f"Used: {used}; {fits} rows fit. Set what is larger to {fits}."

    def own_objectives(self) -> dict[str, OwnObjective]:
        """Objectives of the user's by name."""
        return {}

    def _assemble(self, data: VerticalData, progress: Progress = no_progress) -> Federation:
        device = torch.device(self.device)
        names = self.participants(data)
        own_objectives = self.own_objectives()
        own = dict(self.encoders or {})
        unknown = [name for name in own if name not in data.views]
        if unknown:
            raise ConfigError(f"encoders names {unknown}, but the parties are {list(data.views)}.")
        views = {name: data.views[name] for name in (data.active, *names) if name in data.views}
        aligned = VerticalData.of(views, data.labels, data.active, data.task).aligned
        active = ActiveParty(
            data.active,
            views.get(data.active),
            aligned,
            data.labels,
            data.task,
            encoder=own.get(data.active),
            device=device,
        )
        active.own_objectives, active.progress = own_objectives, progress
        if isinstance(data, RemoteData):
            if elsewhere := [name for name in own if name != data.active]:
                raise ConfigError(f"encoders names {elsewhere}, whose networks are made at their own sites.")
            active.keeper, active.secret = data.keeper, data.secret
            return Federation(active, data.reach(names, self.wire()))
        passive = [PassiveParty(name, views[name], aligned, encoder=own.get(name), device=device) for name in names]
        for party in passive:
            party.own_objectives, party.progress = own_objectives, progress
        return Federation(active, InProcess(passive, self.wire()))

    def _check_labels(self, active: ActiveParty) -> None:
        rows = active.labelled_aligned if self.needs_aligned_labels else active.labelled
        problems = []
        if len(rows) == 0:
            problems.append(
                f"none of the {len(active.labelled)} labelled rows of party {active.name!r} is held by all parties, "
                f"and {self.name} trains on such rows. Label some aligned rows, or use local."
            )
        elif active.targets.task != "regression" and len(torch.unique(active.y["train"][rows.to(active.device)])) < 2:
            problems.append(
                f"the labelled rows that {self.name} can use are all of one class. Label rows of another class."
            )
        raise_all(problems, DataError, "The data cannot be used")

    def _load_validation(self, fed: Federation, validation: VerticalData) -> npt.NDArray[Any]:
        """Give every party its validation rows, in the order of the labelled ids."""
        active = fed.active
        self.prepare(fed)
        ids = np.sort(validation.labels.ids)
        values, _ = validation.labels.of(ids)
        active.y["valid"] = active.targets.encode(values).to(active.device)
        load_rows(fed, "valid", validation.views, ids)
        return values

    def training(self) -> Training:
        """How the supervised phase updates."""
        return Training(
            batch_size=self.batch_size, optimizer=self.optimizer, learning_rate=self.learning_rate,
            weight_decay=self.weight_decay, seed=self.seed,
        )  # fmt: skip

    def plan(self) -> dict[str, Value]:
        """The settings from which every party builds its encoder."""
        return {
            "hidden": list(self.hidden), "width": self.width, "embedding": self.embedding,
            "image": self.image_encoder, "seed": self.seed,
        }  # fmt: skip

    def prepare(self, fed: Federation) -> None:
        """Fit the preprocessing and build encoders and head at every party; done once."""
        active = fed.active
        if hasattr(active, "head"):
            return
        active.precision = self.precision
        active.frozen = self.freezes_own
        if active.preprocessor is None:
            active.fit_preprocessor()
        if active.preprocessor is not None:
            self.build_own_encoder(active)
        with fed.phase("setup"):
            answers = fed.ask_values("prepare", **self.plan(), precision=self.precision)
        received = {name: int(answer["width"]) for name, answer in answers.items()}  # type: ignore[arg-type]
        if self.scales_received:
            own = {active.name: active.width} if active.frozen and active.encoder is not None else {}
            active.scaler = Scaler({**own, **received}).to(active.device)
        self.build_head(active, received)

    def build_own_encoder(self, active: ActiveParty) -> None:
        """The active party's own encoder, built like the others'."""
        active.build_encoder(**self.plan())  # type: ignore[arg-type]

    def build_head(self, active: ActiveParty, received: Mapping[str, int]) -> None:
        """The head over representations of these widths."""
        active.build_head(received, how="concat", hidden=list(self.head_hidden), seed=self.seed)

    # prediction ---------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of `predict_proba`'s columns."""
        return self.federation_.active.targets.classes

    def _outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        active = self.federation_.active
        ids, received = self._gather(views, absent)
        return ids, active.targets.decode(active.predict("predict", received, len(ids)))

    def transform(self, views: VerticalData | Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[np.float32]:
        """The joint representation that the head reads, (N, …)."""
        self._check_fitted()
        check_absent(absent)
        active = self.federation_.active
        ids, received = self._gather(tables(views), absent)
        own = None if active.encoder is None else active.encode_table("predict")
        with torch.no_grad():
            return active.joint(own, received, len(ids)).cpu().numpy()

    def _gather(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, Mapping[str, Tensor]]:
        """Representations of new rows from the passive parties; who lacked rows or came too late is in `absent_`."""
        fed = self.federation_
        ids = self._load_predict(views, absent)
        with fed.phase("predict"):
            received = fed.ask("represent", table="predict")
        self.absent_ |= {name: len(ids) for name in fed.passive if name not in received}
        return ids, received

    def _load_predict(self, views: Mapping[str, Any], absent: str) -> Ids:
        fed = self.federation_
        problems: list[str] = []
        names = [*([fed.active.name] if fed.active.preprocessor is not None else []), *fed.passive]
        given = {n: as_view(views[n], n, categorical_fields(fed, n), problems) for n in names if n in views}
        missing = [n for n in names if n not in given]
        if missing and absent == "error":
            problems.append(
                f"party {', '.join(map(repr, missing))} has no rows, but took part in training. "
                f"Give its table, or use absent='zero' to go on without it."
            )
        if not given:
            problems.append(f"no table was given. Give those of {', '.join(map(repr, names))}.")
        raise_all(problems, DataError, "predict")
        ids = given[names[0]].ids if names[0] in given else next(iter(given.values())).ids
        load_rows(fed, "predict", {n: given.get(n, no_rows(fed, n)) for n in names}, ids)
        self.absent_ = count_absent(fed, names, len(ids))
        if self.absent_ and absent == "error":
            listed = ", ".join(f"{n!r} lacks {k} of {len(ids)} rows" for n, k in self.absent_.items())
            raise DataError(f"predict: {listed}. Give these rows, or use absent='zero' to predict without them.")
        return ids

    # storing ------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        fed = self.federation_
        engine = fed.engine
        if not isinstance(engine, InProcess):
            raise ConfigError("the parties' parts of this model are at their own sites, where they were written.")
        targets = fed.active.targets
        parties = [fed.active, *engine.parties.values()]
        own = {
            "classes": classes_json(targets.classes), "mean": targets.mean, "scale": targets.scale,
            "outputs": targets.outputs, "passive": list(fed.passive),
            "preprocessing": {p.name: None if p.preprocessor is None else p.preprocessor.to_json() for p in parties},
        }  # fmt: skip
        return own, {f"party-{i}": party.state() for i, party in enumerate(parties)}

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        none = np.zeros(0, dtype=np.int64)
        classes = classes_from_json(saved["classes"])
        task = saved["task"]
        own = dict(self.encoders or {})
        device = torch.device(self.device)
        active = ActiveParty(
            saved["active"], None, none, Labels(none, classes), task, encoder=own.get(saved["active"]), device=device
        )
        active.targets = Targets(task, classes)
        active.targets.mean, active.targets.scale = saved["mean"], saved["scale"]
        passive = [PassiveParty(name, None, none, encoder=own.get(name), device=device) for name in saved["passive"]]
        for party in (active, *passive):
            kept = saved["preprocessing"][party.name]
            party.preprocessor = None if kept is None else Preprocessor.from_json(kept)
        self.federation_ = Federation(active, InProcess(passive, self.wire(), stack=False))
        self.prepare(self.federation_)
        self.reshape(passive)
        self.federation_.wire.traffic = Traffic()
        for i, party in enumerate((active, *passive)):
            party.load_state(tensors[f"party-{i}"])

    def reshape(self, passive: list[PassiveParty]) -> None:
        """Give restored parties encoders of the shape that training left, where it is not that of `prepare`."""
