"""Representations that leave a party with a guarantee: clipped, then noise.

The unclipped noise of the papers has none.

N rows, B batch, D width, C bound on the norm, σ noise multiplier.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from colonnade.errors import ConfigError, raise_all
from colonnade.privacy.entry import Entry, Gaussian, PrivacyError


def clip_rows(h: Tensor, clip: float) -> Tensor:
    """Each row of h (B, …) shortened to norm C where it is longer."""
    norms = torch.linalg.vector_norm(h.flatten(1), dim=1)  # (B,)
    if not bool(torch.isfinite(norms).all()):
        raise PrivacyError("a representation is not finite, so no clipping bounds it. Lower the learning rate.")
    factors = clip / norms.clamp(min=clip)
    clipped: Tensor = h * factors.view(-1, *[1] * (h.ndim - 1))
    return clipped


def release(h: Tensor, clip: float, noise_multiplier: float, generator: Generator) -> Tensor:
    """h (B, …) → clip_rows(h) + N(0, (σC)²): the Gaussian mechanism for each row.

    Neighbouring tables differ by one person whose row is there or is blank, a blank row having the representation 0;
    who is in the table is known, as its ids are. One row of the output then moves by at most C, which is add/remove
    sensitivity C. To hide a row's value among all values (replacing it) the bound is 2C: plan half the σ.

    The other rows must not move: the encoder is either fixed before it sees the person's row, or trained by
    `PrivateSteps` under the same ledger. With an encoder trained without noise on these rows this guarantees nothing.
    """
    problems = [f"{name} must be above 0. Got {v!r}." for name, v in (("clip", clip),) if not v > 0]
    problems += [f"noise_multiplier must be at least 0. Got {noise_multiplier!r}."] if noise_multiplier < 0 else []
    raise_all(problems, ConfigError, "release of representations")
    noise = torch.randn(h.shape, generator=generator, device=h.device, dtype=h.dtype)
    return clip_rows(h, clip) + noise_multiplier * clip * noise


class Releases:
    """Releases of one party's rows, counted by row: `entry.done` is how often the most often released row was.

    Rows released in several parts cost one release; a row released again, with fresh noise, costs another.
    """

    def __init__(self, entry: Entry, *, clip: float, rows: int, generator: Generator) -> None:
        if not isinstance(entry.mechanism, Gaussian):
            raise ConfigError(f"{entry}: releasing needs an entry with a Gaussian mechanism. Got {entry.mechanism!r}.")
        self.entry, self.clip, self.generator = entry, clip, generator
        self.times = torch.zeros(rows, dtype=torch.int64)  # (N,)

    def __call__(self, h: Tensor, positions: Tensor) -> Tensor:
        """h (B, D) of the rows at `positions` (B,), as it may leave."""
        entry = self.entry
        if not self.times.any():
            entry.claim(self.generator)
        times = self.times.index_add(0, positions.cpu(), torch.ones(len(positions), dtype=torch.int64))
        most = int(times.max()) if len(times) else 0
        planned = entry.mechanism.times if entry.mechanism else 0
        if most > planned:
            raise PrivacyError(f"{entry}: a row would be released {most} times and {planned} were planned. Plan more.")
        out = release(h, self.clip, entry.sigma, self.generator)
        noise = torch.linalg.vector_norm(out - clip_rows(h, self.clip), dtype=torch.float64) / self.clip
        entry.observe(float(noise) ** 2, h.numel(), uses=most - int(self.times.max()))
        entry.count(most - int(self.times.max()))
        self.times = times
        return out
