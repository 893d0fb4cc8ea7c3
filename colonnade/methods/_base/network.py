"""Training networks at all parties: what happens around a method's own loop, and the model that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, DataError
from colonnade.methods._base.model import NetworkModel
from colonnade.methods._base.parts.labels import check_labels
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.parts.rows import load_rows
from colonnade.methods._base.prepare import prepare
from colonnade.methods._base.setup import Setup
from colonnade.methods._base.wiring import in_process, late_parties, wire_of
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation, RemoteData
from colonnade.parties.memory import largest_fitting
from colonnade.parties.passive import PassiveParty
from colonnade.wire.meter import Traffic
from colonnade.wire.protections import Marvell, find_problems

if TYPE_CHECKING:
    from colonnade.methods._base.method import Method

Progress = Callable[[str, int, int], None]


def network_problems(method: Method) -> list[str]:
    """What is wrong with the protections that were asked for."""
    options = method.get_params()
    if "protect" not in options:
        return []
    setup = method.setup()
    exact = [kind.name for kind in setup.offer.kinds.values() if not kind.holds_floats]
    return find_problems(options["protect"], method.name, setup.sends, setup.mixed(options), setup.lacks, exact)


def start(
    method: Method, data: VerticalData, validation: VerticalData | None, progress: Progress
) -> tuple[NetworkModel, Monitor]:
    """Put the parties together, prepare them, and give them their validation rows: what is before a method's loop."""
    setup, options = method.setup(), method.get_params()
    check_parties(method, setup, data)
    fed = assemble(method, setup, data, progress)
    check_labels(fed.active, method.name, aligned=setup.aligned_labels)
    prepare(fed, setup, options)
    truth = None if validation is None else load_validation(fed, validation)
    monitor = Monitor(fed, method.metric_, method.history_, progress, options["epochs"], options["patience"], truth)
    return NetworkModel(fed), monitor


def finish(method: Method, model: NetworkModel) -> None:
    """Take the traffic and the late answers of the loop that has ended."""
    fed = model.federation
    model.late = dict(fed.engine.promises.late)
    method.traffic_, fed.wire.traffic = fed.wire.traffic, Traffic()


@contextmanager
def memory_errors(method: Method, fed: Federation) -> Iterator[None]:
    """Say which batch would fit, where a device runs out of memory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        options, reason = method.get_params(), str(error).partition(".")[0]
        raise ConfigError(f"{options['device']} ran out of memory: {reason}. {_way_out(fed, options)}") from None


def check_parties(method: Method, setup: Setup, data: VerticalData) -> None:
    """Refuse data that lack a party, or columns, that the method needs."""
    if setup.own_columns and data.active not in data.views:
        raise DataError(
            f"{method.name} trains a network of party {data.active!r}, which has labels and no columns. "
            f"Use a method that needs none of its columns, e.g. splitnn or ss-vfl-c."
        )
    if setup.skills and not data.passive:
        raise DataError(f"{method.name} needs a passive party beside {data.active!r}. Add a view, or use local.")
    unknown = [name for name in late_parties(method) if name not in data.passive]
    if unknown:
        raise ConfigError(f"late names {unknown}, but the passive parties are {list(data.passive)}.")


def assemble(method: Method, setup: Setup, data: VerticalData, progress: Progress) -> Federation:
    """The parties of the data, and the engine between them."""
    device = torch.device(method.device)  # type: ignore[attr-defined]
    names = data.passive if setup.skills else ()
    own: dict[str, Any] = dict(getattr(method, "encoders", None) or {})
    unknown = [name for name in own if name not in data.views]
    if unknown:
        raise ConfigError(f"encoders names {unknown}, but the parties are {list(data.views)}.")
    views = {name: data.views[name] for name in (data.active, *names) if name in data.views}
    aligned = VerticalData.of(views, data.labels, data.active, data.task).aligned
    active = ActiveParty(
        data.active, views.get(data.active), aligned, data.labels, data.task,
        encoder=own.get(data.active), device=device,
    )  # fmt: skip
    active.own_objectives, active.progress = dict(setup.objectives), progress
    if isinstance(data, RemoteData):
        fed = _reach(method, setup, data, active, own, names)
    else:
        passive = [
            PassiveParty(name, views[name], aligned, skills=setup.skills, encoder=own.get(name), device=device)
            for name in names
        ]
        for party in passive:
            party.own_objectives, party.progress = dict(setup.objectives), progress
        fed = Federation(active, in_process(method, setup, passive))
    show_labels(fed)
    return fed


def _reach(
    method: Method, setup: Setup, data: RemoteData, active: ActiveParty, own: Mapping[str, Any], names: tuple[str, ...]
) -> Federation:
    """A federation whose passive parties are at their own sites."""
    if elsewhere := [name for name in own if name != data.active]:
        raise ConfigError(f"encoders names {elsewhere}, whose networks are made at their own sites.")
    active.keeper, active.secret = data.keeper, data.secret
    fed = Federation(active, data.reach(names, wire_of(method, setup), setup.offer))
    waits = getattr(method, "response_limit", None) is not None or late_parties(method)
    if waits and not fed.engine.promises.may_be_late:
        raise ConfigError("response_limit and late are for one process. Between sites, set timeout in federation.toml.")
    return fed


def show_labels(fed: Federation) -> None:
    """Let the active party's own protections read its labels, where they are shaped by them."""
    active = fed.active
    known = torch.zeros(len(active.y["train"]), dtype=torch.bool)
    known[active.labelled] = True

    def labels(rows: torch.Tensor) -> torch.Tensor:
        at = rows.to(active.device).long()
        return torch.where(known.to(active.device)[at], active.y["train"][at], -1)

    for protection in fed.wire.protections:
        if not isinstance(protection, Marvell):
            continue
        if active.targets.outputs != 2:
            what = "regression" if active.targets.task == "regression" else f"{active.targets.outputs} classes"
            raise ConfigError(
                f"protect 'marvell:gradient:{protection.scale:g}': Marvell hides which of two classes a row has, and "
                f"this is {what}. Use iso:gradient."
            )
        protection.labels = labels


def load_validation(fed: Federation, validation: VerticalData) -> npt.NDArray[Any]:
    """Give every party its validation rows, in the order of the labelled ids; the labels."""
    active = fed.active
    ids = np.sort(validation.labels.ids)
    values, _ = validation.labels.of(ids)
    active.y["valid"] = active.targets.encode(values).to(active.device)
    load_rows(fed, "valid", validation.views, ids)
    return values


def _way_out(fed: Federation, options: Mapping[str, Any]) -> str:
    """Which batch would fit, tried on the device."""
    here = fed.engine.promises.parties
    sizes = {k: v for k, v in options.items() if k in ("batch_size", "pretrain_batch_size")}
    if not sizes:
        return "Use device='cpu'."
    if here is None:
        return "Lower batch_size."
    parties = [party for party in (fed.active, *here.values()) if party.encoder is not None]
    fits = largest_fitting(parties, max(sizes.values()))
    used = " and ".join(f"{name}={size}" for name, size in sizes.items())
    if not fits:
        return f"Used: {used}; not even one row fits. Use a smaller encoder, or fewer parties on one device."
    return f"Used: {used}; {fits} rows fit. Set what is larger to {fits}."
