"""What every party has: its private table, and an encoder for it. Neither leaves the party.

`active.py` adds labels and a head; `passive.py` the operations that may be asked of a party without labels.

B rows of a batch, D width of a representation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from colonnade.data.ids import Ids, locate
from colonnade.data.preprocess import Preprocessor
from colonnade.data.table import Table
from colonnade.data.view import View
from colonnade.errors import ConfigError, WireError
from colonnade.nets.dropout import draw_from
from colonnade.nets.image import image_encoder
from colonnade.nets.resnet import ResNet
from colonnade.nets.tabular import TabularEncoder
from colonnade.nets.two_towers import TwoTowers, fresh_copy
from colonnade.objectives.training import Course, Keeper, Lesson, OwnObjective, build_objective, learn, sort_of
from colonnade.seeds import generator, seeded

if TYPE_CHECKING:
    from colonnade.privacy.entry import Entry

EVAL_ROWS = 1 << 15  # rows encoded at a time when no gradient is needed


def unheard(phase: str, done: int, total: int) -> None:
    """Nobody listens to the progress."""


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
        self.encoder_tower = "local"  # which of FedHSSL's towers the encoder is; "both" for their mean
        self.encoder_seed = 0
        self.layers: dict[str, Any] = {}  # what a TabularEncoder is built from
        self.image = ""  # name of the encoder for images
        self.width = 0
        self.precision = "float32"
        self.kept: dict[str, dict[str, Tensor]] = {}  # weights by the name they were kept under
        self.own_objectives: dict[str, OwnObjective] = {}
        self.account: Entry | None = None  # of private pre-training
        self.lessons = 0  # learnt privately so far
        self.keeper: Keeper | None = None
        self.secret: bytes | None = None  # what noise and masks are drawn from; None: from the run's seed, or afresh
        self.progress: Callable[[str, int, int], None] = unheard  # heard at this party alone

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: everything but the listener, which belongs to the call of `fit`."""
        return {**self.__dict__, "progress": unheard}

    def built(self) -> nn.Module:
        """The encoder; one that was not built yet is an error."""
        if self.encoder is None:
            raise WireError(f"party {self.name!r} was asked to use its encoder before it was prepared.")
        return self.encoder

    def table(self, name: str) -> Table:
        """A table of this party's rows; one that it does not have is an error."""
        if name not in self.tables:
            known = ", ".join(self.tables) or "none, as it was not prepared"
            raise WireError(f"party {self.name!r} has no table {name!r}. Its tables: {known}.")
        return self.tables[name]

    def fitted_preprocessor(self) -> Preprocessor:
        """What the preprocessing learnt; before that is an error."""
        if self.preprocessor is None:
            raise WireError(f"party {self.name!r} was asked for its columns before it was prepared.")
        return self.preprocessor

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

    def build_encoder(
        self, *, hidden: list[int], width: int, embedding: int, image: str, seed: int, tower: str = "local"
    ) -> None:
        """Make the encoder, the same for the same seed and name: "local", "cross", or "both" towers of FedHSSL."""
        preprocessor = self.fitted_preprocessor()
        self.layers, self.image = {"hidden": hidden, "width": width, "embedding": embedding}, image
        self.encoder_seed = seed
        if tower == "both":
            self.encoder = TwoTowers(self.new_encoder("cross", own=False), self.new_encoder("local"))
        else:
            self.encoder = self.new_encoder(tower)
        self.encoder_tower = tower
        blank = tuple(t.to(self.device) for t in preprocessor.blank())
        self.width = self._measure_width(blank)

    def new_encoder(self, tower: str, *, own: bool = True) -> nn.Module:
        """The encoder of one tower. A module of the user's serves as it is, or with weights drawn anew if not `own`."""
        preprocessor = self.fitted_preprocessor()
        blank = preprocessor.blank()[0]
        with seeded(self.encoder_seed, self.name, "encoder" if tower == "local" else tower):
            if self.own_encoder is not None:
                made = self.own_encoder if own else fresh_copy(self.own_encoder)
            elif blank.ndim > 2:
                channels, height, width_px = blank.shape[1:]
                made = image_encoder(self.image, channels, height, width_px, width=self.layers["width"])
            else:
                made = TabularEncoder(blank.shape[1], preprocessor.sizes, **self.layers)
        if self.device.type == "cuda" and isinstance(made, ResNet):
            made.channels_last()
        draw_from(made, generator(self.encoder_seed, self.name, tower, "dropout", device=self.device))
        return made.to(self.device)

    def tower(self, name: str) -> nn.Module:
        """The encoder of a tower: the party's own where that reads it, or one that lives for pre-training alone."""
        encoder = self.built()
        if isinstance(encoder, TwoTowers):
            return encoder.cross if name == "cross" else encoder.local
        return encoder if name == self.encoder_tower else self.new_encoder(name, own=False)

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
        encoder = self.built()
        if encoder.training != train:
            encoder.train(train)
        with torch.set_grad_enabled(train), self.autocast():
            out: Tensor = encoder(*inputs)
        return out.float()

    def autocast(self) -> AbstractContextManager[None]:
        """bf16 where the precision asks for it."""
        if self.precision != "bf16":
            return nullcontext()
        cached = self.device.type != "cuda"  # a recorded step must not keep casts beyond itself
        return torch.autocast(self.device.type, dtype=torch.bfloat16, cache_enabled=cached)

    def encode_table(self, name: str, rows: Tensor | None = None) -> Tensor:
        """Representations of a table's rows without a graph, (N, D); zero for rows the party does not hold."""
        table = self.table(name)
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
        self.built()
        if sort_of(lesson).computed:
            self.encoder = sort_of(lesson)().fit(self.table("train"), self.width)
            return []
        losses: list[float] = []

        def after(epoch: int, loss: float) -> bool:
            losses.append(loss)
            self.progress(f"pretrain {self.name}", epoch, lesson.epochs)
            return False

        if lesson.clip is None:
            learn(self.course(lesson), after, self.keeper)
        else:
            from colonnade.privacy.course import learn_privately  # deferred: needs Opacus

            self.lessons += 1  # two lessons with the same noise would give it away
            secret = self.secret_for(f"noise {self.lessons}")
            self.account = learn_privately(self.course(lesson), self.name, after, secret)
        return losses

    def secret_for(self, purpose: str) -> bytes | None:
        """32 bytes for one purpose, of the party's secret; None where it has none."""
        if self.secret is None:
            return None
        return hashlib.blake2b(purpose.encode(), key=self.secret, digest_size=32).digest()

    def course(self, lesson: Lesson) -> Course:
        """What learning alone from all rows of the own table takes."""
        table = self.table("train")
        objective = build_objective(lesson, self.built(), self.width, table, self.name, self.own_objectives)
        return Course(objective, table, lesson, self.name, autocast=self.autocast)

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

    def keep_weights(self, name: str = "best") -> None:
        """Remember the present weights."""
        self.kept[name] = {k: v.detach().clone() for k, v in self.state().items()}

    def recall_weights(self, name: str = "best") -> None:
        """Go back to the remembered weights, if there are any."""
        if name in self.kept:
            self.load_state(self.kept[name])


def agreed_order(ids: Ids, aligned: Ids) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Positions of a party's rows in the agreed order: aligned ids first, sorted; then the others, sorted."""
    first = locate(ids, aligned)
    others = np.flatnonzero(locate(aligned, ids) < 0)
    return np.concatenate([first, others[np.argsort(ids[others], kind="stable")]])
