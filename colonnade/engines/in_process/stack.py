"""Parties of equal shape, trained together: one batched product per layer instead of one per party.

The parties' weights become slices of stacked tensors, and their tables slices of one tensor, so each party still owns
its part and can be saved, kept and recalled alone. The result is that of the parties one by one, up to rounding.

K parties, B rows of a batch, F columns, D width of a representation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from colonnade.nets.optimizer import make_optimizer
from colonnade.nets.tabular import TabularEncoder
from colonnade.objectives.nat import NAT, solve_all, solvers
from colonnade.objectives.training import Lesson, build_objective, cut, set_rate
from colonnade.parties.party import EVAL_ROWS
from colonnade.parties.passive import PassiveParty, Reply
from colonnade.seeds import generator
from colonnade.wire.message import Message

MIN_PARTIES = 2
MAX_WEIGHTS = 1 << 16  # larger encoders keep the cores busy one by one


def stack_parties(parties: Iterable[PassiveParty]) -> list[PartyStack]:
    """Group the parties whose encoders can run as one."""
    groups: dict[Any, list[PassiveParty]] = {}
    for party in parties:
        key = _shape(party)
        if key is not None:
            groups.setdefault(key, []).append(party)
    return [PartyStack(group) for group in groups.values() if len(group) >= MIN_PARTIES]


def _shape(party: PassiveParty) -> Any:
    """What must be equal for two parties to be stacked; None when a party cannot be."""
    table = party.tables.get("train")
    if type(party.encoder) is not TabularEncoder or table is None or table.codes is not None:
        return None
    if sum(p.numel() for p in party.encoder.parameters()) > MAX_WEIGHTS and party.device.type == "cpu":
        return None
    shapes = tuple((name, tuple(p.shape)) for name, p in party.encoder.named_parameters())
    return (shapes, party.precision, str(party.device), party.aligned)


class PartyStack:
    """K passive parties that answer as one."""

    def __init__(self, parties: list[PassiveParty]) -> None:
        self.parties = parties
        self.names = [party.name for party in parties]
        self.encoders = [_encoder(party) for party in parties]
        self.weights = share_weights(self.encoders)
        self.tables: dict[str, tuple[Tensor, Tensor]] = {}
        self.optimizer: torch.optim.Optimizer | None = None
        self.output: Tensor | None = None

    def can(self, operation: str, received: Mapping[str, Message]) -> bool:
        """Whether this call can be made for all parties at once."""
        if not all(name in received for name in self.names) or not self._intact():
            return False
        if operation in ("begin", "backward"):
            return True
        if operation == "pretrain":
            return self._same_lesson(received)
        if operation not in ("forward", "represent"):
            return False
        first = received[self.names[0]]
        rows = first.tensors.get("rows")
        table = str(first.values.get("table", "train"))
        same = all(received[n].tensors.get("rows") is rows and received[n].values == first.values for n in self.names)
        if "also" in first.values:
            return False
        whole = all(party.present.get(table) is None for party in self.parties)
        return same and whole and (table == "train" or operation == "represent")

    def _intact(self) -> bool:
        """Whether no party got another encoder since."""
        return all(party.encoder is encoder for party, encoder in zip(self.parties, self.encoders, strict=True))

    def holds(self, names: tuple[str, ...]) -> bool:
        """Whether these are the stacked parties, in their order."""
        return list(names) == self.names and self._intact()

    def perform(self, operation: str, received: Mapping[str, Message]) -> dict[str, Reply | None]:
        """One operation for all parties."""
        messages = [received[name] for name in self.names]
        if operation == "begin":
            self._begin(messages[0])
            return dict.fromkeys(self.names)
        if operation == "backward":
            self.backward(torch.stack([message.tensors["gradient"] for message in messages]))  # (K, B, D)
            return dict.fromkeys(self.names)
        if operation == "pretrain":
            with one_thread():
                self._learn_nat(Lesson.of(messages[0].values))
            return dict.fromkeys(self.names)
        first = messages[0]
        h = self.forward(first.tensors["rows"]) if operation == "forward" else self._represent(first)  # (K, B, D)
        return {name: Reply({"representation": h[k]}, {}) for k, name in enumerate(self.names)}

    def _begin(self, message: Message) -> None:
        settings: dict[str, Any] = message.values
        for party in self.parties:
            party.drop_pretraining()
        self.optimizer = make_optimizer(
            self.weights.values(), settings["optimizer"], settings["learning_rate"], settings["weight_decay"]
        )

    def forward(self, rows: Tensor) -> Tensor:
        """Representations of the rows (B,) at all parties, (K, B, D)."""
        self.output = self._encode("train", rows)
        return self.output.detach()

    def backward(self, gradient: Tensor) -> None:
        """One update of all parties, (K, B, D)."""
        assert self.output is not None and self.optimizer is not None
        self.optimizer.zero_grad()
        self.output.backward(gradient)  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.output = None

    @torch.no_grad()
    def _represent(self, message: Message) -> Tensor:
        table = str(message.values.get("table", "train"))
        rows = message.tensors.get("rows")
        if rows is None:
            first = self.parties[0]
            rows = torch.arange(first.aligned if table == "train" else len(first.tables[table]), device=first.device)
        return torch.cat([self._encode(table, part) for part in torch.split(rows, EVAL_ROWS)], dim=1)

    def _same_lesson(self, received: Mapping[str, Message]) -> bool:
        """Whether all parties learn by NAT, for as many rows; other objectives are learnt one by one."""
        first = received[self.names[0]].values
        rows = {len(party.tables["train"]) for party in self.parties}
        own = any("nat" in party.own_objectives for party in self.parties)
        return (
            first.get("objective") == "nat"
            and "clip" not in first
            and len(rows) == 1
            and not own
            and all(received[name].values == first for name in self.names)
        )

    def _learn_nat(self, lesson: Lesson) -> None:
        """`learn` with NAT for all parties at once: each has its own targets, order and optimizer state, as alone."""
        tables = [party.tables["train"] for party in self.parties]
        parts_of = zip(self.parties, self.encoders, tables, strict=True)
        nats = [cast(NAT, build_objective(lesson, e, p.width, t, p.name, {})) for p, e, t in parts_of]
        targets = torch.stack([nat.targets for nat in nats])  # (K, N, D)
        orders = [generator(lesson.seed, party.name, "order") for party in self.parties]
        everyone = torch.arange(len(tables[0]), device=self.parties[0].device)
        optimizer = make_optimizer(self.weights.values(), lesson.optimizer, lesson.learning_rate, lesson.weight_decay)
        for epoch in range(lesson.epochs):
            set_rate(optimizer, lesson, epoch)
            cuts = [cut(everyone, lesson.batch_size, order, 1) for order in orders]
            batches = [torch.stack(parts) for parts in zip(*cuts, strict=True)]  # (K, B) each
            exchange = lesson.assignment != "fixed" and epoch % (lesson.frequency or 1) == 0
            solving = self._submit(targets, batches) if exchange else []
            for t, rows in enumerate(batches):
                at = rows.unsqueeze(-1).expand(-1, -1, targets.shape[2])  # (K, B, D)
                c = targets.gather(1, at)
                if solving:
                    order = torch.from_numpy(solving[t].result()).to(rows.device)
                    c = c.gather(1, order.unsqueeze(-1).expand_as(at))
                    targets.scatter_(1, at, c)
                loss = (self._encode("train", rows) - c).square().sum() / (2 * rows.shape[1])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            self.parties[0].progress(f"pretrain {len(self.parties)} parties", epoch + 1, lesson.epochs)

    @torch.no_grad()
    def _submit(self, targets: Tensor, batches: list[Tensor]) -> list[Future[npt.NDArray[np.int64]]]:
        """Hand all assignments of an epoch to the solvers, in the order in which the batches come."""
        solving = []
        for rows in batches:
            held = targets.gather(1, rows.unsqueeze(-1).expand(-1, -1, targets.shape[2]))  # (K, B, D)
            out = self._encode("train", rows)
            solving.append(solvers().submit(solve_all, out.cpu().numpy(), held.cpu().numpy()))
        return solving

    def _encode(self, table: str, rows: Tensor) -> Tensor:
        """Rows (B,) of every party, or (K, B) with rows of its own for each → (K, B, D)."""
        x, starts = self._table(table)
        at = (starts + rows).flatten()  # (K·B,)
        inputs = x.index_select(0, at).view(len(self.parties), rows.shape[-1], -1)  # (K, B, F)
        with self.parties[0].autocast():
            h = stacked_call(self.encoders[0], self.weights, inputs)
        return h.float()

    def _table(self, name: str) -> tuple[Tensor, Tensor]:
        """All parties' rows in one tensor, and where each party's rows begin; made once per table."""
        found = self.tables.get(name)
        tables = [party.tables[name] for party in self.parties]
        if found is None or any(
            t.x.untyped_storage().data_ptr() != found[0].untyped_storage().data_ptr() for t in tables
        ):
            joint = torch.cat([t.x for t in tables])  # (ΣN, F)
            starts = torch.tensor([0, *(len(t) for t in tables[:-1])], device=joint.device).cumsum(0)[:, None]  # (K, 1)
            for party, start in zip(self.parties, starts[:, 0].tolist(), strict=True):
                party.tables[name] = type(tables[0])(joint[start : start + len(party.tables[name])])
            found = self.tables[name] = (joint, starts)
        return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Leave the other cores to the solvers: small networks gain nothing from a second thread, which only waits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _encoder(party: PassiveParty) -> TabularEncoder:
    assert isinstance(party.encoder, TabularEncoder)
    return party.encoder


def share_weights(modules: Sequence[nn.Module]) -> dict[str, nn.Parameter]:
    """Stack the modules' parameters, (K, …) each, and make every module's parameter a slice of its stack."""
    stacked: dict[str, nn.Parameter] = {}
    for name, _ in modules[0].named_parameters():
        parts = [module.get_parameter(name) for module in modules]
        whole = torch.stack([part.detach() for part in parts])
        for part, piece in zip(parts, whole, strict=True):
            part.data = piece
        stacked[name] = nn.Parameter(whole)
    return stacked


def stacked_call(encoder: TabularEncoder, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """The encoders of K parties as one: (K, B, F) → (K, B, D).

    Written out, because torch.func.vmap multiplies and adds in separate passes, which costs twice the time.
    """
    for name, layer in encoder.named_modules():
        if isinstance(layer, nn.Linear):
            x = torch.baddbmm(weights[f"{name}.bias"].unsqueeze(1), x, weights[f"{name}.weight"].mT)
        elif isinstance(layer, nn.ReLU):
            x = torch.relu_(x)
    return x
