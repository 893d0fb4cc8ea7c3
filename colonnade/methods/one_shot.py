"""Training on representations that were sent once: the last phase of every method with a single round."""

from __future__ import annotations

import torch

from colonnade.federation import Federation
from colonnade.methods.monitor import Monitor, Training, batches
from colonnade.seeds import generator
from colonnade.wire.message import Value


def one_shot_training(fed: Federation, monitor: Monitor, training: Training) -> None:
    """Each passive party sends its representations of the labelled rows, once; the active party learns from them.

    Representations of validation rows travel in the same message. A party whose answer came too late counts as zero.
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
    order = generator(training.seed, active.name, monitor.name)
    active.begin(**training.update)
    for epoch in range(1, monitor.epochs + 1):
        total = torch.zeros((), device=active.device)
        for at in batches(torch.arange(n, device=active.device), training.batch_size, order):
            h = {name: every.index_select(0, at) for name, every in sent.items()}
            loss, _ = active.step(rows.index_select(0, at), h, answer=False)
            total += loss * len(at)
        if monitor.after(epoch, total / n):
            break
    monitor.recall()
    monitor.received = None
