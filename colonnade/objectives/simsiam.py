"""SimSiam (Chen & He 2021), the objective of FedHSSL (He et al. 2022, Eqs 2-4).

B batch, D width of the representation, P width of the projection.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from colonnade.data.table import Table
from colonnade.objectives.augment import Augmentation, draw_two, replace, split_two
from colonnade.objectives.base import VIEWS_OF_OTHERS, CrossObjective
from colonnade.objectives.projection import normed_mlp
from colonnade.objectives.settings import check, whole, width_of
from colonnade.objectives.similarity import negative_cosine


class SimSiam(CrossObjective):
    """½(D(p1, sg z2) + D(p2, sg z1)), D the negative cosine, z = projector(encoder(view)), p = predictor(z).

    Projector: three layers with batch norm, also on the output. Predictor: two layers, batch norm on the hidden one.

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        projection: P, width of all projector layers (512 in the FedHSSL authors' code).
        hidden: hidden width of the predictor (128 there).
        augment: makes one view; `functools.partial(replace, rate=…)` changes the rate.

    Deviation: the print of Eq. 4 pairs p1 with z1; this is SimSiam's symmetrised loss, each p with the other view's z.
    The batch norms use batch statistics always (see `projection`).
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
        augment: Augmentation = replace,
    ) -> None:
        check(
            "SimSiam",
            width_of(width),
            whole("projection", projection, "It is the width of the projector; 512 is FedHSSL's."),
            whole("hidden", hidden, "It is the hidden width of the predictor; 128 is FedHSSL's."),
        )
        super().__init__(encoder)
        self.projector = normed_mlp((width, projection, projection, projection), norm_output=True)
        self.predictor = normed_mlp((projection, hidden, projection), norm_output=False)
        self.sent_width = projection
        self.augment = augment

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """Two views of the rows, `(x1, x2)` or `(x1, codes1, x2, codes2)`."""
        return draw_two(self.augment, table, rows, generator)

    def project(self, *view: Tensor) -> Tensor:
        """z (B, P), with gradient."""
        z: Tensor = self.projector(self.encoder(*view))
        return z

    def emit(self, *view: Tensor) -> Tensor:
        """z (B, P), without gradient."""
        with torch.no_grad():
            return self.project(*view)

    def cross(self, *view: Tensor) -> tuple[Tensor, Tensor]:
        """He et al. 2022, Alg. 1, l.4: z_c, detached, and p_c = h_c(z_c)."""
        z = self.project(*view)
        return z.detach(), self.predictor(z)

    def match(self, p: Tensor, received: Tensor) -> Tensor:
        """He et al. 2022, Eq. 2, one term: D(p_c, z_c of the other party)."""
        return negative_cosine(p, received)

    def forward(self, *drawn: Tensor, guides: tuple[Tensor, ...] = (), gamma: float = 0.0) -> Tensor:
        """Eq. 4: ½(D(p1, sg z2) + D(p2, sg z1)), and γ·½(D(p1, z1c) + D(p2, z2c)) where there are guides."""
        first, second = split_two(drawn)
        z1, z2 = self.project(*first), self.project(*second)  # (B, P)
        p1, p2 = self.predictor(z1), self.predictor(z2)  # (B, P)
        loss = (negative_cosine(p1, z2) + negative_cosine(p2, z1)) / 2
        if not guides:
            return loss
        return loss + gamma * (negative_cosine(p1, guides[0]) + negative_cosine(p2, guides[1])) / 2
