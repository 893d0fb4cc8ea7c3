"""The sum of parts, against a slow version written out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from colonnade.lab.advisor.mixed import COMMON, PARTS, SCALES, Scale, Seen, fit, predict
from colonnade.lab.advisor.traits import PARTNERS, TRAITS

METHODS = ("local", "splitnn", "ss-vfl-i", "ss-vfl-c", "secureboost")
VARIANCES = {name: 0.01 * (i + 1) for i, name in enumerate(PARTS)}


def scores(rng: np.random.Generator, data: int = 3) -> list[Seen]:
    found = []
    for d, labels in product(range(data), (1.0, 2.0)):
        about = f"d{d}", f"d{d} {labels:g}", (labels, float(d))
        runs = [Seen(*about, m, False, float(rng.normal()), 3.0) for m in METHODS]
        found += [*runs, *(Seen(*about, m, True, float(rng.normal()), 2.0) for m in METHODS[:3])]
    return found


def slow(a: Seen, b: Seen, scale: Scale, times: float = 1.0) -> float:
    """The covariance of two scores, part by part; the data's own parts count so many times on the data asked about."""
    near = np.exp(-np.mean(((np.array(a.features) - np.array(b.features)) / scale.spread) ** 2) / 2)
    v, total = VARIANCES, COMMON
    data, method, setting = a.data == b.data, a.method == b.method, a.setting == b.setting
    data *= times if a.data == b.data == "here" else 1
    total += v["setting"] * setting
    if PARTNERS in TRAITS[a.method] and PARTNERS in TRAITS[b.method]:
        total += v["partners"] + v["partners, settings alike"] * near + v["partners, data"] * data
    total += method * (v["method"] + v["method, settings alike"] * near + v["method, data"] * data)
    shared = len((set(TRAITS[a.method]) & set(TRAITS[b.method])) - {PARTNERS})
    total += shared * (v["trait"] + v["trait, settings alike"] * near + v["trait, data"] * data)
    if a.probe and b.probe:
        total += v["probe"] * method + v["probe, setting"] * setting
    return float(total)


def test_prediction_is_conditioning_mixed_over_scales(rng: np.random.Generator) -> None:
    about = "here", "here", (1.5, 0.5)
    probes = [Seen(*about, m, True, float(rng.normal()), 2.0) for m in METHODS[1:3]]
    seen = [*scores(rng), *probes]
    asked = [Seen(*about, m) for m in METHODS]
    scale = Scale.of(seen)
    y = np.array([s.value for s in seen])
    noise = [VARIANCES["probe noise" if s.probe else "run noise"] / s.weight for s in seen]
    weights, means, seconds = [], [], []
    for times in SCALES:
        k = np.array([[slow(a, b, scale, times) for b in seen] for a in seen]) + np.diag(noise)
        across = np.array([[slow(a, b, scale, times) for b in seen] for a in asked])
        own = np.array([[slow(a, b, scale, times) for b in asked] for a in asked])
        weights.append(multivariate_normal(np.zeros(len(seen)), k).pdf(y) / times)
        means.append(across @ np.linalg.inv(k) @ y)
        seconds.append(own - across @ np.linalg.inv(k) @ across.T + np.outer(means[-1], means[-1]))
    weights = [w / sum(weights) for w in weights]
    mean, covariance = predict(seen, asked, VARIANCES)
    wanted = sum(w * m for w, m in zip(weights, means, strict=True))
    np.testing.assert_allclose(mean, wanted, rtol=1e-5)
    second = sum(w * m for w, m in zip(weights, seconds, strict=True))
    np.testing.assert_allclose(covariance, second - np.outer(wanted, wanted), rtol=1e-4, atol=1e-7)


def test_probes_that_differ_more_than_usual_are_believed() -> None:
    """All data of the record agree; then a probe a little off is taken for noise, and one far off for the truth."""
    record = [
        Seen(f"d{d}", f"d{d}", (1.0,), m, probe, 0.5, 3.0) for d, m, probe in product(range(6), METHODS, (False, True))
    ]
    variances = dict.fromkeys(PARTS, 1e-6) | {"setting": 0.01, "method, data": 1e-4, "probe noise": 1e-3}
    asked = [Seen("here", "here", (1.0,), m) for m in METHODS]

    def moved(score: float) -> float:
        probes = [Seen("here", "here", (1.0,), m, True, 0.5, 1.0) for m in METHODS[:4]]
        probes.append(Seen("here", "here", (1.0,), "secureboost", True, score, 1.0))
        mean, _ = predict([*record, *probes], asked, variances)
        return float(mean[0] - mean[-1]) / (0.5 - score)

    assert moved(0.48) < 0.3 and moved(0.1) > 0.5


def test_fit_finds_which_part_matters(rng: np.random.Generator) -> None:
    level, skill = rng.normal(size=20), {m: 0.5 * i for i, m in enumerate(METHODS)}
    seen = [
        Seen(f"d{d}", f"d{d}", (float(d % 3),), m, False, level[d] + skill[m] + 0.01 * float(rng.normal()))
        for d, m in product(range(20), METHODS)
    ]
    found = fit(seen)
    assert set(found) == set(PARTS)
    assert found["setting"] > 0.3 and found["run noise"] < 1e-3 and found["method, data"] < 0.01
    mean, _ = predict(seen, [Seen("new", "new", (1.0,), m) for m in METHODS], found)
    assert list(np.argsort(mean)) == list(range(len(METHODS)))
    np.testing.assert_allclose(np.diff(mean), 0.5, atol=0.05)


def test_a_probe_moves_its_method_and_those_like_it(rng: np.random.Generator) -> None:
    seen = scores(rng)
    asked = [Seen("here", "here", (1.5, 0.5), m) for m in METHODS]
    about = "here", "here", (1.5, 0.5)

    def means(splitnn: float) -> dict[str, float]:
        probes = [Seen(*about, "local", True, 0.5, 2.0), Seen(*about, "splitnn", True, splitnn, 2.0)]
        return dict(zip(METHODS, predict([*seen, *probes], asked, VARIANCES)[0].tolist(), strict=True))

    bad, good = means(0.9), means(0.1)
    drop = {m: bad[m] - good[m] for m in METHODS}
    assert drop["splitnn"] > drop["ss-vfl-c"] > drop["secureboost"] > drop["local"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
