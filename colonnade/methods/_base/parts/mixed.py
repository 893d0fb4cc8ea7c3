"""Training together on aligned rows, labelled or not.

The loop of methods whose loss reads all parties' representations.

B rows of a batch, M labelled ones among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from colonnade.methods._base.parts.monitor import Monitor, Training, batches
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.seeds import generator, seeded


def mixed_training(
    fed: Federation,
    monitor: Monitor,
    training: Training,
    objective: Callable[[ActiveParty, Tensor, int, dict[str, Tensor]], Tensor],
    penalty: Callable[[], Tensor] | None = None,
    *,
    unlabelled: bool = True,
) -> None:
    """Train all encoders and the head on aligned rows, `unlabelled` ones too: Algorithm 1, from line 7 on."""
    active = fed.active
    order = generator(training.seed, active.name, monitor.name)
    active.begin(**training.update)
    with fed.phase(monitor.name):
        fed.tell("begin", **training.update)
        for epoch in range(1, monitor.epochs + 1):
            total, steps = torch.zeros((), device=active.device), 0
            for rows, labelled in mixed_batches(active, training.batch_size, order, unlabelled):  # l.7
                h = fed.ask("forward", rows=rows)  # l.8-10: H^(v)
                loss_of = partial(objective, active, rows, labelled)  # l.11-15
                loss, gradients = active.descend(rows, h, loss_of, penalty)  # l.16-17: θ, θ^(v)
                fed.tell("backward", gradient=gradients)  # l.18-21: ∂L/∂H^(v), and each client's w_v
                total, steps = total + loss, steps + 1
            if monitor.after(epoch, total / steps):
                break
        monitor.recall()


def mixed_batches(
    active: ActiveParty, size: int, order: torch.Generator, unlabelled: bool = True
) -> Iterator[tuple[Tensor, int]]:
    """Labelled rows first, then unlabelled ones: every row at least once, both kinds in each batch."""
    labelled = active.labelled_aligned
    mask = torch.ones(active.aligned, dtype=torch.bool)
    mask[labelled] = False
    others = torch.nonzero(mask).squeeze(1)
    if len(others) == 0 or not unlabelled:
        yield from ((b.to(active.device, torch.int32), len(b)) for b in batches(labelled, size, order))
        return
    steps = max(-(-len(others) // size), -(-len(labelled) // size))
    unknown, known = endless(others, size, order), endless(labelled, size, order)
    for _ in range(steps):
        second, first = next(unknown), next(known)
        yield torch.cat([first, second]).to(active.device, torch.int32), len(first)


def endless(rows: Tensor, size: int, order: torch.Generator) -> Iterator[Tensor]:
    """Batches of rows, in a new order after each pass over them."""
    while True:
        yield from batches(rows, size, order)


def build_classifiers(active: ActiveParty, received: Mapping[str, int], seed: int) -> None:
    """A linear classifier for each party that has a representation, θ^(v), at the active party."""
    own = [active.width] if active.encoder is not None else []
    with seeded(seed, active.name, "classifiers"):
        active.extras = {
            f"classifier-{i}": nn.Linear(width, active.targets.outputs).to(active.device)
            for i, width in enumerate([*own, *received.values()])
        }
