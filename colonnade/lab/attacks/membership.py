"""Membership inference against the released model: was this row among the labelled rows of training?

Wu et al. 2022 (§3.2) assume the attacker gets every model that inference needs; here it queries them. Members are
labelled training rows, non-members rows that the run never saw (not the validation rows, which chose the epoch).

- `membership`: the loss threshold of Yeom et al. 2018: a member has a low loss.
- `shadow_models`: Shokri et al. 2017: models of the same method, trained by the attacker on rows of its own, teach a
  classifier what members' predictions look like.

Score: AUC. Advantage: TPR - FPR at the threshold that is best on other rows (Yeom et al. 2018, Def. 4).

N rows, C classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, locate
from colonnade.data.splits import split
from colonnade.data.vertical import VerticalData
from colonnade.lab.attacks.finding import ANYONE, Finding, RefusedError
from colonnade.lab.attacks.run import Run
from colonnade.methods._base.method import Method

GUESS = 0.5
SHADOWS = 2
TINY = 1e-30  # probabilities and losses below it count as this much, so that each has a finite logarithm
Floats = npt.NDArray[np.float64]


def membership(run: Run, adversary: str = ANYONE, *, auxiliary: int | None = None, seed: int = 0) -> list[Finding]:
    """A low loss says "member". The threshold is chosen on one half of the rows and judged on the other."""
    _check(run, adversary)
    members, others = _members(run), run.parts.test
    scores = [-losses(run.model, rows) for rows in (members, others)]  # (N,) each
    rng = np.random.default_rng([seed, 0x3E])
    order = [rng.permutation(len(s)) for s in scores]
    halves = [tuple(s[at[k::2]] for s, at in zip(scores, order, strict=True)) for k in (0, 1)]
    chosen = [(halves[0], halves[1]), (halves[1], halves[0])]
    gaps = [_gap(test, best_threshold(*half)) for half, test in chosen]
    gap = float(np.mean([g for g, _ in gaps])), float(np.hypot(gaps[0][1], gaps[1][1]) / 2)
    used = "the released model's loss on rows whose labels it knows; half of the rows set its threshold"
    return [_finding("membership", auc(*scores), gap, used, sum(map(len, scores)), seed)]


def shadow_models(run: Run, adversary: str = ANYONE, *, auxiliary: int | None = None, seed: int = 0) -> list[Finding]:
    """A classifier that learnt on shadow models says "member"; half of the new rows make the shadows' data."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    _check(run, adversary)
    if getattr(run.model, "encoders", None):
        raise RefusedError("shadow models need fresh encoders, and the run had some of the user's.")
    ids = np.random.default_rng([seed, 0x5A]).permutation(run.parts.test.labels.ids)
    pool, others = (run.parts.test.only(part) for part in (ids[::2], ids[1::2]))
    inside, outside = zip(*(_shadow(run, pool, seed, k) for k in range(SHADOWS)), strict=True)
    features = np.concatenate([*inside, *outside])
    truth = np.repeat([True, False], [sum(map(len, inside)), sum(map(len, outside))])
    judge = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")).fit(features, truth)
    seen: Floats = judge.decision_function(features)
    threshold = best_threshold(seen[truth], seen[~truth])
    members = _members(run)
    scores = tuple(judge.decision_function(outputs(run.model, rows)) for rows in (members, others))
    used = f"the released model's predictions, and {SHADOWS} shadow models trained on {len(pool.labels)} new rows"
    n = sum(map(len, scores))
    return [_finding("shadow-models", auc(*scores), _gap(scores, threshold), used, n, seed)]


def _shadow(run: Run, pool: VerticalData, seed: int, k: int) -> tuple[Floats, Floats]:
    """What a model of the same method makes of rows it was trained on, and of others."""
    run.tell(f"training shadow model {k + 1} of {SHADOWS}")
    parts = split(pool, seed=SHADOWS * seed + k)
    options = {**run.model.get_params(), "seed": SHADOWS * seed + k}
    valid = None if run.parts.valid is None else parts.valid  # a shadow stops early only where the run could
    model = type(run.model)(**options).fit(parts.train, valid, metric=run.model.metric_)
    return outputs(model, parts.train), outputs(model, parts.test)


def losses(model: Method, rows: VerticalData) -> Floats:
    """Cross entropy, or squared error, of each labelled row, (N,)."""
    rows = rows.only(rows.labels.ids)
    truth = rows.labels.values
    if model.task_ == "regression":
        error: Floats = (model.predict(rows.views) - truth) ** 2
        return error
    p: Floats = model.predict_proba(rows.views)  # (N, C)
    return cross_entropy(p, locate(model.classes_, truth))


def cross_entropy(p: Floats, at: npt.NDArray[np.int64]) -> Floats:
    """-log of the probability in column `at` of each row, (N, C) → (N,); -1: a class that the model does not know.

    Near certainty it comes from the probabilities of the other classes: there 1 - p has lost all its digits.
    """
    true = np.arange(p.shape[1]) == at[:, None]  # (N, C)
    own, others = np.where(true, p, 0.0).sum(axis=1), np.where(true, 0.0, p).sum(axis=1)
    loss: Floats = np.where(own > 0.5, -np.log1p(-others.clip(0.0, 0.5)), -np.log(own.clip(TINY)))
    return loss


def outputs(model: Method, rows: VerticalData) -> Floats:
    """What the shadow attack reads of each row: loss; of classes also the margin and the entropy, (N, 1) or (N, 3)."""
    loss: Floats = np.log(losses(model, rows).clip(TINY))
    if model.task_ == "regression":
        return loss[:, None]
    p: Floats = model.predict_proba(rows.only(rows.labels.ids).views).clip(TINY)
    top = np.sort(np.log(p), axis=1)
    entropy = -(p * np.log(p)).sum(axis=1)
    return np.stack([loss, top[:, -1] - top[:, -2], np.log(entropy.clip(TINY))], axis=1)


def auc(members: Floats, others: Floats) -> float:
    """How well the scores rank members above others."""
    from sklearn.metrics import roc_auc_score

    truth = np.repeat([1, 0], [len(members), len(others)])
    return float(roc_auc_score(truth, np.concatenate([members, others])))


def best_threshold(members: Floats, others: Floats) -> float:
    """The score above which "member" gives the largest TPR - FPR."""
    every = np.unique(np.concatenate([members, others]))
    tpr = 1 - np.searchsorted(np.sort(members), every) / len(members)  # share of scores at or above each
    fpr = 1 - np.searchsorted(np.sort(others), every) / len(others)
    return float(every[np.argmax(tpr - fpr)])


def _gap(scores: tuple[Any, ...], threshold: float) -> tuple[float, float]:
    """TPR - FPR, and its standard error."""
    tpr, fpr = (float(np.mean(s >= threshold)) for s in scores)
    errors = [p * (1 - p) / len(s) for p, s in zip((tpr, fpr), scores, strict=True)]
    return tpr - fpr, float(np.sqrt(sum(errors)))


def _members(run: Run) -> VerticalData:
    train = run.parts.train
    ids: Ids = np.intersect1d(train.aligned, train.labels.ids)
    if len(ids) < 2:
        raise RefusedError(f"{len(ids)} labelled training rows are held by all parties, and two are needed.")
    return train.only(ids)


def _check(run: Run, adversary: str) -> None:
    if adversary != ANYONE:
        raise RefusedError(
            f"it is for who gets the released model, not for party {adversary!r}. Name {ANYONE!r}, or nobody."
        )
    if len(run.parts.test.labels) < 2:
        raise RefusedError("there are no rows that the run never saw.")


def _finding(attack: str, score: float, gap: tuple[float, float], used: str, n: int, seed: int) -> Finding:
    return Finding(
        attack=attack, adversary=ANYONE, target="who is a training row", metric="AUC", score=score, baseline=GUESS,
        prior=GUESS, advantage=gap[0], error=gap[1], used=used, n=n, seed=seed,
    )  # fmt: skip
