"""Feature reconstruction: a passive party's columns from the representations that it sends (He, Zhang & Lee 2019).

The adversary is the active party. Of a few auxiliary rows it knows both the representation, as it came over the wire,
and the columns behind it. It learns the way back, a linear map or a small network, and applies it to all other rows.
The way back is chosen by cross-validation over the auxiliary rows. The baseline attacker, alone, guesses the same
columns from its own.

Score: R² = 1 - Σ(x - x̂)² / Σ(x - x̄)², over all columns in standard deviations; x̄ is the mean of the auxiliary rows, so
that the attacker who guesses the mean has 0.

N rows, A auxiliary rows, D width of the representation, F columns (a category is one column per value).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from colonnade.data.preprocess import Preprocessor
from colonnade.data.vertical import VerticalData
from colonnade.lab.attacks.auxiliary import balanced, count_auxiliary, folds
from colonnade.lab.attacks.finding import Finding, RefusedError, beyond, standard_error
from colonnade.lab.attacks.run import Run
from colonnade.lab.attacks.witness import Witness, watching
from colonnade.methods.references.reference import one_hot
from colonnade.nets.tabular import mlp
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.seeds import seeded

STEPS, RATE, HIDDEN = 300, 3e-3, 128
Inverse = Callable[[Tensor], Tensor]  # (N, D) → (N, F)


def linear_inverse(h: Tensor, x: Tensor, ridge: float) -> Inverse:
    """x̂ = x̄ + (h - h̄)W, W by ridge regression, (A, D), (A, F)."""
    h_mean, x_mean = h.mean(dim=0), x.mean(dim=0)
    centred = (h - h_mean).double()  # (A, D)
    gram = centred.T @ centred + ridge * len(h) * torch.eye(h.shape[1], dtype=torch.float64)
    weight = torch.linalg.lstsq(gram, centred.T @ (x - x_mean).double(), driver="gelsd").solution.float()  # (D, F)
    return lambda new: x_mean + (new - h_mean) @ weight


def network_inverse(h: Tensor, x: Tensor, decay: float) -> Inverse:
    """An MLP with one hidden layer, by the mean squared error."""
    with seeded(0, "inversion"):
        net = mlp([h.shape[1], HIDDEN, x.shape[1]])
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=decay)
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.mse_loss(net(h), x).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    def inverse(new: Tensor) -> Tensor:
        with torch.no_grad():
            out: Tensor = net(new)
        return out

    return inverse


WAYS: tuple[tuple[Callable[[Tensor, Tensor, float], Inverse], float], ...] = (
    *((linear_inverse, ridge) for ridge in (1e-8, 1e-3, 1e-1, 1.0, 10.0)),
    *((network_inverse, decay) for decay in (1e-2, 1.0)),
)


def invert(inputs: list[Tensor], x: Tensor, at: Tensor) -> Tensor:
    """x̂ of all rows, (N, F), by the input and the way back that do best on auxiliary rows `at` left out in turn.

    Args:
        inputs: what the adversary could read, (N, D) each; the columns of attacked rows are not looked at.
        x: (N, F), read at the auxiliary rows alone.
        at: (A,) positions of the auxiliary rows.
    """
    known = x[at]
    scaled = [_standard(h, h[at]) for h in inputs]

    def held_out(h: Tensor, way: Callable[[Tensor, Tensor, float], Inverse], strength: float) -> float:
        """Squared error on auxiliary rows that the way back did not learn from."""
        error = 0.0
        for fit, rest in folds(np.arange(len(at))):
            error += float((way(h[fit], known[fit], strength)(h[rest]) - known[rest]).square().sum())
        return error

    choices = [(h, way, strength) for h in scaled for way, strength in WAYS]
    h, way, strength = min(choices, key=lambda c: held_out(c[0][at], c[1], c[2]))
    return way(h[at], known, strength)(h)


def explained(x: Tensor, guess: Tensor, mean: Tensor) -> float:
    """R² against the guess of the mean, (N, F), (N, F), (F,)."""
    return 1 - float((x - guess).square().sum() / (x - mean).square().sum())


def reconstruction(run: Run, adversary: str, *, auxiliary: int | None = None, seed: int = 0) -> list[Finding]:
    """Attack the columns of each passive party whose representations the active party received."""
    senders = run.received(adversary).get(REPRESENTATION.name, set())
    if adversary != run.active or not senders.intersection(run.passive):
        raise RefusedError(f"party {adversary!r} received no representation.")
    test = run.parts.test
    rows = test.only(test.aligned)
    n = len(rows.aligned)
    count = count_auxiliary(auxiliary, n, 2)
    at, rest = (torch.from_numpy(part) for part in balanced(np.zeros(n, np.int64), count, np.random.default_rng(seed)))
    known = run.federation.active.preprocessor
    own = None if known is None else _columns(rows, adversary, known)  # None: a party with labels only
    used = f"the representations it received of {n} new rows, and the columns of {count} of them"
    found = []
    for target, h in received(run, rows).items():
        x = _columns(rows, target, run.party(target).fitted_preprocessor())
        guess = invert([h] if own is None else [h, torch.cat([h, own], dim=1)], x, at)
        alone = x[at].mean(dim=0).expand_as(x) if own is None else invert([own], x, at)
        found.append(_finding(adversary, target, x, guess, alone, at, rest, used, seed))
    return found


def _finding(
    adversary: str, target: str, x: Tensor, guess: Tensor, alone: Tensor, at: Tensor, rest: Tensor, used: str, seed: int
) -> Finding:
    mean = x[at].mean(dim=0)
    if not float((x[rest] - mean).square().sum()):
        raise RefusedError(f"the columns of party {target!r} do not vary.")

    def figures(rows: Tensor) -> list[float]:
        return [*(explained(x[rows], guessed[rows], mean) for guessed in (guess, alone)), 0.0]

    score, baseline, prior = figures(rest)
    return Finding(
        attack="reconstruction", adversary=adversary, target=f"columns of {target!r}", metric="R²",
        score=score, baseline=baseline, prior=prior, advantage=beyond(score, baseline, prior),
        error=standard_error(lambda some: beyond(*figures(rest[torch.from_numpy(some)])), len(rest)),
        used=used, n=len(rest), seed=seed,
    )  # fmt: skip


def received(run: Run, rows: VerticalData) -> dict[str, Tensor]:
    """Representations of these rows by party, (N, D), as they reach the active party when it predicts."""
    witness = Witness(run.active, frozenset({REPRESENTATION.name}))
    with watching(run.federation.wire, witness):
        run.model.predict(rows.views)
    return {message.sender: message.tensors["representation"].float() for message in witness.messages}


def _columns(rows: VerticalData, party: str, made: Preprocessor) -> Tensor:
    """A party's columns in standard deviations, (N, F)."""
    return torch.from_numpy(one_hot(made.transform(rows.views[party], f"party {party!r}")))


def _standard(h: Tensor, known: Tensor) -> Tensor:
    """Mean 0 and standard deviation 1 by the auxiliary rows."""
    spread = known.std(dim=0)
    return (h - known.mean(dim=0)) / torch.where(spread < 1e-6, torch.ones_like(spread), spread)
