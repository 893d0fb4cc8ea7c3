"""Noise and ISO: distribution, whom they depend on, what they leave alone; and protections as text."""

from __future__ import annotations

import math

import pytest
import torch

from colonnade.errors import ConfigError
from colonnade.wire import Message
from colonnade.wire.protection import GaussianNoise, Iso, Noise
from colonnade.wire.protections import ClippedGaussian, Marvell, build, find_problems, listed
from tests.declared import KINDS, knowing, make_wire

N = 400 * 500  # numbers in a sample; bounds are five standard errors
ZERO = torch.zeros(400, 500)
gaussian, iso_of, clipped_of = knowing(GaussianNoise), knowing(Iso), knowing(ClippedGaussian)


def built(text: str, seed: int) -> list[Noise]:
    """Protections as a wire has them."""
    return make_wire(protections=build(text, seed)).protections  # type: ignore[return-value]


def representation(h: torch.Tensor, sender: str = "shop", phase: str = "train") -> Message:
    return Message("representation", sender, "bank", phase, {"representation": h})


def drawn(noise: Noise, sender: str = "shop", phase: str = "train") -> torch.Tensor:
    return noise.apply(representation(ZERO, sender, phase)).tensors["representation"]


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_noise_is_gaussian_with_mean_zero_and_the_stated_deviation(scale: float) -> None:
    """Errors of the mean c/√N, of the deviation c/√(2N), of the share within one deviation √(p(1-p)/N)."""
    noise = drawn(gaussian("representation", scale, seed=0))
    assert abs(noise.mean().item()) < 5 * scale / math.sqrt(N)
    assert abs(noise.std().item() - scale) < 5 * scale / math.sqrt(2 * N)
    for k in (1, 2, 3):
        p = math.erf(k / math.sqrt(2))
        share = (noise.abs() < k * scale).double().mean().item()
        assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / N)


def test_noise_is_added_and_the_senders_own_numbers_stay() -> None:
    h = torch.randn(400, 500, generator=torch.Generator().manual_seed(1))
    before = h.clone()
    got = gaussian("representation", 2.0, seed=0).apply(representation(h)).tensors["representation"]
    torch.testing.assert_close(got - h, drawn(gaussian("representation", 2.0, seed=0)), rtol=0, atol=1e-5)
    assert torch.equal(h, before)
    assert abs(correlation(got - h, h)) < 5 / math.sqrt(N)  # it does not depend on what it is added to


def test_senders_and_messages_draw_independently() -> None:
    noise = gaussian("representation", 1.0, seed=0)
    shop, telco, later = drawn(noise), drawn(noise, "telco"), drawn(noise)
    for a, b in ((shop, telco), (shop, later), (telco, later)):
        assert abs(correlation(a, b)) < 5 / math.sqrt(N)
    rows, columns = shop[:-1], shop[:, :-1]
    assert abs(correlation(rows, shop[1:])) < 6 / math.sqrt(N)  # and so do the rows and columns of one
    assert abs(correlation(columns, shop[:, 1:])) < 6 / math.sqrt(N)


def test_what_one_sender_draws_does_not_depend_on_the_others() -> None:
    alone, among = (gaussian("representation", 1.0, seed=0) for _ in range(2))
    drawn(among, "telco")
    assert torch.equal(drawn(alone), drawn(among))


def test_same_seed_same_noise() -> None:
    first, again, other = (gaussian("representation", 1.0, seed=s) for s in (3, 3, 4))
    for _ in range(2):
        a, b, c = drawn(first), drawn(again), drawn(other)
        assert torch.equal(a, b) and abs(correlation(a, c)) < 5 / math.sqrt(N)
        torch.manual_seed(7)  # the global generator does not matter


def test_only_the_named_kind_and_phases_get_noise() -> None:
    noise = gaussian("representation", 1.0, 0, frozenset({"train", "validate"}))
    everywhere = gaussian("representation", 1.0, 0)
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
    got = gaussian("target", 1.0, 0).apply(message)
    assert got.tensors["rows"] is rows and not torch.equal(got.tensors["target"], target)
    assert got.values == {"first": True}
    assert (got.kind, got.sender, got.receiver, got.phase) == ("target", "bank", "shop", "cross")
    assert got.tensors["target"].shape == (5, 3) and got.tensors["target"].dtype == torch.float32


def test_scale_zero_leaves_the_message_as_it_is() -> None:
    message = representation(ZERO)
    assert gaussian("representation", 0.0, 0).apply(message) is message


def test_an_empty_batch_stays_empty() -> None:
    got = gaussian("representation", 1.0, 0).apply(representation(torch.zeros(0, 4)))
    assert got.tensors["representation"].shape == (0, 4)


def test_the_wire_applies_it_before_anybody_sees_the_message_and_counts_the_same() -> None:
    seen: list[Message] = []
    wire = make_wire(protections=[gaussian("representation", 1.0, 0)], observers=[seen.append])
    bare = make_wire()
    got = wire.carry(representation(ZERO)).tensors["representation"]
    bare.carry(representation(ZERO))
    assert torch.equal(got, drawn(gaussian("representation", 1.0, 0)))
    assert torch.equal(seen[0].tensors["representation"], got)
    assert wire.traffic.to_json() == bare.traffic.to_json() and wire.audit_json() == bare.audit_json()


# ISO ------------------------------------------------------------------------------------------------------------------


def slow_sigma(rows: list[list[float]], strength: float) -> float:
    """λ · max‖row‖₂ / √d, by loops."""
    largest = 0.0
    for row in rows:
        total = 0.0
        for number in row:
            total += number * number
        largest = max(largest, math.sqrt(total))
    return strength * largest / math.sqrt(len(rows[0]))


def standard(protection: Noise, shape: tuple[int, ...], sender: str = "shop") -> torch.Tensor:
    """The standard normal numbers that a fresh copy of the protection draws first."""
    fresh = type(protection)(protection.kind, 1.0, protection.seed, purpose=protection.purpose)
    return fresh.draw(shape, torch.zeros(0), sender)


@pytest.mark.parametrize("strength, rows, width", [(1.0, 7, 5), (25.0, 1, 9), (0.1, 300, 1)])
def test_iso_noise_is_as_large_as_the_largest_row_of_the_message(strength: float, rows: int, width: int) -> None:
    h = torch.randn(rows, width, generator=torch.Generator().manual_seed(2))
    h[rows // 2] *= 9
    iso = iso_of("representation", strength, seed=0)
    got = iso.apply(representation(h)).tensors["representation"]
    expected = slow_sigma(h.tolist(), strength) * standard(iso, (rows, width))
    torch.testing.assert_close(got - h, expected, rtol=1e-3, atol=1e-4 * strength)


def test_iso_noise_has_the_stated_deviation_and_norm() -> None:
    h = torch.zeros(400, 500)
    h[3] = 2.0
    noise = iso_of("representation", 5.0, seed=1).apply(representation(h)).tensors["representation"] - h
    sigma = 5.0 * 2.0 * math.sqrt(500) / math.sqrt(500)
    assert abs(noise.mean().item()) < 5 * sigma / math.sqrt(N)
    assert abs(noise.std().item() - sigma) < 5 * sigma / math.sqrt(2 * N)
    norms = torch.linalg.vector_norm(noise, dim=1)
    assert abs(norms.mean().item() / (5.0 * 2.0 * math.sqrt(500)) - 1) < 0.01  # λ times the largest row's


def test_a_vector_is_one_row_and_the_row_count_beside_parameters_stays() -> None:
    flat = torch.randn(600, generator=torch.Generator().manual_seed(3))
    iso = iso_of("average", 2.0, 0)
    got = iso.apply(Message("average", "bank", "shop", "aggregate", {"average": flat})).tensors["average"]
    expected = slow_sigma([flat.tolist()], 2.0) * standard(iso, (1, 600), "bank")[0]
    torch.testing.assert_close(got - flat, expected, rtol=1e-3, atol=1e-3)
    weighed = torch.cat([flat * 135, torch.tensor([135.0])])
    for protection in (iso_of("parameters", 2.0, 0), clipped_of("parameters", 1.0, 0, clip=2.0)):
        message = Message("parameters", "shop", "bank", "aggregate", {"parameters": weighed})
        sent = protection.apply(message).tensors["parameters"]
        assert sent.shape == (601,) and sent[-1] == 135.0 and (sent[:-1] != weighed[:-1]).all()
    sigma = (iso_of("parameters", 2.0, 0).apply(message).tensors["parameters"] - weighed)[:-1].std().item()
    assert abs(sigma / slow_sigma([(flat * 135).tolist()], 2.0) - 1) < 5 / math.sqrt(2 * 600)


def test_iso_of_nothing_is_nothing() -> None:
    for shape in ((0, 4), (3, 0)):
        got = iso_of("representation", 1.0, 0).apply(representation(torch.zeros(shape))).tensors["representation"]
        assert got.shape == shape
    assert torch.equal(drawn(iso_of("representation", 1.0, 0)), ZERO)  # and of zeros are zeros


# as text --------------------------------------------------------------------------------------------------------------

FLOATS = [name for name, kind in KINDS.items() if kind.holds_floats]
EXACT = [name for name in KINDS if name not in FLOATS]
SENT = {kind: ("train", "predict") for kind in FLOATS if kind != "parameters"}


def test_float_kinds_are_those_that_hold_real_numbers() -> None:
    known = {"representation", "gradient", "target", "projection", "parameters", "average", "consensus"}
    assert set(FLOATS) == known


def test_text_becomes_protections_in_order() -> None:
    text = "noise:representation:1e+1@train/validate+iso:gradient:5 + gaussian:average:2:0.5+marvell:gradient:4"
    assert len(listed(text)) == 4 and listed(()) == [] and listed(("a:b", "c+d")) == ["a:b", "c", "d"]
    noise, iso, clipped, marvell = build(text, 7)
    assert isinstance(noise, GaussianNoise) and (noise.kind, noise.scale, noise.seed) == ("representation", 10.0, 7)
    assert noise.phases == {"train", "validate"} and iso.phases is None
    assert isinstance(iso, Iso) and iso.scale == 5 and isinstance(marvell, Marvell) and marvell.scale == 4
    assert isinstance(clipped, ClippedGaussian) and (clipped.clip, clipped.scale) == (2.0, 0.5)
    assert len({protection.purpose for protection in (noise, iso, clipped, marvell)}) == 4


def test_the_same_protection_twice_draws_twice_and_each_kind_draws_by_itself() -> None:
    first, second = built("noise:representation:1+noise:representation:1", 0)
    other = built("noise:projection:1", 0)[0]
    a, b = drawn(first), drawn(second)
    z = other.apply(Message("projection", "shop", "bank", "cross", {"projection": ZERO})).tensors["projection"]
    for one, another in ((a, b), (a, z)):
        assert abs(correlation(one, another)) < 5 / math.sqrt(N)
    assert torch.equal(drawn(built("noise:representation:1", 0)[0]), a)


def test_protections_apply_in_order() -> None:
    """Clipping after large noise bounds what crosses; noise after clipping is as large as ever."""
    wire = make_wire(protections=[*build("noise:representation:9+gaussian:representation:1:1e-9", 0)])
    assert torch.linalg.vector_norm(wire.carry(representation(ZERO)).tensors["representation"], dim=1).max() < 1.001
    wire = make_wire(protections=[*build("gaussian:representation:1:1e-9+noise:representation:9", 0)])
    assert abs(wire.carry(representation(ZERO)).tensors["representation"].std().item() / 9 - 1) < 5 / math.sqrt(2 * N)


WRONG = [
    ("nois:gradient:1", "there is no protection 'nois'. Did you mean 'noise'?"),
    ("iso:gradent:1", "it sends no gradent, so this would protect nothing. Did you mean 'gradient'?"),
    ("iso:rows:1", "'rows' is no kind of message that holds real numbers."),
    ("iso:masked:1", "'masked' is no kind of message that holds real numbers."),
    ("iso:gradient:0", "LAMBDA must be a number above 0. Got '0'. Leave it out for 0."),
    ("noise:gradient:-1", "SCALE must be a number above 0. Got '-1'."),
    ("noise:gradient:inf", "SCALE must be a number above 0. Got 'inf'."),
    ("noise:gradient:nan", "SCALE must be a number above 0. Got 'nan'."),
    ("gaussian:gradient:1:much", "SIGMA must be a number above 0. Got 'much'."),
    ("gaussian:gradient:1", "must be of the form gaussian:KIND:CLIP:SIGMA"),
    ("iso:gradient:1:2", "must be of the form iso:KIND:LAMBDA"),
    ("iso", "must be of the form iso:KIND:LAMBDA"),
    ("", "there is no protection ''."),
    ("iso:gradient:1@trian", "it sends no gradient in phase 'trian'. Its phases: train, predict."),
    ("iso:gradient:1@", "it sends no gradient in phase ''."),
    ("iso:parameters:1", "it sends no parameters, so this would protect nothing. It sends representation, "),
    ("marvell:representation:1", "marvell is for gradients alone. Use iso:representation."),
    ("gaussian:target:1:1", "norms mix rows. Clipping each row does not bound what one row changes then"),
]


@pytest.mark.parametrize("text, part", WRONG)
def test_what_is_wrong_names_the_entry_and_the_way_out(text: str, part: str) -> None:
    (found,) = find_problems(text, "it", SENT, {"target": "norms mix rows"}, {}, EXACT)
    assert found.startswith(f"protect {text!r}") and part in found


def test_all_problems_come_at_once_and_what_is_no_text_is_refused() -> None:
    texts = tuple(text for text, _ in WRONG)
    assert len(find_problems(texts, "it", SENT, {"target": "norms mix rows"}, {}, EXACT)) == len(WRONG)
    for value in (3, None, ("iso:gradient:1", 2), {"iso": 1}):
        (found,) = find_problems(value, "it", SENT, {}, {}, EXACT)
        assert found.startswith("protect must be texts of the form NAME:KIND:STRENGTH. Got ")
        with pytest.raises(ConfigError, match="'iso:gradient:1', and"):
            listed(value)
