"""Whether there are labels to learn from."""

from __future__ import annotations

import torch

from colonnade.errors import DataError, raise_all
from colonnade.parties.active import ActiveParty


def check_labels(active: ActiveParty, method: str, *, aligned: bool = True) -> None:
    """Refuse data without labelled rows that the method can use, or with one class among them."""
    rows, problems = active.labelled_aligned if aligned else active.labelled, []
    if len(rows) == 0:
        problems.append(
            f"none of the {len(active.labelled)} labelled rows of party {active.name!r} is held by all parties, "
            f"and {method} trains on such rows. Label some aligned rows, or use local."
        )
    elif active.targets.task != "regression" and len(torch.unique(active.y["train"][rows.to(active.device)])) < 2:
        problems.append(f"the labelled rows that {method} can use are all of one class. Label rows of another class.")
    raise_all(problems, DataError, "The data cannot be used")
