"""What is exported, as modules without state of a party: preprocessing with encoder, and the head with its scaler.

B rows, F numeric columns, Q categorical columns, D width of a representation, C outputs.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from colonnade.data.preprocess import CLIP, Preprocessor
from colonnade.errors import ConfigError
from colonnade.parties.active import ActiveParty
from colonnade.parties.joined import join
from colonnade.parties.party import Party


class RawEncoder(nn.Module):
    """A party's preprocessing and encoder in one: raw columns or pixels → (B, D)."""

    mean: Tensor
    scale: Tensor
    gaps: Tensor
    sizes: Tensor

    def __init__(self, made: Preprocessor, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.image, self.in_bytes = bool(made.shape), made.in_bytes
        self.numeric, self.coded, self.with_gaps = bool(made.columns), bool(made.fields), bool(made.gaps)
        self.register_buffer("mean", torch.from_numpy(made.mean.copy()))  # (F,), or (channels,)
        self.register_buffer("scale", torch.from_numpy(made.scale.copy()))
        self.register_buffer("gaps", torch.tensor(made.gaps, dtype=torch.int64))
        self.register_buffer("sizes", torch.tensor(made.sizes, dtype=torch.int64))  # (Q,)

    def forward(self, *raw: Tensor) -> Tensor:
        """`(pixels,)`, `(numbers,)`, `(numbers, codes)` or `(codes,)` → (B, D)."""
        out: Tensor
        if self.image:
            out = self.encoder(self._pixels(raw[0]))
            return out.float()
        x = self._numbers(raw[0]) if self.numeric else torch.zeros(raw[0].shape[0], 0)
        out = self.encoder(x, self._known(raw[-1])) if self.coded else self.encoder(x)
        return out.float()

    def _pixels(self, pixels: Tensor) -> Tensor:
        x = pixels.float() / 255 if self.in_bytes else pixels
        return (x - self.mean[:, None, None]) / self.scale[:, None, None]

    def _numbers(self, numbers: Tensor) -> Tensor:
        """(B, F) with NaN for missing → (B, F + gaps): standardised, clipped, missing ones 0 and marked."""
        missing = torch.isnan(numbers)
        x = torch.where(missing, 0.0, ((numbers - self.mean) / self.scale).clamp(-CLIP, CLIP))
        return torch.cat([x, missing.index_select(1, self.gaps).float()], dim=1) if self.with_gaps else x

    def _known(self, codes: Tensor) -> Tensor:
        """(B, Q); a code that no category has becomes 0, unknown."""
        return torch.where((codes >= 0) & (codes <= self.sizes), codes, 0)


class Head(nn.Module):
    """Scaler, join and head: one representation per party, (B, D) each → probabilities (B, C), or targets (B,)."""

    def __init__(self, active: ActiveParty) -> None:
        super().__init__()
        self.head = cpu_copy(active.head)
        self.scaler = None if active.scaler is None else cpu_copy(active.scaler)
        self.scaled = () if active.scaler is None else tuple(active.scaler.places)
        self.names = readers(active)
        self.how, self.regression = active.join, active.targets.task == "regression"
        self.target_mean, self.target_scale = active.targets.mean, active.targets.scale

    def forward(self, *parts: Tensor) -> Tensor:
        """In the order of `names`; a party that lacks the row gives zeros."""
        read = [self._scaled(name, h) for name, h in zip(self.names, parts, strict=True)]
        logits: Tensor = self.head(join(read, self.how))
        if self.regression:
            return logits[:, 0].double() * self.target_scale + self.target_mean
        return torch.softmax(logits, dim=1)

    def _scaled(self, name: str, h: Tensor) -> Tensor:
        if self.scaler is None or name not in self.scaled:
            return h
        out: Tensor = self.scaler(name, h)
        return out


def readers(active: ActiveParty) -> tuple[str, ...]:
    """The parties whose representations the head reads, in its order."""
    own = (active.name,) if active.encoder is not None else ()
    return (*own, *active.widths)


def cpu_copy(module: nn.Module) -> nn.Module:
    """A copy for evaluation, on the CPU; the original stays as it is."""
    twin = copy.deepcopy(module).cpu().eval()
    for parameter in twin.parameters():
        parameter.requires_grad_(False)
    return twin


def raw_encoder(party: Party) -> RawEncoder:
    """A party's preprocessing and a copy of its encoder."""
    if party.encoder is None:
        raise ConfigError(f"party {party.name!r} has no encoder that could be exported: it has no columns.")
    return RawEncoder(party.fitted_preprocessor(), cpu_copy(party.encoder)).eval()
