"""From the parts that training left at the sites back to networks: one party's at its own site, or all in one place.

A part is JSON and safetensors, never pickle. A passive party rebuilds its encoder; the active party its own encoder,
scaler and head, and asks the others at their sites. Whoever holds all parts can put them together into a model like
any other, which predicts the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from colonnade.data.preprocess import Preprocessor
from colonnade.errors import ConfigError, DataError
from colonnade.methods._base.method import Method
from colonnade.methods._base.model import NetworkModel, put_blank, restored_active
from colonnade.methods._base.prepare import prepare
from colonnade.methods._base.wiring import wire_of
from colonnade.methods.registry import method_named
from colonnade.parties.engine import Answers, Promises, Requests
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.skill import Offer, Operation
from colonnade.sites.files.names import check_name, is_name
from colonnade.sites.files.parts import FORMAT
from colonnade.wire.meter import Traffic
from colonnade.wire.wire import Wire

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Part:
    """One party's part of a model, as it was written."""

    run: str
    party: str
    kept: dict[str, Any]
    weights: dict[str, Tensor]


def read_part(folder: Path, run: str, party: str) -> Part:
    """The part of a run that a party's folder holds."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / f"{check_name(run)}-{party}.json"
    try:
        kept = json.loads(path.read_text())
        weights = load_file(path.with_suffix(".safetensors"))
    except FileNotFoundError:
        raise ConfigError(
            f"party {party!r} holds no part of run {run}. It is written where training ends, into out of its site.toml."
        ) from None
    except (OSError, ValueError, SafetensorError) as error:
        raise DataError(f"{path.name}: the part cannot be read ({type(error).__name__}). Train again.") from None
    if kept.get("format") != FORMAT:
        raise DataError(f"{path.name} has format {kept.get('format')!r}, and this version reads {FORMAT}. Train again.")
    return Part(run, party, kept, weights)


def find_run(folder: Path, party: str, beginning: str | None = None) -> str:
    """The run of the newest part of the active party's in a folder, or the one that begins so."""
    ends = f"-{party}.json"
    parts = [path for path in folder.glob(f"*{ends}") if is_name(path.name.removesuffix(ends))]
    parts.sort(key=lambda path: path.stat().st_mtime)
    fitting = [path.name.removesuffix(ends) for path in parts if path.name.startswith(beginning or "")]
    if not fitting:
        known = ", ".join(path.name.removesuffix(ends) for path in parts) or "none"
        what = "no run has ended" if beginning is None else f"no run begins with {beginning!r}"
        raise ConfigError(f"{folder}: {what}. Trained runs: {known}. Train by `colonnade federate train`.")
    if beginning is not None and len(fitting) > 1:
        raise ConfigError(f"{folder}: {len(fitting)} runs begin with {beginning!r}. Give more of its name.")
    return fitting[-1]


def passive_party(part: Part) -> PassiveParty:
    """A passive party with the encoder of its part."""
    party = PassiveParty(part.party, None, _NONE)
    party.precision = part.kept["precision"]
    party.preprocessor = Preprocessor.from_json(part.kept["preprocessing"])
    plan = dict(part.kept["encoder"])
    linear = plan.pop("linear")
    party.build_encoder(**plan)
    if linear:
        put_blank(method_named(part.kept["method"])().setup(), None, [party])
    party.load_state(part.weights)
    return party


def active_model(part: Part) -> Method:
    """The trained method at the active party, without the passive parties: encoder, scaler, head, classes."""
    kept = part.kept
    method = _method(kept, part.party)
    setup, options = method.setup(), method.get_params()
    active = restored_active({**kept, "active": part.party}, None, torch.device(options["device"]))
    made = kept["preprocessing"]
    active.preprocessor = None if made is None else Preprocessor.from_json(made)
    fed = Federation(active, _Elsewhere(kept["widths"], wire_of(method, setup), setup.offer))
    method.fitted_ = NetworkModel(fed)
    prepare(fed, setup, options)
    put_blank(setup, active, [])
    fed.wire.traffic = Traffic()
    active.load_state(part.weights)
    return method


def put_together(folders: Mapping[str, Path], run: str, active: str) -> Method:
    """A model of all parties' parts of a run, for somebody who holds them all; it predicts, saves and loads as any.

    Args:
        folders: where each party's part is: `out` of its site.toml.
        run: the run, as in the record.
        active: the active party's name.
    """
    mine = read_part(folders[active], run, active)
    names = [active, *mine.kept["passive"]]
    missing = [name for name in names if name not in folders]
    if missing:
        raise ConfigError(f"run {run} was trained with {', '.join(map(repr, missing))}, too. Give their folders.")
    parts = [mine, *(read_part(folders[name], run, name) for name in names[1:])]
    method = _method(mine.kept, active)
    saved = {
        **{key: mine.kept[key] for key in ("task", "classes", "mean", "scale", "passive")}, "active": active,
        "preprocessing": {part.party: part.kept["preprocessing"] for part in parts},
    }  # fmt: skip
    method.restore(saved, {f"party-{i}": part.weights for i, part in enumerate(parts)})
    return method


def _method(kept: Mapping[str, Any], active: str) -> Method:
    """The method of a part, with the options and the records of its training."""
    options: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept["options"].items()}
    method = method_named(kept["method"])(**options)
    method.task_, method.metric_, method.active_ = kept["task"], kept["metric"], active
    method.history_, method.traffic_ = kept["history"], Traffic.from_json(kept["traffic"])
    return method


class _Elsewhere:
    """Parties at their sites, of which only the widths are known: what a head is built from."""

    def __init__(self, widths: Mapping[str, int], wire: Wire, offer: Offer) -> None:
        self.widths, self.wire, self.offer, self.names = dict(widths), wire, offer, tuple(widths)

    @property
    def promises(self) -> Promises:
        """Nothing."""
        return Promises()

    def call(self, operation: Operation, requests: Requests) -> Answers:
        """The widths, and nothing else."""
        if not operation.readies:
            raise ConfigError(
                f"{operation.name!r} was asked of parties that are at their sites. Use `federate predict`."
            )
        return Answers(values={name: {"width": self.widths[name]} for name in requests.names})
