"""Boosted trees as JSON and tensors: each party's records in a file of its own, the active party's trees apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from colonnade.data.labels import Labels
from colonnade.engines.in_process.engine import InProcess
from colonnade.methods._base.method import classes_from_json, classes_json
from colonnade.methods.secureboost.trees.bins import Binner
from colonnade.methods.secureboost.trees.forest import Forest
from colonnade.methods.secureboost.trees.owner import Owner
from colonnade.methods.secureboost.trees.owners import Owners
from colonnade.parties.active import ActiveParty, Targets
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.wire.wire import Wire

Tensors = dict[str, dict[str, Tensor]]


def state(owners: Owners, forest: Forest, first: npt.NDArray[np.float64]) -> tuple[dict[str, Any], Tensors]:
    """What a saved model needs: JSON, and tensors by file name."""
    targets = owners.fed.active.targets
    every = owners_by_name(owners)
    own = {
        "classes": classes_json(targets.classes), "mean": targets.mean, "scale": targets.scale, "first": first.tolist(),
        "passive": list(owners.fed.passive), "parties": list(owners.names),
        "preprocessing": {name: _binner(owner).to_json() for name, owner in every.items()},
    }  # fmt: skip
    parts = {f"party-{k}": every[name].state() for k, name in enumerate(owners.names)}
    return own, {"trees": forest.state(), **parts}


def restore(saved: dict[str, Any], tensors: Tensors, wire: Wire) -> tuple[Owners, Forest, npt.NDArray[np.float64]]:
    """The inverse of `state`."""
    none = np.zeros(0, dtype=np.int64)
    classes = classes_from_json(saved["classes"])
    active = ActiveParty(saved["active"], None, none, Labels(none, classes), saved["task"])
    active.targets = targets = Targets(saved["task"], classes)
    targets.mean, targets.scale = saved["mean"], saved["scale"]
    passive = {name: PassiveParty(name, None, none) for name in saved["passive"]}
    names, first = tuple(saved["parties"]), np.array(saved["first"])
    own = None
    for k, name in enumerate(names):
        party = passive.get(name, active)
        party.preprocessor = Binner.from_json(saved["preprocessing"][name])
        owner = Owner.restore(party, tensors[f"party-{k}"])
        if name in passive:
            passive[name].trees = owner
        else:
            own = owner
    fed = Federation(active, InProcess(list(passive.values()), wire, stack=False))
    owners = Owners(fed, names, own, [], [], none, len(first), 0)
    return owners, Forest.of_state(len(first), tensors["trees"]), first


def owners_by_name(owners: Owners) -> dict[str, Owner]:
    """All parties' owners, where they are in this process."""
    engine = owners.fed.engine
    assert isinstance(engine, InProcess)
    found = {name: party.trees for name, party in engine.parties.items()}
    found[owners.fed.active.name] = owners.own
    return {name: owner for name, owner in found.items() if owner is not None}


def _binner(owner: Owner) -> Binner:
    made = owner.party.preprocessor
    assert isinstance(made, Binner)
    return made
