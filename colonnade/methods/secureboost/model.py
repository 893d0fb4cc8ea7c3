"""The model that boosting leaves: the trees at the active party, and each owner's lookup table.

As JSON and tensors, each party's records are in a file of its own, and the active party's trees apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.ids import Ids
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import ConfigError
from colonnade.methods._base.fitted import classes_json
from colonnade.methods._base.model import restored_active
from colonnade.methods._base.setup import Setup
from colonnade.methods.secureboost.rows import load_given
from colonnade.methods.secureboost.skills import Columns, owner_of
from colonnade.methods.secureboost.trees.bins import Binner
from colonnade.methods.secureboost.trees.derivatives import logits
from colonnade.methods.secureboost.trees.forest import Forest
from colonnade.methods.secureboost.trees.owner import Owner
from colonnade.methods.secureboost.trees.owners import Owners
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.wire.wire import Wire

Tensors = dict[str, dict[str, Tensor]]


class TreesModel:
    """Trees, and the owners of the columns that they divide."""

    has_networks = False

    def __init__(self, owners: Owners, forest: Forest, first: npt.NDArray[np.float64]) -> None:
        self.owners, self.forest, self.first = owners, forest, first
        self.federation = owners.fed
        self.absent: dict[str, int] = {}
        self.late: dict[str, int] = {}

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of the probabilities."""
        return self.federation.active.targets.classes

    def outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        """Ids and predictions, (N,) targets or (N, C) probabilities."""
        fed = self.federation
        ids, self.absent = load_given(fed, self.owners.names, views, absent)
        with fed.phase("predict"):
            scores = self.first + self.forest.scores(len(ids), partial(self.owners.sides, "predict"))
        targets = fed.active.targets
        return ids, targets.decode(torch.from_numpy(logits(targets.task, scores)))

    def transform(self, views: Mapping[str, Any], absent: str) -> npt.NDArray[np.float32]:
        """There is no representation."""
        raise ConfigError("secureboost has no representation to transform into. Use a method with networks.")

    def state(self) -> tuple[dict[str, Any], Tensors]:
        """What a saved model needs: JSON, and tensors by file name."""
        owners, targets = self.owners, self.federation.active.targets
        every = owners_by_name(owners)
        own = {
            "classes": classes_json(targets.classes), "mean": targets.mean, "scale": targets.scale,
            "first": self.first.tolist(), "passive": list(self.federation.passive), "parties": list(owners.names),
            "preprocessing": {name: _binner(owner).to_json() for name, owner in every.items()},
        }  # fmt: skip
        parts = {f"party-{k}": every[name].state() for k, name in enumerate(owners.names)}
        return own, {"trees": self.forest.state(), **parts}


def restore(setup: Setup, saved: dict[str, Any], tensors: Tensors) -> TreesModel:
    """The inverse of `TreesModel.state`."""
    none = np.zeros(0, dtype=np.int64)
    active = restored_active(saved, None, torch.device("cpu"))
    passive = {name: PassiveParty(name, None, none, skills=setup.skills) for name in saved["passive"]}
    names, first = tuple(saved["parties"]), np.array(saved["first"])
    own = None
    for k, name in enumerate(names):
        party = passive.get(name, active)
        party.preprocessor = Binner.from_json(saved["preprocessing"][name])
        owner = Owner.restore(party, tensors[f"party-{k}"])
        if name in passive:
            passive[name].skill(Columns).found = owner
        else:
            own = owner
    engine = InProcess(list(passive.values()), Wire(setup.offer.kinds), setup.offer, stack=False)
    owners = Owners(Federation(active, engine), names, own, [], [], none, len(first), 0)
    return TreesModel(owners, Forest.of_state(len(first), tensors["trees"]), first)


def owners_by_name(owners: Owners) -> dict[str, Owner]:
    """All parties' owners, where they are in this process."""
    here = owners.fed.engine.promises.parties
    if here is None:
        raise ConfigError("the parties' parts of this model are at their own sites.")
    found = {name: owner_of(party) for name, party in here.items()}
    return found if owners.own is None else {**found, owners.fed.active.name: owners.own}


def _binner(owner: Owner) -> Binner:
    made = owner.party.preprocessor
    if not isinstance(made, Binner):
        raise TypeError(f"party {owner.party.name!r} was not binned")
    return made
