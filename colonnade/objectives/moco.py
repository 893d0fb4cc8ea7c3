"""MoCo (He et al. 2020) with the head of its second version: a local objective of FedHSSL and of SS-VFL's code.

B batch, D width of the representation, P width of the projection, J length of the queue.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from colonnade.data.table import Table
from colonnade.nets.tabular import mlp
from colonnade.objectives.augment import Augmentation, draw_two, replace, split_two
from colonnade.objectives.base import VIEWS_OF_OTHERS, CrossObjective
from colonnade.objectives.momentum import follow, frozen_copy
from colonnade.objectives.settings import above_zero, check, fraction, whole, width_of
from colonnade.objectives.similarity import info_nce


class MoCo(CrossObjective):
    """-ln( exp(q·k/τ) / (exp(q·k/τ) + Σ_j exp(q·queue_j/τ)) ), mean over the batch (He et al. 2020, Eq. 1).

    q (B, P) is the unit projection of the first view, k that of the second by the momentum copies, without gradient.
    After each step the copies follow (Eq. 2) and the keys of the last forward in training replace the oldest ones of
    the queue, which begins as random unit vectors from torch's global generator, as layers do.

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        projection: P, hidden and output width of the two-layer projector.
        queue: J; 4096 in the FedHSSL authors' code, 65536 in SS-VFL's.
        temperature: τ; .5 in the FedHSSL authors' code, .2 in SS-VFL's.
        momentum: m of the copies.
        augment: makes one view.

    Deviation: batches are not shuffled for batch norm, which the projector does not have. A queue longer than the table
    holds older keys of a row's own views among its negatives, as in the original from the second epoch on.
    """

    queue: Tensor
    oldest: Tensor

    has_projector = True
    mixes = VIEWS_OF_OTHERS
    compares_views = True

    def __init__(
        self,
        encoder: nn.Module,
        *,
        width: int,
        projection: int = 128,
        queue: int = 4096,
        temperature: float = 0.5,
        momentum: float = 0.999,
        augment: Augmentation = replace,
    ) -> None:
        check(
            "MoCo",
            width_of(width),
            whole("projection", projection, "It is the width of the projector; 128 is MoCo's."),
            whole("queue", queue, "It is the number of keys kept as negatives; 4096 is FedHSSL's."),
            above_zero("temperature", temperature, "Use 0.5 (FedHSSL) or 0.2 (SS-VFL)."),
            fraction("momentum", momentum, "Use 0.999, or 0 for keys from the query network itself."),
        )
        super().__init__(encoder)
        self.projector = mlp((width, projection, projection))
        self.key_encoder = frozen_copy(encoder)
        self.key_projector = frozen_copy(self.projector)
        self.register_buffer("queue", F.normalize(torch.randn(queue, projection), dim=1))  # (J, P)
        self.register_buffer("oldest", torch.zeros((), dtype=torch.int64))  # position of the oldest key
        self.sent_width = projection
        self.temperature = temperature
        self.momentum = momentum
        self.augment = augment
        self._keys: Tensor | None = None  # (B, P) of the last forward in training

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """Two views of the rows, `(x1, x2)` or `(x1, codes1, x2, codes2)`."""
        return draw_two(self.augment, table, rows, generator)

    def query(self, *view: Tensor) -> Tensor:
        """q (B, P), unit length, with gradient."""
        return F.normalize(self.projector(self.encoder(*view)), dim=1)

    def key(self, *view: Tensor) -> Tensor:
        """k (B, P), unit length, of the momentum copies, without gradient."""
        with torch.no_grad():
            return F.normalize(self.key_projector(self.key_encoder(*view)), dim=1)

    def emit(self, *view: Tensor) -> Tensor:
        """k (B, P): in MoCo it is the slow key that others agree with."""
        return self.key(*view)

    def cross(self, *view: Tensor) -> tuple[Tensor, Tensor]:
        """The slow key k, and the query q."""
        return self.key(*view), self.query(*view)

    def match(self, p: Tensor, received: Tensor) -> Tensor:
        """Eq. 1 with the keys of another network for the same rows."""
        own = torch.einsum("bp,bp->b", p, received.detach()).unsqueeze(1)  # (B, 1)
        scores = torch.cat([own, p @ self.queue.T], dim=1) / self.temperature  # (B, 1 + J)
        return info_nce(scores, torch.zeros(len(p), dtype=torch.int64, device=p.device))

    def receive(self, received: Tensor) -> None:
        """Keys of another party join the queue."""
        self._enqueue(F.normalize(received, dim=1))  # a codec may have rounded them

    def forward(self, *drawn: Tensor, guides: tuple[Tensor, ...] = (), gamma: float = 0.0) -> Tensor:
        """Eq. 1 of q1 with k2; with guides also γ times that of q1 with the guide of its view, against the batch's."""
        first, second = split_two(drawn)
        q = self.query(*first)  # (B, P)
        k = self.key(*second)  # (B, P)
        if self.training:
            self._keys = k
        loss = self.match(q, k)
        if not guides:
            return loss
        scores = q @ guides[0].detach().T / self.temperature  # (B, B)
        return loss + gamma * info_nce(scores, torch.arange(len(q), device=q.device))

    def after_step(self) -> None:
        """Move the key networks a little towards the query networks and enqueue the last keys, once."""
        follow(self.key_encoder, self.encoder, self.momentum)
        follow(self.key_projector, self.projector, self.momentum)
        if self._keys is not None:
            self._enqueue(self._keys)
            self._keys = None

    def _enqueue(self, keys: Tensor) -> None:
        """Overwrite the oldest keys, around the end of the queue; of more than J keys the last J stay."""
        length = len(self.queue)
        keys = keys[-length:]
        places = (self.oldest + torch.arange(len(keys), device=keys.device)) % length  # (B,)
        self.queue.index_copy_(0, places, keys)
        self.oldest.add_(len(keys)).remainder_(length)
