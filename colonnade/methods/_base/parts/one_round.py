"""Training on representations that were sent once: the last phase of every method with a single round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from colonnade.methods._base.parts.monitor import Monitor, Training, batches
from colonnade.methods._base.parts.private import Private, private_epochs
from colonnade.parties.federation import Federation
from colonnade.seeds import generator
from colonnade.wire.message import Value


def one_round_training(fed: Federation, monitor: Monitor, training: Training, private: Private | None = None) -> None:
    """Each passive party sends its representations of the labelled rows, once; the active party learns from them.

    Representations of validation rows travel in the same message. A party whose answer came too late counts as zero.
    With `private`, the active party learns by DP-SGD.
    """
    active = fed.active
    rows = active.labelled_aligned.to(active.device)
    n = len(rows)
    also: dict[str, Value] = {"also": "valid"} if "valid" in active.y else {}
    with fed.phase(monitor.name):
        sent = fed.ask("represent", rows=rows.to(torch.int32), **also)
    monitor.received = {name: h[n:] for name, h in sent.items()}
    if active.scaler is not None:
        own = {active.name: active.encode_table("train", rows)} if active.name in active.scaler.places else {}
        active.scaler.fit({**own, **{name: h[:n] for name, h in sent.items()}})
    active.begin(**training.update)
    known = {name: h[:n] for name, h in sent.items()}
    with _epochs(fed, rows, known, training, monitor.name, private) as epoch_of:
        for epoch in range(1, monitor.epochs + 1):
            if monitor.after(epoch, epoch_of() / n):
                break
    monitor.recall()
    monitor.received = None


@contextmanager
def _epochs(
    fed: Federation, rows: Tensor, sent: dict[str, Tensor], training: Training, name: str, private: Private | None
) -> Iterator[Callable[[], Tensor]]:
    """What makes one epoch over the rows (n,), with what was sent for them, (n, D) each; the sum of their losses."""
    active, n = fed.active, len(rows)
    if private is not None:
        with private_epochs(active, rows, sent, private) as epoch:
            yield epoch
        return
    order = generator(training.seed, active.name, name)

    def step(at: Tensor) -> Tensor:
        h = {name: every.index_select(0, at) for name, every in sent.items()}
        loss, _ = active.step(rows.index_select(0, at), h, answer=False)
        return loss * len(at)

    take = fed.steps().over(step, active.device)

    def plain_epoch() -> Tensor:
        total = torch.zeros((), device=active.device)
        for at in batches(torch.arange(n, device=active.device), training.batch_size, order):
            total += take(at)
        return total

    yield plain_epoch
