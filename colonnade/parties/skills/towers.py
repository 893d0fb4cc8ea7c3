"""What a party holds while it pre-trains with others: FedHSSL's two towers (He et al. 2022, Fig. 1).

Symbols: f_c cross-party encoder with predictor h_c, trained on aligned rows by what other parties send; f_l local
encoder with predictor h_l, trained on all own rows, guided by f_c; f_lt its top, which is averaged over the parties.

B rows of a batch, P width of a projection.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from colonnade.errors import ConfigError, WireError
from colonnade.objectives.augment import split_two
from colonnade.objectives.base import CrossObjective
from colonnade.objectives.training import Course, Lesson, build_objective, cut, objective_optimizer, set_rate
from colonnade.parties.party import Party
from colonnade.seeds import generator
from colonnade.wire.message import Value

SHARED = ("top", "projector", "predictor")  # parts of a local tower that can be averaged
MAX_SHAPES = 100  # characters in which a part says its shapes


@dataclass(eq=False)
class CrossTower:
    """f_c and h_c at one party."""

    objective: CrossObjective
    party: Party
    lesson: Lesson
    updates: int  # steps with each received projection (App. D)
    staleness: int  # passes for which a received projection may be used again
    heard: dict[str, Tensor] = field(default_factory=dict)  # by sender, (aligned,): pass in which a row last came
    remembered: dict[str, Tensor] = field(default_factory=dict)  # by sender, (aligned, P)
    at: int = -1  # the present pass, from 0

    def __post_init__(self) -> None:
        self.optimizer = objective_optimizer(self.objective, self.lesson)
        self.order = generator(self.lesson.seed, self.party.name, "cross")
        self.objective.train()

    def begin_pass(self) -> None:
        """Go on to the next pass over the aligned rows."""
        self.at += 1
        set_rate(self.optimizer, self.lesson, self.at)

    def batches(self) -> list[Tensor]:
        """The aligned rows, cut into batches in an order of this party's."""
        rows = torch.arange(self.party.aligned, device=self.party.device)
        parts = cut(rows, self.lesson.batch_size, self.order, self.objective.min_batch)
        return [part.to(torch.int32) for part in parts]

    def emit(self, rows: Tensor) -> Tensor:
        """Alg. 1, l.4: z_c (B, P), to be sent; p_c waits for `agree`."""
        self.rows, self.view = rows, self.party.tables["train"].batch(rows)
        with self.party.autocast():
            z, self.p = self.objective.cross(*self.view)
        return z.float()

    def agree(self, received: Mapping[str, Tensor], senders: Iterable[str] = ()) -> Tensor | None:
        """Alg. 1, l.10-11: the loss of Eq. 2 over what was sent for the rows of `emit`, and the update.

        One of the `senders` that was late counts with what it sent before, if that is recent enough.
        """
        self._remember(received)
        before = {name: self.recent(name) for name in senders if name not in received}
        loss = self._step({**received, **{name: z for name, z in before.items() if z is not None}})
        for z in received.values():
            self.objective.receive(z)
        return loss

    def agree_again(self) -> Tensor:
        """A pass in which nothing is exchanged: every row with the projections that were last received for it."""
        self.begin_pass()
        total = torch.zeros((), device=self.party.device)
        for rows in self.batches():
            self.emit(rows)
            before = {name: self.recent(name) for name in self.remembered}
            loss = self._step({name: z for name, z in before.items() if z is not None})
            total += 0 if loss is None else loss * len(rows)
        return total / self.party.aligned

    def recent(self, sender: str) -> Tensor | None:
        """What `sender` last sent for the rows of `emit`, unless some of it is older than `staleness` passes."""
        heard = self.heard.get(sender)
        if heard is None or bool((heard.index_select(0, self.rows) < self.at - self.staleness).any()):
            return None
        return self.remembered[sender].index_select(0, self.rows)

    def _step(self, received: Mapping[str, Tensor]) -> Tensor | None:
        first: Tensor | None = None
        if not received:
            return None
        for update in range(self.updates):
            with self.party.autocast():
                p = self.objective.cross(*self.view)[1] if update else self.p
                loss = torch.stack([self.objective.match(p, z) for z in received.values()]).mean()
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.objective.after_step()
            first = loss.detach() if first is None else first
        return first

    def _remember(self, received: Mapping[str, Tensor]) -> None:
        if not self.staleness:
            return
        for sender, z in received.items():
            if sender not in self.remembered:
                self.remembered[sender] = torch.zeros(self.party.aligned, z.shape[1], device=z.device)
                self.heard[sender] = torch.full((self.party.aligned,), -(1 << 30), device=z.device)
            self.remembered[sender].index_copy_(0, self.rows.long(), z)
            self.heard[sender].index_fill_(0, self.rows.long(), self.at)


@dataclass(eq=False)
class Towers:
    """The towers of one party, as far as the method has them."""

    cross: CrossTower | None
    local: Course | None

    def learnt_alone(self) -> Course:
        """The course of the local tower; without such a tower it is an error."""
        if self.local is None:
            raise WireError("a party was enrolled to learn with others alone, and asked for what it learns by itself.")
        return self.local

    def study(self, gamma: float) -> float:
        """Alg. 1, l.16-23: one pass of local SSL over all own rows, guided by f_c with weight γ."""
        local = self.learnt_alone()
        if self.cross is None or gamma == 0:
            return local.epoch()
        guide, learner = self.cross.objective, local.objective

        def guided(*drawn: Tensor) -> Tensor:
            guides = tuple(guide.emit(*view) for view in split_two(drawn))  # l.20: z_1c, z_2c
            loss: Tensor = learner(*drawn, guides=guides, gamma=gamma)  # l.18-19, l.21: Eq. 4
            return loss

        return local.epoch(guided, key=gamma)

    def describe(self, shared: tuple[str, ...]) -> dict[str, Value]:
        """What must be equal at all parties: the width of a projection, and the shapes of what is averaged."""
        width = self.cross.objective.sent_width if self.cross is not None else None
        return {"projection": width, **{part: self.shapes(part) for part in shared}}

    def shapes(self, part: str) -> str:
        """The shapes of a part that is averaged, in few characters: equal for equal shapes."""
        shapes = [tuple(t.shape) for t in self._tensors(part)]
        text = " ".join("x".join(map(str, shape)) or "1" for shape in shapes)
        if len(text) <= MAX_SHAPES:
            return text
        numbers = sum(t.numel() for t in self._tensors(part))
        return f"{len(shapes)} tensors, {numbers} numbers, shapes {zlib.crc32(text.encode()):08x}"

    def part(self, parts: tuple[str, ...]) -> Tensor:
        """f_lt ∘ h_l, as far as it is averaged: (L,)."""
        return torch.cat([t.detach().flatten() for name in parts for t in self._tensors(name)])

    @torch.no_grad()
    def adopt(self, parts: tuple[str, ...], averaged: Tensor) -> None:
        """Alg. 1, l.30: put the average in the place of the own part."""
        tensors = [t for name in parts for t in self._tensors(name)]
        for tensor, piece in zip(tensors, torch.split(averaged, [t.numel() for t in tensors]), strict=True):
            tensor.copy_(piece.view_as(tensor))

    def _tensors(self, part: str) -> list[Tensor]:
        """Weights and running statistics of a part; none where the objective has no such part."""
        learner = self.learnt_alone().objective
        module: nn.Module | None = getattr(learner.encoder if part == "top" else learner, part, None)
        return [] if module is None else [t for t in module.state_dict().values() if t.is_floating_point()]


def build_towers(party: Party, lesson: Lesson, which: str, updates: int, staleness: int) -> Towers:
    """The towers that pre-training needs: "cross", "local", or "both"."""
    table = party.table("train")
    cross = local = None
    if which in ("cross", "both"):
        made = build_objective(
            lesson, party.tower("cross"), party.width, table, f"{party.name}/cross", party.own_objectives
        )
        if not isinstance(made, CrossObjective):
            raise ConfigError(f"the objective {lesson.objective!r} cannot be learnt between parties.")
        cross = CrossTower(made, party, lesson, updates, staleness)
    if which in ("local", "both"):
        made = build_objective(lesson, party.tower("local"), party.width, table, party.name, party.own_objectives)
        local = Course(made, table, lesson, party.name, autocast=party.autocast)
    return Towers(cross, local)
