"""FedHSSL's pre-training (He et al. 2022, Alg. 1): the loop at the active party.

Step 1 between the parties (l.1-13), step 2 within each (l.14-24), step 3 averaging (l.25-30); the passive half is in
`colonnade.parties.skills.together`. Symbols: z projection, p prediction, c cross-party, l local, γ weight of the
guidance.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError
from colonnade.methods._base.parts.averaging import (
    Averaging,
    averaged_lacks,
    averaged_sends,
    averaging_skills,
    enrol,
    shared_parts,
)
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.parts.self_supervised import own_objectives, ssl_lesson
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup, Skills
from colonnade.parties.federation import Federation
from colonnade.parties.skills.together import Crossing, Enrolment, Studying
from colonnade.parties.skills.towers import CrossTower

CROSS_SKILLS: Skills = (*SPLIT_SKILLS, Enrolment, Crossing)
BOTH_SKILLS: Skills = (*CROSS_SKILLS, Studying)


def setup_of(method: Any, towers: str, reads: str) -> Setup:
    """Pre-training between parties, then split training of the encoders that `reads` names."""
    averages = hasattr(method, "aggregate")
    learns = BOTH_SKILLS if towers == "both" else CROSS_SKILLS
    return Setup(
        skills=(*learns, *(averaging_skills(method) if averages else ())),
        sends={**SPLIT, "target": ("cross",), "projection": ("cross",), **(averaged_sends(method) if averages else {})},
        lacks=averaged_lacks(method) if averages else {},
        own_columns=True, objectives=own_objectives(method), plan=lambda active: {"tower": reads},
    )  # fmt: skip


def check_aligned(method: Any, data: VerticalData) -> None:
    """Refuse data without two rows that all parties hold; warn where they make less than a batch."""
    aligned = len(data.aligned)
    if aligned < 2:
        raise DataError(
            f"{aligned or 'No'} rows are held by all parties, and {method.name} learns from what parties say of the "
            f"same rows. Check that ids are written alike everywhere, or use fed-local-ssl or vflhlp."
        )
    if aligned < method.pretrain_batch_size:
        warnings.warn(
            f"{method.name}: the {aligned} aligned rows are fewer than pretrain_batch_size="
            f"{method.pretrain_batch_size}; all of them make one batch.",
            stacklevel=4,
        )


def pretrain(method: Any, fed: Federation, monitor: Monitor, towers: str) -> None:
    """Algorithm 1, `pretrain_epochs` times."""
    averages = shared_parts(method) if hasattr(method, "aggregate") else ()
    lesson = ssl_lesson(method)
    own = enrol(fed, lesson, towers, averages, updates=method.updates, staleness=method.staleness)
    if own is None or own.cross is None:
        raise DataError(f"{method.name} needs columns of party {fed.active.name!r}.")
    averaging = Averaging(fed, own, averages, secure=bool(averages) and method.secure_aggregation)
    for epoch in range(method.pretrain_epochs):
        record: dict[str, Any] = {"phase": "pretrain", "epoch": epoch + 1}
        record["loss"] = cross_party(method, fed, own.cross, epoch)  # l.1-13
        if towers == "both":
            gamma = gamma_at(method, epoch)
            with fed.phase("pretrain"):
                fed.tell("study", gamma=gamma)  # l.14-24 at each party; nothing crosses but the order to do it
            record |= {"local_loss": own.study(gamma), "gamma": gamma}
        averaging.run()  # l.25-30
        monitor.history.append({**record, "bytes": fed.wire.traffic.bytes})
        monitor.progress("pretrain", epoch + 1, method.pretrain_epochs)


def cross_party(method: Any, fed: Federation, tower: CrossTower, epoch: int) -> float:
    """Step 1, one pass over the aligned rows; the mean loss.

    Appendix D: with staleness s, every (s + 1)-th pass exchanges, and in the others everyone keeps to what it last
    heard. Where a response limit is set, every pass exchanges, and a late party's last projection is reused.
    """
    with fed.phase("cross"):
        if epoch % (method.staleness + 1) and method.response_limit is None:
            fed.tell("cross_again")
            return float(tower.agree_again())
        tower.begin_pass()
        total = torch.zeros((), device=fed.active.device)
        for i, rows in enumerate(tower.batches()):  # l.3
            z = tower.emit(rows)  # l.4: z_c^1, p_c^1
            first = {"first": True} if i == 0 else {}
            received = fed.ask("cross", rows=rows, target=z, **first)  # l.6, l.8: z down, z up; each party updates
            loss = tower.agree(received, fed.passive)  # l.10-11
            total += 0 if loss is None else loss * len(rows)
    return float(total) / fed.active.aligned


def gamma_at(method: Any, epoch: int) -> float:
    """γ of a pass, counted from 0."""
    if not isinstance(method.gamma, tuple | list):
        return float(method.gamma)
    points = np.linspace(0, max(method.pretrain_epochs - 1, 1), len(method.gamma))
    return float(np.interp(epoch, points, method.gamma))
