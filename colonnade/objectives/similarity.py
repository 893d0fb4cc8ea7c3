"""Cosine similarities and the losses made of them. B rows, J candidates, D width."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def negative_cosine(p: Tensor, z: Tensor) -> Tensor:
    """He et al. 2022, Eq. 3, and Chen & He 2021, Eq. 1: D(p, sg z) = -⟨p/‖p‖₂, z/‖z‖₂⟩, mean over the batch.

    Args: p, z: (B, D). The stop-gradient is built in: no gradient flows into z.
    """
    return -F.cosine_similarity(p, z.detach(), dim=1).mean()


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of every row of a (B, D) with every row of b (J, D): (B, J). Gradients flow into both."""
    return F.normalize(a, dim=1) @ F.normalize(b, dim=1).T


def info_nce(scores: Tensor, positive: Tensor) -> Tensor:
    """-ln( exp s_{b,positive(b)} / Σ_j exp s_{b,j} ), mean over the batch.

    Args:
        scores: (B, J), already divided by the temperature; -inf leaves a candidate out of the sum.
        positive: (B,) int64, which candidate belongs to each row.
    """
    return F.cross_entropy(scores, positive)
