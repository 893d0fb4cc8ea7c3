"""How many rows a step can have in the memory that there is: found by trying."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from colonnade.parties.party import Party

VIEWS = 2  # of each row, that an objective may encode before it goes back


def largest_fitting(parties: Sequence[Party], size: int) -> int:
    """The largest of size/2, size/4, … rows for which every party's encoder goes forward and back; 0 if none does."""
    while size > 1:
        size //= 2
        torch.cuda.empty_cache()
        try:
            _try(parties, size)
        except torch.OutOfMemoryError:
            continue
        return size
    return 0


def _try(parties: Sequence[Party], size: int) -> None:
    """A step of all parties at once, without its update."""
    outputs = []
    for party in parties:
        table = party.tables["train"]
        rows = torch.arange(size, device=party.device) % max(len(table), 1)
        outputs += [party.encode(table.rows(rows), train=True) for _ in range(VIEWS)]
    for out in outputs:
        out.sum().backward()  # type: ignore[no-untyped-call]
    for party in parties:
        for module in party.modules().values():
            module.zero_grad()
