"""The in-batch contrastive loss of SS-VFL (Castiglia et al. 2022, Eq. 2).

B rows of a batch, seen as 2B views; D width of the representation, P width of the projection.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from colonnade.data.table import Table
from colonnade.nets.tabular import mlp
from colonnade.objectives.augment import Augmentation, draw_two, replace, split_two
from colonnade.objectives.base import VIEWS_OF_OTHERS, Objective
from colonnade.objectives.settings import above_zero, check, whole, width_of
from colonnade.objectives.similarity import cosines, info_nce


class Contrastive(Objective):
    """-ln( sim(u, u⁺) / Σ_{i≠u} sim(u, u_i) ), mean over the 2B views u of a batch; u⁺ is the row's other view.

    sim(u, v) = exp(cos(h(u), h(v)) / τ); h is the encoder followed by a two-layer projector that is dropped later.

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        projection: P, hidden and output width of the projector; None compares the representations themselves.
        temperature: τ, which the paper leaves open; .2 is that of its authors' code.
        augment: makes one view; the paper names none for tables.

    Deviation: the paper writes sim as exp(z1·z2/τ) and speaks of cosines: projections are scaled to unit length. It
    names no projector. The paper's batch 𝓑 is our 2B views, both views of a row serve as u.
    """

    min_batch = 2  # one row has no negatives: the loss is 0 whatever the encoder does

    has_projector = True
    mixes = VIEWS_OF_OTHERS
    compares_views = True

    def __init__(
        self,
        encoder: nn.Module,
        *,
        width: int,
        projection: int | None = 128,
        temperature: float = 0.2,
        augment: Augmentation = replace,
    ) -> None:
        check(
            "Contrastive",
            width_of(width),
            None if projection is None else whole("projection", projection, "Use None for no projector."),
            above_zero("temperature", temperature, "Use 0.2 as SS-VFL's authors do."),
        )
        super().__init__(encoder)
        self.projector = nn.Identity() if projection is None else mlp((width, projection, projection))
        self.temperature = temperature
        self.augment = augment

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """Two views of the rows, `(x1, x2)` or `(x1, codes1, x2, codes2)`."""
        return draw_two(self.augment, table, rows, generator)

    def forward(self, *drawn: Tensor) -> Tensor:
        """The loss, a scalar of at least 0."""
        views = [torch.cat(pair) for pair in zip(*split_two(drawn), strict=True)]  # each (2B, …)
        z = self.projector(self.encoder(*views))  # (2B, P)
        count = len(z)
        itself = torch.eye(count, dtype=torch.bool, device=z.device)
        scores = (cosines(z, z) / self.temperature).masked_fill(itself, -torch.inf)  # (2B, 2B)
        other = torch.arange(count, device=z.device).roll(count // 2)  # view b belongs to b ± B
        return info_nce(scores, other)
