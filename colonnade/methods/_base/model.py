"""The model that training networks leaves: an encoder at each party, a head at the active one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.ids import Ids
from colonnade.data.labels import Labels
from colonnade.data.preprocess import Preprocessor
from colonnade.data.view import as_view
from colonnade.errors import ConfigError, DataError, raise_all
from colonnade.methods._base.fitted import classes_from_json, classes_json
from colonnade.methods._base.parts.rows import categorical_fields, count_absent, load_rows, no_rows
from colonnade.methods._base.prepare import prepare
from colonnade.methods._base.setup import Setup
from colonnade.methods._base.wiring import in_process
from colonnade.parties.active import ActiveParty, Targets
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.wire.meter import Traffic
from colonnade.wire.protection import Noise

if TYPE_CHECKING:
    from colonnade.methods._base.method import Method


class NetworkModel:
    """Trained parties; predicts with representations of new rows."""

    has_networks = True

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        self.absent: dict[str, int] = {}
        self.late: dict[str, int] = {}

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of the probabilities."""
        return self.federation.active.targets.classes

    def outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        """Ids and predictions, (N,) targets or (N, C) probabilities."""
        active = self.federation.active
        ids, received = self._gather(views, absent)
        return ids, active.targets.decode(active.predict("predict", received, len(ids)))

    def transform(self, views: Mapping[str, Any], absent: str) -> npt.NDArray[np.float32]:
        """What the head reads, (N, …)."""
        active = self.federation.active
        ids, received = self._gather(views, absent)
        own = None if active.encoder is None else active.encode_table("predict")
        with torch.no_grad():
            return active.joint(own, received, len(ids)).cpu().numpy()

    def _gather(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, Mapping[str, Tensor]]:
        """Representations of new rows from the passive parties; who lacked rows or came too late is in `absent`."""
        fed = self.federation
        ids = self._load(views, absent)
        received: Mapping[str, Tensor] = {}
        if fed.passive:
            with fed.phase("predict"):
                received = fed.ask("represent", table="predict")
        self.absent |= {name: len(ids) for name in fed.passive if name not in received}
        return ids, received

    def _load(self, views: Mapping[str, Any], absent: str) -> Ids:
        fed = self.federation
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
        self.absent = count_absent(fed, names, len(ids))
        if self.absent and absent == "error":
            listed = ", ".join(f"{n!r} lacks {k} of {len(ids)} rows" for n, k in self.absent.items())
            raise DataError(f"predict: {listed}. Give these rows, or use absent='zero' to predict without them.")
        return ids

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """What a saved model needs beyond the shared part: JSON, and tensors by file name."""
        fed = self.federation
        here = fed.engine.promises.parties
        if here is None:
            raise ConfigError("the parties' parts of this model are at their own sites, where they were written.")
        targets = fed.active.targets
        parties = [fed.active, *here.values()]
        own = {
            "classes": classes_json(targets.classes), "mean": targets.mean, "scale": targets.scale,
            "outputs": targets.outputs, "passive": list(fed.passive),
            "preprocessing": {p.name: None if p.preprocessor is None else p.preprocessor.to_json() for p in parties},
        }  # fmt: skip
        return own, {f"party-{i}": party.state() for i, party in enumerate(parties)}


def restore_network(method: Method, saved: Mapping[str, Any], tensors: Mapping[str, dict[str, Tensor]]) -> NetworkModel:
    """The inverse of `NetworkModel.state`."""
    none = np.zeros(0, dtype=np.int64)
    setup, options = method.setup(), method.get_params()
    own = dict(options.get("encoders") or {})
    device = torch.device(options["device"])
    active = restored_active(saved, own.get(saved["active"]), device)
    passive = [
        PassiveParty(name, None, none, skills=setup.skills, encoder=own.get(name), device=device)
        for name in saved["passive"]
    ]
    for party in (active, *passive):
        kept = saved["preprocessing"][party.name]
        party.preprocessor = None if kept is None else Preprocessor.from_json(kept)
    fed = Federation(active, in_process(method, setup, passive, stack=False))
    model = NetworkModel(fed)
    prepare(fed, setup, options)
    put_blank(setup, active, passive)
    fed.wire.traffic = Traffic()
    for i, party in enumerate((active, *passive)):
        party.load_state(tensors[f"party-{i}"])
    for protection in fed.wire.protections:
        if isinstance(protection, Noise):
            protection.purpose += ("loaded",)  # the noise of training, used again, could be subtracted
    return model


def restored_active(saved: Mapping[str, Any], encoder: Any, device: torch.device) -> ActiveParty:
    """The active party with the classes and scales of a saved model."""
    none = np.zeros(0, dtype=np.int64)
    classes = classes_from_json(saved["classes"])
    active = ActiveParty(
        saved["active"], None, none, Labels(none, classes), saved["task"], encoder=encoder, device=device
    )
    active.targets = Targets(saved["task"], classes)
    active.targets.mean, active.targets.scale = saved["mean"], saved["scale"]
    return active


def put_blank(setup: Setup, active: ActiveParty | None, passive: list[PassiveParty]) -> None:
    """Give restored parties the encoders that training put in the place of theirs, where it did."""
    if setup.blank is None:
        return
    for party in (*((active,) if setup.blank_own and active is not None else ()), *passive):
        if party.preprocessor is not None:
            party.encoder = setup.blank(party)
