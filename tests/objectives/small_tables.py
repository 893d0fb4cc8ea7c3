"""Small random tables."""

import torch

from colonnade.data.table import Table


def make_table(n=40, features=6, sizes=(3, 5), seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, features, generator=g, dtype=dtype)
    if not sizes:
        return Table(x)
    codes = torch.stack([torch.randint(0, s + 1, (n,), generator=g) for s in sizes], dim=1)
    return Table(x, codes, tuple(sizes))
