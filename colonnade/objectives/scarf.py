"""SCARF (Bahri et al. 2022), the pre-training of VFLHLP's passive parties (Li et al. 2024, Eqs 5-6).

B batch (the paper's N), D width of the representation, P width of the projection.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn

from colonnade.data.table import Table
from colonnade.nets.tabular import mlp
from colonnade.objectives.augment import corrupt, split_two
from colonnade.objectives.base import VIEWS_OF_OTHERS, Objective
from colonnade.objectives.settings import above_zero, check, fraction, whole, width_of
from colonnade.objectives.similarity import cosines, info_nce


class Scarf(Objective):
    """1/B Σ_i -ln( exp(s_ii/τ) / (1/B Σ_j exp(s_ij/τ)) ), s_ij = cos(z_i, z̃_j) (Eqs 5 and 6).

    z is the projection of the row as it is, z̃ that of its corrupted view, through the same encoder and two-layer head;
    gradients flow through both.

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        projection: P, hidden and output width of the head, which is dropped later (SCARF's 256).
        temperature: τ (SCARF's 1).
        rate: share of the columns corrupted in each row (SCARF's .6).

    Deviation: Eq. 5 prints ‖z_j‖ where the cosine of z_i and z̃_j needs ‖z̃_j‖. The sum in the denominator runs over
    the corrupted rows of the batch, the row's own included, as printed.
    """

    min_batch = 2  # with one row the loss is 0 whatever the encoder does

    has_projector = True
    mixes = VIEWS_OF_OTHERS
    takes_rate = True

    def __init__(
        self,
        encoder: nn.Module,
        *,
        width: int,
        projection: int = 256,
        temperature: float = 1.0,
        rate: float = 0.6,
    ) -> None:
        check(
            "Scarf",
            width_of(width),
            whole("projection", projection, "It is the width of the head; 256 is SCARF's."),
            above_zero("temperature", temperature, "Use 1 as SCARF does."),
            fraction("rate", rate, "It is the share of columns corrupted in each row; 0.6 is SCARF's."),
        )
        super().__init__(encoder)
        self.projector = mlp((width, projection, projection))
        self.temperature = temperature
        self.rate = rate

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """The rows as they are, then corrupted: `(x, x̃)` or `(x, codes, x̃, codes~)`."""
        return (*table.rows(rows), *corrupt(table, rows, generator, self.rate))

    def forward(self, *drawn: Tensor) -> Tensor:
        """The loss, a scalar."""
        clean, corrupted = split_two(drawn)
        z = self.projector(self.encoder(*clean))  # (B, P)
        z_tilde = self.projector(self.encoder(*corrupted))  # (B, P)
        count = len(z)
        scores = cosines(z, z_tilde) / self.temperature  # (B, B)
        return info_nce(scores, torch.arange(count, device=z.device)) - math.log(count)
