"""Combined: all columns in one place (Combine of Wu et al. 2022). A reference, not a federation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from colonnade.data.ids import Ids
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View
from colonnade.errors import DataError
from colonnade.methods._base.method import Kind, Method, Progress
from colonnade.methods._base.model import NetworkModel, restore_network
from colonnade.methods._base.network import finish, memory_errors, start
from colonnade.methods._base.options.groups import Networks, Privacy
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.setup import Setup
from colonnade.methods.local import learn_alone
from colonnade.methods.references.merge import EVERYONE, merge_data, merge_given
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.wire.message import Value


@dataclass(kw_only=True, eq=False, repr=False)
class Combined(Privacy, Networks, Method):
    """One network over all parties' columns, trained on aligned labelled rows.

    Its hidden layers have as many units as those of all parties' encoders together.
    """

    name = "combined"
    paper = "reference"
    summary = "one network over all columns in one place; not federated"
    family = "pooled"
    kind: ClassVar[Kind] = "pooled"
    between_sites: ClassVar[bool] = False

    parties_ = cast("Mapping[str, tuple[str, ...]]", MappingProxyType({}))  # categorical columns of each merged party

    def setup(self) -> Setup:
        """As many units as all the parties' encoders have."""
        return Setup(aligned_labels=False, plan=self.plan)

    def plan(self, active: ActiveParty) -> dict[str, Value]:
        """Widths of the one encoder."""
        k = len(self.parties_)
        return {"hidden": [k * h for h in self.hidden], "width": k * self.width}

    def train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        """As one party that holds all columns."""
        if self.encoders:
            raise DataError(
                "combined has one network for all parties, so encoders by party do not fit. Leave them out."
            )
        self.parties_ = {name: view.fields for name, view in data.views.items()}
        valid = None if validation is None else merge_data(validation)
        model, monitor = start(self, merge_data(data), valid, progress)
        with memory_errors(self, model.federation):
            self.run(model.federation, monitor)
        finish(self, model)
        self.fitted_ = MergedModel(model, self.parties_, self.active_)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Ordinary supervised training."""
        learn_alone(self, fed, monitor, fed.active.labelled)

    def restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        """Take over a saved model."""
        self.parties_ = {n: tuple(f) for n, f in saved["parties"].items()}
        network = restore_network(self, {**saved, "active": EVERYONE}, tensors)
        self.fitted_ = MergedModel(network, self.parties_, self.active_)


class MergedModel:
    """A network over the columns of all parties, which are merged before it reads them."""

    has_networks = True

    def __init__(self, network: NetworkModel, parties: Mapping[str, tuple[str, ...]], active: str) -> None:
        self.network, self.parties, self.active = network, parties, active
        self.federation, self.classes = network.federation, network.classes
        self.absent: dict[str, int] = {}
        self.late: dict[str, int] = {}

    def outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        """Ids and predictions, (N,) targets or (N, C) probabilities."""
        return self.network.outputs({EVERYONE: self._merge(views, absent)}, absent)

    def transform(self, views: Mapping[str, Any], absent: str) -> npt.NDArray[np.float32]:
        """The representation that the head reads, (N, D)."""
        return self.network.transform({EVERYONE: self._merge(views, absent)}, absent)

    def _merge(self, views: Mapping[str, Any], absent: str) -> View:
        made = self.federation.active.fitted_preprocessor()
        merged, self.absent = merge_given(views, made, self.parties, self.active, absent)
        return merged

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """What a saved model needs beyond the shared part."""
        own, tensors = self.network.state()
        return {**own, "parties": {n: list(f) for n, f in self.parties.items()}}, tensors
