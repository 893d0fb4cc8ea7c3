"""One round, and nothing after it: a partner learns alone, sends representations of the labelled rows, and is done.

Without a privacy budget the partner learns by contrast (SS-VFL-I, Castiglia et al. 2022). With one, its encoder stays
as it was drawn, a random projection of its columns, and what it sends is clipped and noisy: each row leaves once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.ids import Ids
from colonnade.data.vertical import VerticalData
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods.ss_vfl import SSVFLI, local_cl
from colonnade.parties.federation import Federation
from colonnade.parties.party import agreed_order
from colonnade.privacy.accounting import find_noise
from colonnade.privacy.entry import Entry, Gaussian

CLIP = 1e-3  # below every norm that a projection has, so that all rows leave with this one: their directions are sent
PRIVATE_WIDTH = 8  # noise drowns what is spread over many numbers


@dataclass(kw_only=True, eq=False, repr=False)
class OneRound(SSVFLI):
    """SS-VFL-I up to the message; what follows stays at the active party."""

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1, lines 2 to 4; the active party's own encoder learns where it reads images."""
        lesson = local_cl(self)
        if self.pretrain_epochs:
            with fed.phase("pretrain"):
                fed.tell("pretrain", **lesson.values())  # l.2-3, at the partner
        active = fed.active
        rows = active.labelled_aligned
        with fed.phase("train"):
            sent = fed.ask("represent", rows=rows.to(active.device, torch.int32))  # l.4: h_m(X_m), once
        self.sent_ = {name: h.cpu().numpy() for name, h in sent.items()}
        self.own_: npt.NDArray[np.float32] | None = None
        if active.preprocessor is not None and active.preprocessor.shape:
            active.learn(lesson)
            self.own_ = active.encode_table("train", active.labelled.to(active.device)).cpu().numpy()


@dataclass(frozen=True)
class Received:
    """What the active party has after the round."""

    ids: Ids  # of the labelled rows that the partner holds too, (N,)
    representations: npt.NDArray[np.float32]  # (N, D)
    labelled: Ids  # of all labelled rows
    own: npt.NDArray[np.float32] | None  # representations of its own images for `labelled`
    bytes: int
    sigma: float | None  # noise multiplier


def receive(data: VerticalData, partner: str, *, epsilon: float | None, delta: float, seed: int) -> Received:
    """One round between the active party and one partner, whose rows `data` holds."""
    options: dict[str, Any] = {}
    sigma = None
    if epsilon is not None:
        sigma = noise_for(partner, epsilon, delta)
        options = {
            "pretrain_epochs": 0, "hidden": (), "width": PRIVATE_WIDTH,
            "protect": f"gaussian:representation:{CLIP!r}:{sigma!r}@train",
        }  # fmt: skip
    model = OneRound(seed=seed, **options).fit(data)
    active = model.federation_.active
    view = data.views.get(data.active)
    order = data.aligned if view is None else view.ids[agreed_order(view.ids, data.aligned)]
    return Received(
        order[active.labelled_aligned.numpy()],
        model.sent_[partner],
        order[active.labelled.numpy()],
        model.own_,
        model.traffic_.bytes,
        sigma,
    )


def noise_for(partner: str, epsilon: float, delta: float) -> float:
    """The noise multiplier under which each row, sent once, spends at most ε at δ."""
    release = Gaussian(noise_multiplier=None, count=1)
    return find_noise(epsilon, delta, [Entry(partner, "train: representation", release)], "pld")[partner]
