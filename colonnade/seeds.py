"""Seeds: every draw has a generator of its own, derived from the run's seed, the party and the purpose.

The global generator of torch is never advanced, so that what one party draws cannot depend on another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive(seed: int, *purpose: str) -> int:
    """A seed for one purpose, e.g. `derive(seed, "shop", "encoder")`."""
    digest = hashlib.blake2b("/".join([str(seed), *purpose]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def generator(seed: int, *purpose: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator for one purpose."""
    return torch.Generator(device).manual_seed(derive(seed, *purpose))


@contextmanager
def seeded(seed: int, *purpose: str) -> Iterator[None]:
    """Make torch's initialisers draw from a seed of their own, and leave the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, *purpose))
        yield
