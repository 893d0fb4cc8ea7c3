"""Averaging against FedAvg by hand, and masks: they cancel exactly, and one contribution alone says nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.errors import WireError
from colonnade.parties.skills.aggregation import FRACTION, Masks, average, average_masked, contribution

WORD = 1 << 64


def parts_and_rows(parties: int, length: int = 9, seed: int = 0) -> tuple[list[torch.Tensor], list[int]]:
    g = torch.Generator().manual_seed(seed)
    parts = [torch.randn(length, generator=g) * 10 ** (k % 3) for k in range(parties)]
    return parts, [17 + 1000 * k for k in range(parties)]


def keyring(parties: int) -> tuple[list[Masks], torch.Tensor]:
    masks = [Masks() for _ in range(parties)]
    return masks, torch.stack([m.public for m in masks])  # (K, 32)


def masked_by_all(contributions: list[torch.Tensor], turn: int = 0) -> list[torch.Tensor]:
    masks, publics = keyring(len(contributions))
    return [m.mask(c, publics, turn) for m, c in zip(masks, contributions, strict=True)]


def fixed_point(contributed: torch.Tensor) -> list[int]:
    """Whole numbers of Python, which do not overflow; `round` is to even, as in the library."""
    return [round(v * FRACTION) for v in contributed.double().tolist()]


@pytest.mark.parametrize("parties", [2, 3, 7])
def test_average_is_fedavg_by_hand(parties: int) -> None:
    parts, rows = parts_and_rows(parties)
    got = average([contribution(p, n) for p, n in zip(parts, rows, strict=True)])
    for i, value in enumerate(got.tolist()):
        by_hand = sum(n / sum(rows) * p[i].item() for p, n in zip(parts, rows, strict=True))
        assert value == pytest.approx(by_hand, rel=1e-5, abs=1e-5)
    assert got.dtype == torch.float32 and got.shape == (9,)


def test_average_by_numbers_and_of_equal_parts() -> None:
    """(10·1 + 30·5) / 40 = 4."""
    assert average([contribution(torch.tensor([1.0]), 10), contribution(torch.tensor([5.0]), 30)]).item() == 4.0
    same = torch.randn(6)
    torch.testing.assert_close(average([contribution(same, n) for n in (3, 11, 500)]), same)


def test_a_contribution_is_the_part_times_the_rows_and_the_rows() -> None:
    got = contribution(torch.tensor([0.5, -2.0], dtype=torch.float64), 3)
    assert torch.equal(got, torch.tensor([1.5, -6.0, 3.0])) and got.dtype == torch.float32


@settings(max_examples=40, deadline=None)
@given(
    parties=st.integers(2, 6),
    columns=st.lists(
        st.lists(st.floats(-1e9, 1e9, width=32), min_size=6, max_size=6), min_size=1, max_size=12
    ),  # one number of each party
    turn=st.integers(0, 1 << 40),
)
def test_masks_cancel_exactly(parties: int, columns: list[list[float]], turn: int) -> None:
    contributions = [torch.tensor([column[k] for column in columns]) for k in range(parties)]
    masked = masked_by_all(contributions, turn)
    for i in range(len(columns)):
        plain = sum(fixed_point(c)[i] for c in contributions)
        assert sum(m[i].item() for m in masked) % WORD == plain % WORD


@settings(max_examples=25, deadline=None)
@given(parties=st.integers(2, 7), length=st.integers(1, 40), scale=st.floats(1e-3, 1e3), seed=st.integers(0, 99))
def test_the_masked_average_is_the_average(parties: int, length: int, scale: float, seed: int) -> None:
    parts, rows = parts_and_rows(parties, length, seed)
    contributions = [contribution(p * scale, n) for p, n in zip(parts, rows, strict=True)]
    size = max(scale * float(p.abs().max()) for p in parts)
    got, wanted = average_masked(masked_by_all(contributions)), average(contributions)
    assert float((got - wanted).abs().max()) <= 1e-6 * max(size, 1.0)
    assert got.dtype == torch.float32


def bits(words: torch.Tensor) -> np.ndarray:
    return np.unpackbits(words.numpy().view(np.uint8))


@pytest.mark.parametrize("parties", [2, 3])
def test_one_masked_contribution_looks_uniform(parties: int) -> None:
    """4096 words have 262,144 bits: the standard deviation of their mean is .001, of each position's .008."""
    plain = contribution(torch.linspace(-3, 3, 4095), 1000)
    for masked in masked_by_all([plain] * parties):
        flat = bits(masked)
        assert abs(flat.mean() - 0.5) < 0.006
        assert np.abs(flat.reshape(-1, 64).mean(axis=0) - 0.5).max() < 0.05
        with_plain = np.corrcoef(masked.double().numpy(), plain.double().numpy())[0, 1]
        assert abs(with_plain) < 0.08


def test_the_same_value_is_masked_differently_in_every_turn_and_training() -> None:
    masks, publics = keyring(2)
    plain = torch.ones(2000)
    one, two = masks[0].mask(plain, publics, 0), masks[0].mask(plain, publics, 1)
    elsewhere = masked_by_all([plain, plain])[0]
    for a, b in ((one, two), (one, elsewhere)):
        assert not (a == b).any()
        assert abs((bits(a) ^ bits(b)).mean() - 0.5) < 0.01  # even their difference says nothing


def test_a_partial_sum_is_still_masked() -> None:
    """Of three parties, any two together are covered by what they share with the third."""
    masked = masked_by_all([torch.zeros(500)] * 3)
    total = sum(m.numpy().view(np.uint64) for m in masked[:2])
    assert abs(bits(torch.from_numpy(total.view(np.int64))).mean() - 0.5) < 0.02
    assert not np.any(sum(m.numpy().view(np.uint64) for m in masked))


def test_turns_may_not_be_repeated_or_go_back() -> None:
    masks, publics = keyring(2)
    masks[0].mask(torch.ones(3), publics, 4)
    for turn in (4, 3):
        with pytest.raises(WireError, match=rf"turn {turn} of secure aggregation was asked for again; .* was 4"):
            masks[0].mask(torch.ones(3), publics, turn)
    masks[0].mask(torch.ones(3), publics, 5)


def test_the_own_key_must_be_handed_round_exactly_once() -> None:
    masks, publics = keyring(3)
    assert publics.shape == (3, 32)
    for turn, wrong in enumerate((publics[1:], publics[[0, 0, 1]])):
        with pytest.raises(WireError, match="own public key must be among those handed round exactly once"):
            masks[0].mask(torch.ones(3), wrong, turn)


@pytest.mark.parametrize("value", [3e12, -3e12, float("inf")])
def test_weights_too_large_for_fixed_point_are_explained(value: float) -> None:
    """2⁶² / 2 parties / 2²⁰ is about 2.2e12."""
    masks, publics = keyring(2)
    with pytest.raises(cn.ConfigError, match=r"too large for fixed point, or no number\. Lower pretrain_learning_rate"):
        masks[0].mask(torch.tensor([1.0, value]), publics, 0)
    masks[1].mask(torch.tensor([1.0, 2e12]), publics, 0)


def test_masking_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(cn.ColonnadeError, match=r"needs the package cryptography\. Install colonnade\[secure\]"):
        Masks()


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_weights_that_are_no_numbers_are_explained() -> None:
    """In the open, the wire refuses NaN; masked, nobody after this can see it."""
    masks, publics = keyring(2)
    with pytest.raises(cn.ColonnadeError):
        masks[0].mask(torch.tensor([1.0, float("nan")]), publics, 0)
