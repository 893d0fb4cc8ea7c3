"""BYOL (Grill et al. 2020), an alternative local objective of FedHSSL (He et al. 2022).

B batch, D width of the representation, P width of the projection.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from colonnade.data.table import Table
from colonnade.objectives.augment import Augmentation, draw_two, replace, split_two
from colonnade.objectives.base import VIEWS_OF_OTHERS, CrossObjective
from colonnade.objectives.momentum import follow, frozen_copy
from colonnade.objectives.projection import normed_mlp
from colonnade.objectives.settings import check, fraction, whole, width_of
from colonnade.objectives.similarity import negative_cosine


class BYOL(CrossObjective):
    """ℓ(p1, z2') + ℓ(p2, z1'), ℓ(p, z') = 2 - 2⟨p/‖p‖₂, z'/‖z'‖₂⟩ (Grill et al. Eq. 2, symmetrised by the sum).

    p = predictor(projector(encoder(view))) is trained; z' comes from copies of encoder and projector that follow them:
    ξ ← m·ξ + (1 - m)·θ after each step (Eq. 4). Projector and predictor: two layers, batch norm on the hidden one.

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        projection: P, hidden and output width of the projector.
        hidden: hidden width of the predictor.
        momentum: m, constant; .999 in the FedHSSL authors' code.
        augment: makes one view.

    Deviation: m is constant instead of rising to 1; widths are FedHSSL's. Buffers are not averaged (see `momentum`);
    the batch norms of the heads use batch statistics always (see `projection`).
    """

    min_batch = 2  # a batch norm has no variance of one row

    has_projector = True
    mixes = VIEWS_OF_OTHERS
    compares_views = True

    def __init__(
        self,
        encoder: nn.Module,
        *,
        width: int,
        projection: int = 512,
        hidden: int = 128,
        momentum: float = 0.999,
        augment: Augmentation = replace,
    ) -> None:
        check(
            "BYOL",
            width_of(width),
            whole("projection", projection, "It is the width of the projector; 512 is FedHSSL's."),
            whole("hidden", hidden, "It is the hidden width of the predictor; 128 is FedHSSL's."),
            fraction("momentum", momentum, "Use 0.999, or 0 for a target equal to the online network."),
        )
        super().__init__(encoder)
        self.projector = normed_mlp((width, projection, projection), norm_output=False)
        self.predictor = normed_mlp((projection, hidden, projection), norm_output=False)
        self.target_encoder = frozen_copy(encoder)
        self.target_projector = frozen_copy(self.projector)
        self.sent_width = projection
        self.momentum = momentum
        self.augment = augment

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """Two views of the rows, `(x1, x2)` or `(x1, codes1, x2, codes2)`."""
        return draw_two(self.augment, table, rows, generator)

    def predict(self, *view: Tensor) -> Tensor:
        """p (B, P), the online network's guess of the target's projection of the other view."""
        p: Tensor = self.predictor(self.projector(self.encoder(*view)))
        return p

    def target(self, *view: Tensor) -> Tensor:
        """z' (B, P), without gradient."""
        with torch.no_grad():
            z: Tensor = self.target_projector(self.target_encoder(*view))
        return z

    def emit(self, *view: Tensor) -> Tensor:
        """z' (B, P): in BYOL it is the slow target that others agree with."""
        return self.target(*view)

    def cross(self, *view: Tensor) -> tuple[Tensor, Tensor]:
        """z' of the slow target, and p of the online network."""
        return self.target(*view), self.predict(*view)

    def match(self, p: Tensor, received: Tensor) -> Tensor:
        """ℓ(p, z') against the other party's slow target, in [0, 4]."""
        return 2 + 2 * negative_cosine(p, received)

    def forward(self, *drawn: Tensor, guides: tuple[Tensor, ...] = (), gamma: float = 0.0) -> Tensor:
        """The symmetrised loss, a scalar in [0, 8], and γ(ℓ(p1, z1c') + ℓ(p2, z2c')) where there are guides."""
        first, second = split_two(drawn)
        p1, p2 = self.predict(*first), self.predict(*second)  # (B, P)
        loss = self.match(p1, self.target(*second)) + self.match(p2, self.target(*first))
        if not guides:
            return loss
        return loss + gamma * (self.match(p1, guides[0]) + self.match(p2, guides[1]))

    def after_step(self) -> None:
        """Move the target a little towards the online network."""
        follow(self.target_encoder, self.encoder, self.momentum)
        follow(self.target_projector, self.projector, self.momentum)
