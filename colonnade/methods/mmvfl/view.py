"""One party's part of MMVFL: a linear model of its columns, and what it takes for the labels.

Symbols: X_k (n, M) the party's columns of n rows, a category being as many columns as it has values; W_k (M, C) its
model; Z_k (n, C) its pseudo-labels, Z those of all parties together; A_k diagonal with A_ii = 1 / (2 ‖w_i‖₂) for row
i of W_k; β weight of ‖W_k‖_{2,1} = Σ_i ‖w_i‖₂, ζ of ‖Z_k - Z‖².
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from colonnade.objectives.pca import LinearEncoder, one_hot_rows
from colonnade.parties.party import Party
from colonnade.parties.skills.bounds import number
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

CONSENSUS = Kind(
    "consensus", "down",
    "in MMVFL, what all parties together take for the classes of rows: soon the classes themselves",
    tensors={"rows": ("int", 1), "consensus": ("float", 2)}, lossy=True, asks_about_rows=True,
)  # fmt: skip
LEAST = 1e-8  # what stands for 2 ‖w_i‖₂ = 0, so that A_ii stays finite


class LinearPrediction(LinearEncoder):
    """A party's own prediction, X_k W_k with an intercept: (B, F), (B, Q) → (B, C)."""

    bias: Tensor

    def __init__(self, columns: int, outputs: int, sizes: Sequence[int] = ()) -> None:
        super().__init__(torch.zeros(columns), torch.zeros(columns, outputs), sizes)
        self.register_buffer("bias", torch.zeros(outputs))

    def forward(self, x: Tensor, codes: Tensor | None = None) -> Tensor:
        """The C numbers of each row, one for each class."""
        return super().forward(x, codes) + self.bias

    def assign(self, mean: Tensor, weight: Tensor, bias: Tensor) -> None:
        """Take over a fitted model."""
        for buffer, value in ((self.mean, mean), (self.components, weight), (self.bias, bias)):
            buffer.copy_(value)


def blank_prediction(party: Party, outputs: int) -> LinearPrediction:
    """The model of a party's columns before anything was learnt."""
    made = party.fitted_preprocessor()
    sizes = made.sizes
    columns = made.blank()[0][0].numel() + sum(sizes)
    return LinearPrediction(columns, outputs, sizes).to(party.device)


class LinearView:
    """X_k, W_k and Z_k of one party; its encoder becomes X_k ↦ X_k W_k."""

    def __init__(self, party: Party, rows: Tensor, z: Tensor) -> None:
        self.rows, self.z = rows, z.double()
        x = one_hot_rows(party.table("train"), rows)  # (n, M) float64
        self.mean = x.mean(dim=0)
        self.x = x - self.mean  # centred, so that an intercept needs no column
        self.inverse = torch.ones(x.shape[1], dtype=x.dtype, device=x.device)  # 1 / A_ii; A_k = I at first
        self.gram = self.x.T @ self.x if x.shape[1] <= len(x) else None  # (M, M), where that is the smaller one
        self.encoder = party.encoder = blank_prediction(party, z.shape[1])

    def fit(self, beta: float) -> Tensor:
        """W_k = (X_kᵀ X_k + β A_k)⁻¹ X_kᵀ Z_k, and A_k from it; the prediction X_k W_k, (n, C).

        Solved as S (S X_kᵀ X_k S + β I)⁻¹ S X_kᵀ Z_k with S = A_k^(-½), which no zero row of W_k upsets, or in its dual
        form where there are fewer rows than columns.
        """
        bias = self.z.mean(dim=0)
        z, s = self.z - bias, self.inverse.sqrt()
        if self.gram is not None:
            w = s[:, None] * _solve(s[:, None] * self.gram * s, beta, s[:, None] * (self.x.T @ z))  # (M, C)
        else:
            xs = self.x * s
            w = s[:, None] * (xs.T @ _solve(xs @ xs.T, beta, z))
        self.inverse = 2 * torch.linalg.vector_norm(w, dim=1) + LEAST
        self.encoder.assign(self.mean, w, bias)
        return self.x @ w + bias

    def learn(self, beta: float, zeta: float, consensus: Tensor) -> Tensor:
        """Both updates of a party without labels; its prediction."""
        own = self.fit(beta)
        self.z = pulled(own, consensus.double(), zeta)
        return own


def pulled(own: Tensor, consensus: Tensor, zeta: float) -> Tensor:
    """Z_k = (X_k W_k + ζ Z) / (1 + ζ): between the party's own prediction and what all take for the labels."""
    return (own + zeta * consensus) / (1 + zeta)


def _solve(matrix: Tensor, beta: float, right: Tensor) -> Tensor:
    """(matrix + β I)⁻¹ right, for a matrix without negative eigenvalues."""
    shifted = matrix + beta * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    return torch.cholesky_solve(right, torch.linalg.cholesky(shifted))


class LinearFit(Skill):
    """The passive half of MMVFL."""

    beside_stack = True
    view: LinearView | None = None

    @operation(
        asks=CONSENSUS, answers=REPRESENTATION, takes={"beta": number(0), "zeta": number(0)}, may_be_late=True
    )  # fmt: skip
    def fit_linear(self, message: Message) -> Reply:
        """Steps 2-3: fit the linear model to the pseudo-labels; its prediction of these rows."""
        rows, consensus = message.tensors["rows"], message.tensors["consensus"]
        settings: dict[str, Any] = dict(message.values)
        if self.view is None or not torch.equal(self.view.rows, rows):
            self.view = LinearView(self.party, rows, consensus)
        return Reply({"representation": self.view.learn(consensus=consensus, **settings).float()})
