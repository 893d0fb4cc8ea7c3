"""The sum of parts, against a slow version written out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from colonnade.advisor.mixed import COMMON, PARTS, Scale, Seen, fit, predict
from colonnade.advisor.traits import PARTNERS, TRAITS

METHODS = ("local", "splitnn", "ss-vfl-i", "ss-vfl-c", "secureboost")
VARIANCES = {name: 0.01 * (i + 1) for i, name in enumerate(PARTS)}


def scores(rng: np.random.Generator, data: int = 3) -> list[Seen]:
    found = []
    for d, labels in product(range(data), (1.0, 2.0)):
        about = f"d{d}", f"d{d} {labels:g}", (labels, float(d))
        runs = [Seen(*about, m, False, float(rng.normal()), 3.0) for m in METHODS]
        found += [*runs, *(Seen(*about, m, True, float(rng.normal()), 2.0) for m in METHODS[:3])]
    return found


def slow(a: Seen, b: Seen, scale: Scale) -> float:
    """The covariance of two scores, part by part."""
    near = np.exp(-np.mean(((np.array(a.features) - np.array(b.features)) / scale.spread) ** 2) / 2)
    v, total = VARIANCES, COMMON
    data, method, setting = a.data == b.data, a.method == b.method, a.setting == b.setting
    total += v["setting"] * setting
    if PARTNERS in TRAITS[a.method] and PARTNERS in TRAITS[b.method]:
        total += v["partners"] + v["partners, settings alike"] * near + v["partners, data"] * data
    total += method * (v["method"] + v["method, settings alike"] * near + v["method, data"] * data)
    shared = len((set(TRAITS[a.method]) & set(TRAITS[b.method])) - {PARTNERS})
    total += shared * (v["trait"] + v["trait, settings alike"] * near + v["trait, data"] * data)
    if a.probe and b.probe:
        total += v["probe"] * method + v["probe, setting"] * setting
    return float(total)


def test_prediction_is_conditioning(rng: np.random.Generator) -> None:
    seen = scores(rng)
    asked = [Seen("here", "here", (1.5, 0.5), m) for m in METHODS]
    scale = Scale.of(seen)
    noise = [VARIANCES["probe noise" if s.probe else "run noise"] / s.weight for s in seen]
    k = np.array([[slow(a, b, scale) for b in seen] for a in seen]) + np.diag(noise)
    across = np.array([[slow(a, b, scale) for b in seen] for a in asked])
    inverse = np.linalg.inv(k)
    mean, covariance = predict(seen, asked, VARIANCES)
    np.testing.assert_allclose(mean, across @ inverse @ [s.value for s in seen], rtol=1e-5)
    own = np.array([[slow(a, b, scale) for b in asked] for a in asked])
    np.testing.assert_allclose(covariance, own - across @ inverse @ across.T, rtol=1e-4, atol=1e-8)


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
