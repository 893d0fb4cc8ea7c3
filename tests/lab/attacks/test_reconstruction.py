"""Reconstruction: exact where the representation is invertible, nothing from noise, and only from what arrives."""

from __future__ import annotations

import sys

import pytest
import torch

from colonnade.lab.attacks import RefusedError, Run, reconstruction
from colonnade.lab.attacks.reconstruction import explained, invert
from colonnade.wire.protection import GaussianNoise
from tests.lab.attacks.small import make_parts, make_run

module = sys.modules["colonnade.lab.attacks.reconstruction"]
AT = torch.arange(60)
REST = torch.arange(60, 200)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 30)


def test_a_linear_encoder_is_inverted_exactly() -> None:
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    guess = invert([x @ torch.randn(6, 10)], x, AT)
    assert explained(x[REST], guess[REST], x[AT].mean(dim=0)) > 0.999


def test_independent_noise_gives_nothing() -> None:
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    guess = invert([torch.randn(200, 10)], x, AT)
    assert abs(explained(x[REST], guess[REST], x[AT].mean(dim=0))) < 0.1


def test_the_mean_explains_nothing_by_definition() -> None:
    x = torch.randn(50, 3)
    mean = x[:10].mean(dim=0)
    assert explained(x, mean.expand(50, 3), mean) == pytest.approx(0)


def test_columns_of_attacked_rows_are_not_looked_at() -> None:
    torch.manual_seed(0)
    x = torch.randn(200, 3)
    h = [torch.tanh(x @ torch.randn(3, 8)), torch.randn(200, 4)]
    hidden = x.clone()
    hidden[REST] = float("nan")
    assert torch.equal(invert(h, x, AT), invert(h, hidden, AT))


def test_what_arrives_is_what_is_inverted() -> None:
    """A linear encoder, wide enough, gives all columns away; noise on the wire takes that back."""
    run = make_run(make_parts(columns=6, rows=300), hidden=(), width=8, epochs=2)
    (found,) = reconstruction(run, "bank")
    assert found.target == "columns of 'shop'" and found.metric == "R²"
    assert found.score > 0.99 and found.baseline < 0.2 and found.prior == 0 and found.n == 30
    assert found.advantage == pytest.approx(found.score - max(found.baseline, 0))
    noise, wire = GaussianNoise("representation", 100.0, 0), run.federation.wire
    noise.learn(wire.kinds)
    wire.protections.append(noise)
    (noisy,) = reconstruction(run, "bank")
    assert noisy.score < 0.3


def test_who_received_no_representation_is_refused() -> None:
    run = make_run(make_parts(rows=100), epochs=1)
    with pytest.raises(RefusedError, match="party 'shop' received no representation"):
        reconstruction(run, "shop")
    silent = Run(run.model, run.parts, [e for e in run.audit if e["kind"] != "representation"])
    with pytest.raises(RefusedError, match="party 'bank' received no representation"):
        reconstruction(silent, "bank")
