"""Noise: its distribution, whom it depends on, and what it leaves alone."""

from __future__ import annotations

import math

import pytest
import torch

from colonnade.wire import Message, Wire
from colonnade.wire.protection import GaussianNoise

N = 400 * 500  # numbers in a sample; bounds are five standard errors
ZERO = torch.zeros(400, 500)


def representation(h: torch.Tensor, sender: str = "shop", phase: str = "train") -> Message:
    return Message("representation", sender, "bank", phase, {"representation": h})


def drawn(noise: GaussianNoise, sender: str = "shop", phase: str = "train") -> torch.Tensor:
    return noise.apply(representation(ZERO, sender, phase)).tensors["representation"]


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_noise_is_gaussian_with_mean_zero_and_the_stated_deviation(scale: float) -> None:
    """Errors of the mean c/√N, of the deviation c/√(2N), of the share within one deviation √(p(1-p)/N)."""
    noise = drawn(GaussianNoise("representation", scale, seed=0))
    assert abs(noise.mean().item()) < 5 * scale / math.sqrt(N)
    assert abs(noise.std().item() - scale) < 5 * scale / math.sqrt(2 * N)
    for k in (1, 2, 3):
        p = math.erf(k / math.sqrt(2))
        share = (noise.abs() < k * scale).double().mean().item()
        assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / N)


def test_noise_is_added_and_the_senders_own_numbers_stay() -> None:
    h = torch.randn(400, 500, generator=torch.Generator().manual_seed(1))
    before = h.clone()
    got = GaussianNoise("representation", 2.0, seed=0).apply(representation(h)).tensors["representation"]
    torch.testing.assert_close(got - h, drawn(GaussianNoise("representation", 2.0, seed=0)), rtol=0, atol=1e-5)
    assert torch.equal(h, before)
    assert abs(correlation(got - h, h)) < 5 / math.sqrt(N)  # it does not depend on what it is added to


def test_senders_and_messages_draw_independently() -> None:
    noise = GaussianNoise("representation", 1.0, seed=0)
    shop, telco, later = drawn(noise), drawn(noise, "telco"), drawn(noise)
    for a, b in ((shop, telco), (shop, later), (telco, later)):
        assert abs(correlation(a, b)) < 5 / math.sqrt(N)
    rows, columns = shop[:-1], shop[:, :-1]
    assert abs(correlation(rows, shop[1:])) < 6 / math.sqrt(N)  # and so do the rows and columns of one
    assert abs(correlation(columns, shop[:, 1:])) < 6 / math.sqrt(N)


def test_what_one_sender_draws_does_not_depend_on_the_others() -> None:
    alone, among = (GaussianNoise("representation", 1.0, seed=0) for _ in range(2))
    drawn(among, "telco")
    assert torch.equal(drawn(alone), drawn(among))


def test_same_seed_same_noise() -> None:
    first, again, other = (GaussianNoise("representation", 1.0, seed=s) for s in (3, 3, 4))
    for _ in range(2):
        a, b, c = drawn(first), drawn(again), drawn(other)
        assert torch.equal(a, b) and abs(correlation(a, c)) < 5 / math.sqrt(N)
        torch.manual_seed(7)  # the global generator does not matter


def test_only_the_named_kind_and_phases_get_noise() -> None:
    noise = GaussianNoise("representation", 1.0, 0, frozenset({"train", "validate"}))
    everywhere = GaussianNoise("representation", 1.0, 0)
    for phase in ("train", "validate"):
        assert drawn(noise, phase=phase).ne(0).all()
    predict = representation(ZERO, phase="predict")
    assert noise.apply(predict) is predict
    assert drawn(everywhere, phase="predict").std() > 0.9
    for kind in ("gradient", "projection", "parameters"):
        message = Message(kind, "shop", "bank", "train", {kind: torch.ones(2, 3)})
        assert noise.apply(message) is message and everywhere.apply(message) is message


def test_whole_numbers_values_and_addresses_stay() -> None:
    rows, target = torch.arange(5, dtype=torch.int32), torch.ones(5, 3)
    message = Message("target", "bank", "shop", "cross", {"rows": rows, "target": target}, {"first": True})
    got = GaussianNoise("target", 1.0, 0).apply(message)
    assert got.tensors["rows"] is rows and not torch.equal(got.tensors["target"], target)
    assert got.values == {"first": True}
    assert (got.kind, got.sender, got.receiver, got.phase) == ("target", "bank", "shop", "cross")
    assert got.tensors["target"].shape == (5, 3) and got.tensors["target"].dtype == torch.float32


def test_scale_zero_leaves_the_message_as_it_is() -> None:
    message = representation(ZERO)
    assert GaussianNoise("representation", 0.0, 0).apply(message) is message


def test_an_empty_batch_stays_empty() -> None:
    got = GaussianNoise("representation", 1.0, 0).apply(representation(torch.zeros(0, 4)))
    assert got.tensors["representation"].shape == (0, 4)


def test_the_wire_applies_it_before_anybody_sees_the_message_and_counts_the_same() -> None:
    seen: list[Message] = []
    wire = Wire(protections=[GaussianNoise("representation", 1.0, 0)], observers=[seen.append])
    bare = Wire()
    got = wire.carry(representation(ZERO)).tensors["representation"]
    bare.carry(representation(ZERO))
    assert torch.equal(got, drawn(GaussianNoise("representation", 1.0, 0)))
    assert torch.equal(seen[0].tensors["representation"], got)
    assert wire.traffic.to_json() == bare.traffic.to_json() and wire.audit_json() == bare.audit_json()
