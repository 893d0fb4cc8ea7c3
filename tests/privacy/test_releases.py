"""Released representations: bounded, noisy as stated, and counted by row."""

from __future__ import annotations

import math

import pytest
import torch

from colonnade.errors import ConfigError
from colonnade.privacy import Gaussian, Ledger, PrivacyError, Releases, SampledGaussian, clip_rows, release

N, D = 400, 500


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def planned(count=2, sigma=1.5):
    ledger = Ledger()
    return ledger, ledger.plan("shop", "release", Gaussian(noise_multiplier=sigma, count=count))


def test_rows_are_shortened_to_the_clip_and_short_ones_stay():
    h = torch.randn(N, 3, 4, generator=seeded(0)) * torch.logspace(-2, 2, N)[:, None, None]
    clipped, norms = clip_rows(h, 2.0), h.flatten(1).norm(dim=1)
    assert clipped.flatten(1).norm(dim=1).max() <= 2.0 * (1 + 1e-6)
    assert torch.equal(clipped[norms <= 2], h[norms <= 2])
    turned = torch.nn.functional.cosine_similarity(clipped.flatten(1), h.flatten(1))
    torch.testing.assert_close(turned, torch.ones(N))
    assert torch.equal(clip_rows(torch.zeros(2, 3), 1.0), torch.zeros(2, 3))


def test_noise_has_the_stated_scale_and_its_generator_decides():
    h = torch.randn(N, D, generator=seeded(0))
    noise = release(h, 3.0, 1.5, seeded(1)) - clip_rows(h, 3.0)
    assert noise.std() == pytest.approx(4.5, rel=5 / math.sqrt(2 * N * D))
    assert abs(noise.mean()) < 5 * 4.5 / math.sqrt(N * D)
    assert torch.equal(release(h, 3.0, 1.5, seeded(1)), release(h, 3.0, 1.5, seeded(1)))
    assert not torch.equal(release(h, 3.0, 1.5, seeded(1)), release(h, 3.0, 1.5, seeded(2)))


def test_parts_are_one_release_and_the_same_rows_again_another():
    ledger, entry = planned()
    h = torch.randn(N, D, generator=seeded(0))
    releases = Releases(entry, clip=3.0, rows=N, generator=seeded(1))
    for part in torch.arange(N).split(150):
        releases(h[part], part)
    assert entry.done == 1
    releases(h[:10], torch.arange(10))
    assert entry.done == 2 and entry.observed.noise_multiplier == pytest.approx(1.5, rel=0.01)
    ledger.check()
    with pytest.raises(PrivacyError, match="a row would be released 3 times and 2 were planned"):
        releases(h[9:11], torch.arange(9, 11))
    assert entry.done == 2


def test_noise_that_is_missing_is_caught(monkeypatch):
    ledger, entry = planned()
    monkeypatch.setattr("colonnade.privacy.releases.release", lambda h, clip, *_: clip_rows(h, clip))
    Releases(entry, clip=3.0, rows=N, generator=seeded(1))(torch.randn(N, 4), torch.arange(N))
    with pytest.raises(PrivacyError, match=r"noise 1.5 times the clipping norm, measured was"):
        ledger.check()


def test_what_cannot_be_bounded_is_refused():
    h = torch.ones(2, 3)
    h[1, 0] = math.inf
    with pytest.raises(PrivacyError, match="not finite"):
        release(h, 1.0, 1.0, seeded(0))
    with pytest.raises(ConfigError, match=r"2 problems(.|\n)*clip must be above 0. Got 0(.|\n)*noise_multiplier"):
        release(torch.ones(2, 3), 0, -1.0, seeded(0))
    entry = Ledger().plan("shop", "train", SampledGaussian(noise_multiplier=1.0, rate=0.1, steps=3))
    with pytest.raises(ConfigError, match="releasing needs an entry with a Gaussian"):
        Releases(entry, clip=1.0, rows=3, generator=seeded(0))
