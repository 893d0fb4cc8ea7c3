"""A finished run as its judge sees it: the model, the rows by which it was made, and its audit log.

An adversary has what the audit log says it received. Where an attack needs what was in the messages, the training is
replayed: same data, same options, same seed, so the same messages, with a witness at each passive party.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from colonnade.data.splits import Split
from colonnade.errors import ConfigError, DataError, did_you_mean
from colonnade.lab.attacks.finding import RefusedError
from colonnade.lab.attacks.witness import Witness
from colonnade.lab.run.cell import Cell, sizes
from colonnade.methods._base.method import Method
from colonnade.methods.registry import load
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.kinds import GRADIENT, ROWS

SAME = 1e-3  # largest difference of a weight between a run and its replay
Entry = dict[str, Any]  # of the audit log


@dataclass(eq=False)
class Run:
    """A trained method, its rows, and its audit log."""

    model: Method
    parts: Split
    audit: list[Entry]
    tell: Callable[[str], None] = lambda text: None  # hears what is going on
    witnesses: dict[str, Witness] | None = field(default=None, init=False)  # of the replay, once there was one

    @classmethod
    def of(cls, model: Method, parts: Split) -> Run:
        """The run of a model that was just trained on `parts.train`."""
        fed = model.trained().federation
        return cls(model, parts, [] if fed is None else fed.wire.audit_json())

    @property
    def active(self) -> str:
        """The party with the labels."""
        return self.model.active_

    @property
    def federation(self) -> Federation:
        """The parties, where there were several."""
        networks = self.model.trained().has_networks
        if not networks and self.model.traffic_.bytes:
            raise RefusedError(f"the attacks read encoders, and {self.model.name} has none: see its page in the docs.")
        if not networks or not self.model.federation_.passive:
            raise RefusedError(f"{self.model.name} sends nothing, so no party learns anything of another.")
        return self.model.federation_

    @property
    def passive(self) -> tuple[str, ...]:
        """The parties without labels that took part."""
        return self.federation.passive

    def party(self, name: str) -> PassiveParty:
        """A passive party."""
        here = self.federation.engine.promises.parties or {}
        if name not in here:
            raise RefusedError(
                f"{name!r} is no passive party, and only those lack the labels. Passive: {', '.join(here)}."
            )
        return here[name]

    def received(self, party: str) -> dict[str, set[str]]:
        """Kinds of messages that the log says the party received, and from whom."""
        found: dict[str, set[str]] = {}
        for entry in self.audit:
            if entry["to"] == party:
                found.setdefault(entry["kind"], set()).add(entry["from"])
        return found

    def telling(self, party: str) -> list[str]:
        """Kinds among them that carry what other parties' rows made: numbers, not settings or positions."""
        kinds = self.model.setup().offer.kinds
        return [name for name in self.received(party) if name in kinds and kinds[name].holds_floats]

    def check_adversary(self, name: str) -> None:
        """Refuse a party that does not exist."""
        known = dict.fromkeys([self.active, *self.parts.train.views])
        if name not in known:
            raise ConfigError(f"adversary: there is no party {name!r}. {did_you_mean(name, known)}")

    def replay(self) -> dict[str, Witness]:
        """Train again with a witness at each passive party; what each received. Done once."""
        if self.witnesses is not None:
            return self.witnesses
        if getattr(self.model, "encoders", None):
            raise RefusedError("the run had encoders of the user's, whose first weights are not kept: no replay.")
        self.tell("replaying the training")
        witnesses = {name: Witness(name, frozenset({ROWS.name, GRADIENT.name})) for name in self.passive}
        again = type(self.model)(**self.model.get_params())
        again.observers = tuple(witnesses.values())
        again.fit(self.parts.train, self.parts.valid, metric=self.model.metric_)
        self._check_same(again)
        self.witnesses = witnesses
        return witnesses

    def _check_same(self, again: Method) -> None:
        """Refuse a replay that is another run."""
        if _training(again.federation_.wire.audit_json()) != _training(self.audit):
            raise RefusedError("its replay sent other messages than the run: other data, or another version.")
        here = again.federation_.engine.promises.parties or {}
        for name, party in here.items():
            for key, value in self.party(name).state().items():
                if not torch.allclose(value.double(), party.state()[key].double(), atol=SAME, rtol=SAME):
                    raise RefusedError(f"its replay left party {name!r} other weights than the run: another machine?")


def _training(audit: list[Entry]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Messages and bytes of all phases but prediction."""
    return {
        (e["phase"], e["kind"], e["from"], e["to"]): (e["messages"], e["bytes"])
        for e in audit
        if e["phase"] != "predict"
    }


def load_run(folder: str | Path) -> Run:
    """The run that `colonnade run … --out` wrote."""
    folder = Path(folder)
    record = _read(folder / "record.json", f"{folder} holds no finished run. Give the folder of `run … --out`.")
    audit = _read(
        folder / "audit.json",
        f"{folder} kept no audit log, so nobody can say what an adversary received. Run it again with --out.",
    )
    model = load(folder / "model")
    return Run(model, _rows_of(record), audit)


def _read(path: Path, otherwise: str) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        raise ConfigError(otherwise) from None


def _rows_of(record: dict[str, Any]) -> Split:
    """The same rows again, by the run's data, labels, aligned fraction and seed."""
    config = record["config"]
    cell = Cell(
        record["method"], record["data"], config["labels"], config["aligned"], record["seed"],
        protocol=config.get("protocol", "inductive"),
    )  # fmt: skip
    if arrangement := config.get("arrangement"):
        bias = arrangement.get("bias")
        cell = replace(cell, **{**arrangement, "bias": bias and (bias[0], bias[1])})
    parts, _ = cell.split()
    if list(parts.train.views) != config["parties"] and not cell.data.endswith(".toml"):
        parts, _ = replace(cell, parties=len(config["parties"])).split()
    if sizes(parts) != config["rows"] or list(parts.train.views) != config["parties"]:
        raise DataError(f"{record['data']} no longer gives the rows that the run had. Put the data back as it was.")
    return parts
