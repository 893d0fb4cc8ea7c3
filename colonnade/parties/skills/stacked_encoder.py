"""Encoders of equal shape, as one: one batched product per layer instead of one per party.

The parties' weights become slices of stacked tensors, and their tables slices of one tensor. Each party still owns its
part, and can be saved, kept and recalled alone. The result is that of the parties one by one, up to rounding.

K parties, B rows of a batch, F columns, D width of a representation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from colonnade.data.table import Table
from colonnade.errors import WireError
from colonnade.nets.optimizer import make_optimizer
from colonnade.nets.tabular import TabularEncoder
from colonnade.objectives import OBJECTIVES
from colonnade.objectives.nat import NAT, solve_all, solvers
from colonnade.objectives.training import Lesson, build_objective, cut, set_rate
from colonnade.parties.party import EVAL_ROWS
from colonnade.seeds import generator
from colonnade.wire.stacked import Stacked
from colonnade.wire.wire import of_party

if TYPE_CHECKING:
    from colonnade.parties.engine import Requests
    from colonnade.parties.passive import PassiveParty

MAX_WEIGHTS = 1 << 16  # larger encoders keep the cores busy one by one


def shape_to_stack(party: PassiveParty) -> Any:
    """What must be equal for two parties to be stacked; None when a party cannot be."""
    table = party.tables.get("train")
    if type(party.encoder) is not TabularEncoder or table is None or table.codes is not None:
        return None
    if sum(p.numel() for p in party.encoder.parameters()) > MAX_WEIGHTS and party.device.type == "cpu":
        return None
    shapes = tuple((name, tuple(p.shape)) for name, p in party.encoder.named_parameters())
    return (shapes, party.precision, str(party.device), party.aligned)


class EncoderStack:
    """The encoders of K parties."""

    def __init__(self, parties: Sequence[PassiveParty]) -> None:
        self.parties = list(parties)
        self.names = tuple(party.name for party in parties)
        self.encoders = [_encoder(party) for party in parties]
        self.weights = share_weights(self.encoders)
        self.tables: dict[str, tuple[Tensor, Tensor]] = {}

    @property
    def intact(self) -> bool:
        """Whether no party got another encoder since."""
        for party, encoder in zip(self.parties, self.encoders, strict=True):  # noqa: SIM110  at each call; no generator
            if party.encoder is not encoder:
                return False
        return True

    def encode(self, table: str, rows: Tensor) -> Tensor:
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
        if found is None or not _share(tables, found[0]):
            joint = torch.cat([t.x for t in tables])  # (ΣN, F)
            starts = torch.tensor([0, *(len(t) for t in tables[:-1])], device=joint.device).cumsum(0)[:, None]  # (K, 1)
            for party, start in zip(self.parties, starts[:, 0].tolist(), strict=True):
                party.tables[name] = type(tables[0])(joint[start : start + len(party.tables[name])])
            found = self.tables[name] = (joint, starts)
        return found


def _share(tables: Sequence[Table], joint: Tensor) -> bool:
    """Whether the tables are still slices of one tensor."""
    place = joint.untyped_storage().data_ptr()
    for table in tables:  # noqa: SIM110  at each batch; no generator
        if table.x.untyped_storage().data_ptr() != place:
            return False
    return True


class StackedEncoding:
    """`represent` of all parties of a stack."""

    joint = False  # whether what is kept between calls is the stack's, so that no party can be asked alone

    def __init__(self, stack: EncoderStack) -> None:
        self.stack = stack

    def can_represent(self, requests: Requests) -> bool:
        """Whether all parties are asked for the same rows, which all of them hold."""
        table = requests.values.get("table", "train")
        shared = all(isinstance(given, Tensor) for given in requests.tensors.values()) and "also" not in requests.values
        return shared and all(party.present.get(str(table)) is None for party in self.stack.parties)

    @torch.no_grad()
    def represent(self, requests: Requests) -> Mapping[str, Tensor]:
        """Representations without a graph, (B, D) of each party."""
        table, rows = str(requests.values.get("table", "train")), requests.tensors.get("rows")
        if not isinstance(rows, Tensor):
            first = self.stack.parties[0]
            rows = torch.arange(first.aligned if table == "train" else len(first.tables[table]), device=first.device)
        parts = [self.stack.encode(table, part) for part in torch.split(rows, EVAL_ROWS)]
        return dict(zip(self.stack.names, torch.cat(parts, dim=1), strict=True))


class StackedSplit:
    """Split training of all parties of a stack: each call is for all of them."""

    joint = True
    optimizer: torch.optim.Optimizer | None = None
    output: Tensor | None = None

    def __init__(self, stack: EncoderStack) -> None:
        self.stack = stack

    def can_begin(self, requests: Requests) -> bool:
        """Always: the order is the same for all."""
        return True

    def begin(self, requests: Requests) -> None:
        """Start training with a fresh optimizer."""
        settings: Any = requests.values
        for party in self.stack.parties:
            party.rest()
        self.optimizer = make_optimizer(
            self.stack.weights.values(), settings["optimizer"], settings["learning_rate"], settings["weight_decay"]
        )

    def can_forward(self, requests: Requests) -> bool:
        """Whether all parties are asked for the same rows; a stack that trains takes no others."""
        if isinstance(requests.tensors.get("rows"), Tensor):
            return True
        raise WireError("parties that answer as one were asked for rows of their own. Ask them one by one.")

    def forward(self, requests: Requests) -> Stacked:
        """Representations of the rows (B,) at all parties, (K, B, D)."""
        self.output = self.stack.encode("train", cast(Tensor, requests.tensors["rows"]))
        return Stacked(self.stack.names, self.output.detach())

    def can_backward(self, requests: Requests) -> bool:
        """Whether there is something to go back from."""
        if self.output is None or self.optimizer is None:
            raise WireError("parties received gradients before they were asked for representations.")
        return True

    def backward(self, requests: Requests) -> None:
        """One update of all parties from gradients (K, B, D)."""
        gradient = self._gradient(requests)
        self.optimizer.zero_grad()  # type: ignore[union-attr]
        self.output.backward(gradient)  # type: ignore[union-attr]
        self.optimizer.step()  # type: ignore[union-attr]
        self.output = None

    def _gradient(self, requests: Requests) -> Tensor:
        """The gradients of all parties, (K, B, D); others than the representations are refused."""
        given, sent = requests.tensors["gradient"], tuple(cast(Tensor, self.output).shape[1:])
        if isinstance(given, Stacked) and given.names == self.stack.names:
            whole, shapes = given.tensor, {tuple(given.tensor.shape[1:])}
        else:
            parts = [of_party(requests.tensors, name)["gradient"] for name in self.stack.names]
            shapes = {tuple(part.shape) for part in parts}
            whole = torch.stack(parts) if shapes == {sent} else parts[0]
        if shapes != {sent}:
            got = " and ".join(map(str, sorted(shapes)))
            raise WireError(f"parties sent representations of shape {sent} and received gradients of shape {got}.")
        return whole


class StackedPretraining:
    """NAT of all parties of a stack at once: each has its own targets, order and optimizer state, as alone."""

    joint = False

    def __init__(self, stack: EncoderStack) -> None:
        self.stack = stack

    def can_pretrain(self, requests: Requests) -> bool:
        """Whether all parties learn by NAT, for as many rows; other objectives are learnt one by one."""
        rows = {len(party.tables["train"]) for party in self.stack.parties}
        name = requests.values.get("objective")
        own = any(name in party.own_objectives for party in self.stack.parties)
        alike = not any(isinstance(value, Mapping) for value in requests.values.values())
        can = bool(getattr(OBJECTIVES.get(str(name)), "can_stack", False)) and "clip" not in requests.values
        return can and len(rows) == 1 and not own and alike

    def pretrain(self, requests: Requests) -> None:
        """All epochs, together."""
        with one_thread():
            self._learn_nat(Lesson.of(requests.values))

    def _learn_nat(self, lesson: Lesson) -> None:
        stack = self.stack
        tables = [party.tables["train"] for party in stack.parties]
        parts_of = zip(stack.parties, stack.encoders, tables, strict=True)
        nats = [cast(NAT, build_objective(lesson, e, p.width, t, p.name, {})) for p, e, t in parts_of]
        targets = torch.stack([nat.targets for nat in nats])  # (K, N, D)
        orders = [generator(lesson.seed, party.name, "order") for party in stack.parties]
        everyone = torch.arange(len(tables[0]), device=stack.parties[0].device)
        optimizer = make_optimizer(stack.weights.values(), lesson.optimizer, lesson.learning_rate, lesson.weight_decay)
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
                loss = (stack.encode("train", rows) - c).square().sum() / (2 * rows.shape[1])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            stack.parties[0].progress(f"pretrain {len(stack.parties)} parties", epoch + 1, lesson.epochs)

    @torch.no_grad()
    def _submit(self, targets: Tensor, batches: list[Tensor]) -> list[Future[npt.NDArray[np.int64]]]:
        """Hand all assignments of an epoch to the solvers, in the order in which the batches come."""
        solving = []
        for rows in batches:
            held = targets.gather(1, rows.unsqueeze(-1).expand(-1, -1, targets.shape[2]))  # (K, B, D)
            out = self.stack.encode("train", rows)
            solving.append(solvers().submit(solve_all, out.cpu().numpy(), held.cpu().numpy()))
        return solving


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
