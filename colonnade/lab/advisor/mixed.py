"""Scores as a sum of parts: what the record and the probes say together about methods that were not run here.

The square root of an error (see `setting`) is taken as a sum of independent normal parts, whose variances are found by
maximum likelihood on the record: a mixed model, predicted by conditioning. N scores, M asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from colonnade.lab.advisor.traits import trait_table

Floats = npt.NDArray[np.float64]

PARTS = {
    "setting": "how hard a setting is",
    "partners": "what partners' columns give everywhere",
    "partners, settings alike": "what they give in settings like this one",
    "partners, data": "what they give on these data",
    "method": "how good a method is everywhere",
    "method, settings alike": "how good it is in settings like this one",
    "method, data": "how good it is on these data",
    "trait": "how good methods with a trait are everywhere",
    "trait, settings alike": "how good they are in settings like this one",
    "trait, data": "how good they are on these data",
    "probe": "what a probe of a method misses of a full run",
    "probe, setting": "what all probes in a setting miss",
    "run noise": "seeds and test rows, of one run",
    "probe noise": "seeds and validation rows, of a probe on 100 of them",
}
COMMON = 1.0  # variance of the mean of all scores
OWN = ("partners, data", "method, data", "trait, data")  # what sets data apart from all other data
SCALES = (1.0, 4.0, 16.0, 64.0)  # by which these may vary more than in the record, each a quarter as likely before
USUAL, SPREAD = (
    math.log(0.001),
    2.0,
)  # before anything is seen, a log variance is about the first, give or take the second


@dataclass(frozen=True)
class Seen:
    """A score that is known, or asked for."""

    data: str
    setting: str
    features: tuple[float, ...]
    method: str
    probe: bool = False  # on validation rows, by a short training
    value: float = 0.0  # square root of the error
    weight: float = 1.0  # runs that it is the mean of; of a probe, validation rows / 100


@dataclass(frozen=True)
class Scale:
    """Features of settings brought to one scale."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, seen: Sequence[Seen]) -> Scale:
        """The scale of the settings that were seen."""
        every = np.array(list({one.setting: one.features for one in seen}.values()))
        spread = every.std(axis=0)
        return cls(every.mean(axis=0), np.where(spread < 1e-9, 1.0, spread))

    def alike(self, a: Sequence[Seen], b: Sequence[Seen]) -> Floats:
        """(N, M): 1 for equal settings, towards 0 the more they differ."""
        x, z = (np.array([one.features for one in many]) - self.mean for many in (a, b))
        x, z = x / self.spread, z / self.spread
        squares = ((x[:, None, :] - z[None, :, :]) ** 2).mean(axis=2)
        return np.asarray(np.exp(-squares / 2))


def covariances(a: Sequence[Seen], b: Sequence[Seen], scale: Scale) -> dict[str, Floats]:
    """Of each part but the noise, (N, M), for a variance of 1."""
    alike = scale.alike(a, b)
    same = {
        name: np.equal.outer([getattr(s, name) for s in a], [getattr(s, name) for s in b]).astype(np.float64)
        for name in ("data", "setting", "method")
    }
    x, z = (trait_table([s.method for s in many]) for many in (a, b))
    partners, traits = np.outer(x[:, 0], z[:, 0]), x[:, 1:] @ z[:, 1:].T
    probe = np.outer([s.probe for s in a], [s.probe for s in b]).astype(np.float64)
    return {
        "setting": same["setting"],
        "partners": partners,
        "partners, settings alike": partners * alike,
        "partners, data": partners * same["data"],
        "method": same["method"],
        "method, settings alike": same["method"] * alike,
        "method, data": same["method"] * same["data"],
        "trait": traits,
        "trait, settings alike": traits * alike,
        "trait, data": traits * same["data"],
        "probe": probe * same["method"],
        "probe, setting": probe * same["setting"],
    }


def noises(seen: Sequence[Seen]) -> dict[str, Floats]:
    """Of the two noises, (N, N), for a variance of 1."""
    return {
        name: np.diag([float(one.probe == probe) / one.weight for one in seen])
        for name, probe in (("run noise", False), ("probe noise", True))
    }


def fit(seen: Sequence[Seen]) -> dict[str, float]:
    """The variance of each part under which the scores are likeliest."""
    from scipy.optimize import minimize

    scale = Scale.of(seen)
    parts = {**covariances(seen, seen, scale), **noises(seen)}
    every = np.stack([parts[name] for name in PARTS])  # (P, N, N)
    y = np.array([one.value for one in seen])

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        variances = np.exp(logs)
        whole = np.einsum("p,pij->ij", variances, every) + COMMON + 1e-8 * np.eye(len(y))
        inverse = np.linalg.inv(whole)
        a = inverse @ y
        value = 0.5 * float(y @ a) + 0.5 * float(np.linalg.slogdet(whole)[1])
        slope = 0.5 * variances * (np.einsum("ij,pij->p", inverse, every) - np.einsum("i,pij,j->p", a, every, a))
        off = (logs - USUAL) / SPREAD
        return value + 0.5 * float(off @ off), slope + off / SPREAD

    start = np.full(len(PARTS), USUAL)
    found = minimize(unlikely, start, jac=True, method="L-BFGS-B", bounds=[(-16.0, 1.0)] * len(PARTS))
    return {name: float(value) for name, value in zip(PARTS, np.exp(found.x), strict=True)}


def predict(seen: Sequence[Seen], asked: Sequence[Seen], variances: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Mean (M,) and covariance (M, M) of the scores that are asked for, given those that were seen; without noise.

    Some data reward one method far more than normal parts would allow. So the parts that are the data's own may vary
    more on the data asked about, by each of `SCALES`, as likely as this makes the scores seen: a mixture of normals.
    """
    scale = Scale.of(seen)
    noise = sum(variances[name] * part for name, part in noises(seen).items()) + 1e-8 * np.eye(len(seen))
    own = {one.data for one in asked}

    def whole(a: Sequence[Seen], b: Sequence[Seen]) -> tuple[Floats, Floats]:
        """Covariances, and the part of them that a scale multiplies."""
        parts = {name: variances[name] * part for name, part in covariances(a, b, scale).items()}
        here = np.outer([one.data in own for one in a], [one.data in own for one in b])
        return np.asarray(COMMON + sum(parts.values())), here * sum(parts[name] for name in OWN)

    y = np.array([one.value for one in seen])
    blocks = whole(seen, seen), whole(asked, seen), whole(asked, asked)
    found = []
    for times in SCALES:
        k, across, prior = (every + (times - 1) * part for every, part in blocks)
        solved = np.linalg.solve(k + noise, np.column_stack([y, across.T]))  # (N, 1 + M)
        likely = -0.5 * (y @ solved[:, 0] + np.linalg.slogdet(k + noise)[1]) - math.log(times)
        found.append((likely, across @ solved[:, 0], prior - across @ solved[:, 1:]))
    return _mixed(found)


def _mixed(found: Sequence[tuple[float, Floats, Floats]]) -> tuple[Floats, Floats]:
    """Mean and covariance of a mixture: of each component its log likelihood, mean and covariance."""
    weights = np.exp(np.array([likely for likely, _, _ in found]) - max(likely for likely, _, _ in found))
    weights /= weights.sum()
    means, inside = (np.stack(each) for each in list(zip(*found, strict=True))[1:])
    mean = np.einsum("s,sm->m", weights, means)
    off = means - mean
    return mean, np.einsum("s,smn->mn", weights, inside) + np.einsum("s,sm,sn->mn", weights, off, off)
