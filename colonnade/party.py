"""Parties: private state, and the operations that others may call.

A party's table, encoder and optimizer never leave it. What others may ask of a passive party is listed in `OPERATIONS`;
each operation takes a message of one kind and may answer with one of another. The same operations are called in one
process and between sites.

B rows of a batch, D width of a representation, K parties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from colonnade.data.ids import Ids, locate
from colonnade.data.preprocess import Preprocessor
from colonnade.data.table import Table
from colonnade.data.view import View
from colonnade.errors import ConfigError, WireError
from colonnade.nets.optimizer import make_optimizer
from colonnade.nets.tabular import TabularEncoder
from colonnade.objectives.pca import PCA
from colonnade.pretrain import Lesson, OwnObjective, build_objective, learn
from colonnade.seeds import seeded
from colonnade.wire.message import Message, Value

EVAL_ROWS = 1 << 15  # rows encoded at a time when no gradient is needed


@dataclass(frozen=True)
class Reply:
    """What an operation answers; the engine makes a message of it."""

    tensors: Mapping[str, Tensor]
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Operation:
    """One thing that may be asked of a passive party: the kind of the question and of the answer, if there is one."""

    request: str
    reply: str | None = None


OPERATIONS: dict[str, Operation] = {
    "prepare": Operation("plan", "shape"),
    "begin": Operation("order"),
    "forward": Operation("rows", "representation"),
    "backward": Operation("gradient"),
    "represent": Operation("rows", "representation"),
    "pretrain": Operation("lesson"),
    "keep": Operation("order"),
    "recall": Operation("order"),
}


class Party:
    """What every party has: a name, rows of its own, and an encoder for them.

    Rows of the training table come in the agreed order: the aligned ones first, sorted by id, then the party's others.
    """

    def __init__(
        self,
        name: str,
        view: View | None,
        aligned: Ids,
        *,
        encoder: nn.Module | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.name = name
        self.device = device or torch.device("cpu")
        self.aligned = len(aligned)
        self.view = None if view is None else view.take(agreed_order(view.ids, aligned))
        self.own_encoder = encoder  # a module of the user's, used instead of a TabularEncoder
        self.preprocessor: Preprocessor | None = None
        self.tables: dict[str, Table] = {}
        self.present: dict[str, Tensor | None] = {}
        self.encoder: nn.Module | None = None
        self.width = 0
        self.precision = "float32"
        self.kept: dict[str, Tensor] | None = None
        self.own_objectives: dict[str, OwnObjective] = {}
        self.progress: Callable[[str, int, int], None] = lambda phase, done, total: None  # heard at this party alone

    def fit_preprocessor(self) -> None:
        """Learn this party's scales and vocabularies from its training rows, and make the training table."""
        if self.view is None:
            return
        self.preprocessor = Preprocessor.fit(self.view)
        self.tables["train"] = self.preprocessor.transform(self.view, f"party {self.name!r}").to(self.device)
        self.view = None  # the table has what is needed from here on

    def load(self, table: str, view: View, ids: Ids) -> None:
        """Make a further table: the rows of `ids`, in that order, as far as the party holds them."""
        at = locate(view.ids, ids)
        held = at >= 0
        self.present[table] = None if held.all() else torch.from_numpy(held).to(self.device)
        preprocessor = self.preprocessor
        if preprocessor is None:
            raise WireError(f"party {self.name!r} was asked to load rows before it was prepared.")
        self.tables[table] = preprocessor.transform(view.take(at[held]), f"party {self.name!r}").to(self.device)

    def build_encoder(self, *, hidden: list[int], width: int, embedding: int, seed: int) -> None:
        """Make the encoder, the same for the same seed and name."""
        assert self.preprocessor is not None
        blank = tuple(t.to(self.device) for t in self.preprocessor.blank())
        if self.own_encoder is not None:
            self.encoder = self.own_encoder
        elif blank[0].ndim > 2:
            raise ConfigError(
                f"party {self.name!r} holds images. Pass a network for them: encoders={{{self.name!r}: module}}."
            )
        else:
            features, sizes = blank[0].shape[1], self.preprocessor.sizes
            with seeded(seed, self.name, "encoder"):
                self.encoder = TabularEncoder(features, sizes, hidden=hidden, width=width, embedding=embedding)
        self.encoder.to(self.device)
        self.width = self._measure_width(blank)

    def _measure_width(self, blank: tuple[Tensor, ...]) -> int:
        try:
            out = self.encode(blank, train=False)
        except (RuntimeError, TypeError) as error:
            shapes = [tuple(t.shape[1:]) for t in blank]
            raise ConfigError(
                f"party {self.name!r}: its encoder cannot read rows of shape {shapes}: {error}. Pass one that can."
            ) from None
        if out.ndim != 2:
            raise ConfigError(
                f"party {self.name!r}: its encoder gives shape {tuple(out.shape)}. It must give (rows, width)."
            )
        return int(out.shape[1])

    def encode(self, inputs: tuple[Tensor, ...], *, train: bool) -> Tensor:
        """The encoder's output, (B, D) float32, with a graph when `train`."""
        assert self.encoder is not None
        if self.encoder.training != train:
            self.encoder.train(train)
        with torch.set_grad_enabled(train), self.autocast():
            out: Tensor = self.encoder(*inputs)
        return out.float()

    def autocast(self) -> AbstractContextManager[None]:
        """bf16 where the precision asks for it."""
        if self.precision != "bf16":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def encode_table(self, name: str, rows: Tensor | None = None) -> Tensor:
        """Representations of a table's rows without a graph, (N, D); zero for rows the party does not hold."""
        table = self.tables[name]
        if rows is None:
            rows = torch.arange(self.aligned if name == "train" else len(table), device=self.device)
        parts = [self.encode(table.rows(part), train=False) for part in torch.split(rows, EVAL_ROWS)]
        h = torch.cat(parts) if parts else torch.zeros(0, self.width, device=self.device)
        mask = self.present.get(name)
        if mask is None:
            return h
        full = torch.zeros(len(mask), self.width, device=self.device)
        full[mask] = h
        return full

    def learn(self, lesson: Lesson) -> list[float]:
        """Learn alone from all rows of the own table; the loss of each epoch, which stays here."""
        assert self.encoder is not None
        table = self.tables["train"]
        if lesson.objective == "pca":
            self.encoder = PCA().fit(table, self.width)
            return []
        losses: list[float] = []

        def after(epoch: int, loss: float) -> bool:
            losses.append(loss)
            self.progress(f"pretrain {self.name}", epoch, lesson.epochs)
            return False

        objective = build_objective(lesson, self.encoder, self.width, table, self.name, self.own_objectives)
        learn(objective, table, lesson, self.name, autocast=self.autocast, after=after)
        return losses

    def modules(self) -> dict[str, nn.Module]:
        """The networks that are kept, recalled and saved."""
        return {} if self.encoder is None else {"encoder": self.encoder}

    def state(self) -> dict[str, Tensor]:
        """All weights by name."""
        return {f"{m}.{k}": v for m, module in self.modules().items() for k, v in module.state_dict().items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put weights back, in place."""
        for name, module in self.modules().items():
            prefix = f"{name}."
            module.load_state_dict({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})

    def keep_weights(self) -> None:
        """Remember the present weights."""
        self.kept = {k: v.detach().clone() for k, v in self.state().items()}

    def recall_weights(self) -> None:
        """Go back to the remembered weights, if there are any."""
        if self.kept is not None:
            self.load_state(self.kept)
            self.kept = None


class PassiveParty(Party):
    """A party with columns and no labels. Its public methods are the operations."""

    output: Tensor | None = None  # of the last forward, with its graph
    optimizer: torch.optim.Optimizer | None = None

    def prepare(self, message: Message) -> Reply:
        """Fit the preprocessing, build the encoder, and say how wide its representation is."""
        plan: dict[str, Any] = message.values
        self.precision = plan["precision"]
        if "train" not in self.tables:
            self.fit_preprocessor()
        self.build_encoder(hidden=plan["hidden"], width=plan["width"], embedding=plan["embedding"], seed=plan["seed"])
        return Reply({}, {"width": self.width})

    def begin(self, message: Message) -> None:
        """Start training with a fresh optimizer."""
        assert self.encoder is not None
        settings: dict[str, Any] = message.values
        self.optimizer = make_optimizer(
            self.encoder.parameters(), settings["optimizer"], settings["learning_rate"], settings["weight_decay"]
        )

    def forward(self, message: Message) -> Reply:
        """Representations of the asked rows; the graph stays here, for `backward`."""
        self.output = self.encode(self.tables["train"].batch(message.tensors["rows"]), train=True)  # (B, D)
        return Reply({"representation": self.output.detach()}, {})

    def backward(self, message: Message) -> None:
        """One update from the gradient by the last representation."""
        gradient = message.tensors["gradient"]
        if self.output is None or self.optimizer is None:
            raise WireError(f"party {self.name!r} received a gradient before it was asked for a representation.")
        if gradient.shape != self.output.shape:
            raise WireError(
                f"party {self.name!r} sent a representation of shape {tuple(self.output.shape)} "
                f"and received a gradient of shape {tuple(gradient.shape)}."
            )
        self.optimizer.zero_grad()
        self.output.backward(gradient)  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.output = None

    def represent(self, message: Message) -> Reply:
        """Representations without a graph: of the asked rows, or of all rows of a table, and of a further table."""
        h = self.encode_table(str(message.values.get("table", "train")), message.tensors.get("rows"))
        also = message.values.get("also")
        if also is not None:
            h = torch.cat([h, self.encode_table(str(also))])
        return Reply({"representation": h}, {})

    def pretrain(self, message: Message) -> None:
        """Learn alone; nothing of it leaves the party."""
        self.learn(Lesson.of(message.values))

    def keep(self, message: Message) -> None:
        """Remember the present weights: they are the best so far."""
        self.keep_weights()

    def recall(self, message: Message) -> None:
        """Go back to the best weights."""
        self.recall_weights()

    def perform(self, operation: str, message: Message) -> Reply | None:
        """Carry out a declared operation; refuse anything else."""
        declared = OPERATIONS.get(operation)
        if declared is None or message.kind != declared.request:
            raise WireError(
                f"party {self.name!r} refuses {operation!r} with a {message.kind!r}. It offers {list(OPERATIONS)}."
            )
        carry_out: Callable[[Message], Reply | None] = getattr(self, operation)
        return carry_out(message)


def agreed_order(ids: Ids, aligned: Ids) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Positions of a party's rows in the agreed order: aligned ids first, sorted; then the others, sorted."""
    first = locate(ids, aligned)
    others = np.flatnonzero(locate(aligned, ids) < 0)
    return np.concatenate([first, others[np.argsort(ids[others], kind="stable")]])
