"""Clipping and Gaussian noise: the bound, the noise, and the count of what was released."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade.wire import Message
from colonnade.wire.protections import ClippedGaussian
from tests.declared import knowing, make_wire
from tests.wire.test_protection import representation

N = 400 * 500
clipped_of = knowing(ClippedGaussian)


def noiseless(clip: float) -> ClippedGaussian:
    return clipped_of("representation", 1e-20, 0, clip=clip)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(0, 9),
    width=st.integers(1, 7),
    clip=st.floats(1e-3, 1e3),
    size=st.floats(1e-6, 1e30),
    seed=st.integers(0, 99),
)
def test_no_row_leaves_longer_than_the_clip(rows: int, width: int, clip: float, size: float, seed: int) -> None:
    h = size * torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))
    got = noiseless(clip).apply(representation(h)).tensors["representation"].double()
    assert got.shape == (rows, width)
    for before, after in zip(h.double(), got, strict=True):
        assert after.norm() <= clip * (1 + 1e-9)
        if before.norm() < clip * (1 - 1e-5):
            torch.testing.assert_close(after, before, rtol=1e-5, atol=1e-9)  # short rows stay
        elif size < 1e15:  # long ones keep their direction
            assert torch.dot(before / before.norm(), after) >= clip * (1 - 1e-4)


@pytest.mark.parametrize("clip, sigma", [(1.0, 0.5), (0.2, 3.0)])
def test_the_noise_is_sigma_times_the_clip(clip: float, sigma: float) -> None:
    h = torch.randn(400, 500, generator=torch.Generator().manual_seed(0))
    got = clipped_of("representation", sigma, 4, clip=clip).apply(representation(h)).tensors["representation"]
    noise = got - h * (clip / torch.linalg.vector_norm(h, dim=1, keepdim=True))
    assert abs(noise.mean().item()) < 5 * sigma * clip / math.sqrt(N)
    assert abs(noise.std().item() / (sigma * clip) - 1) < 5 / math.sqrt(2 * N)


def ask(rows: list[int] | None, party: str = "shop", phase: str = "train", **values: str) -> Message:
    tensors = {} if rows is None else {"rows": torch.tensor(rows, dtype=torch.int32)}
    return Message("rows", "bank", party, phase, tensors, dict(values))


def answer(rows: int, party: str = "shop", phase: str = "train") -> Message:
    return representation(torch.ones(rows, 3), party, phase)


def gradient(rows: int, party: str = "shop") -> Message:
    return Message("gradient", "bank", party, "train", {"gradient": torch.ones(rows, 3)})


def spent(kind: str, *messages: Message) -> list[tuple[str, str, float, int]]:
    protection = clipped_of(kind, 1.5, 0, clip=2.0)
    wire = make_wire(protections=[protection])
    for message in messages:
        wire.carry(message)
    return protection.spent()


def test_each_row_is_counted_by_itself_and_the_most_released_one_counts() -> None:
    """Batches 0-2, 3-4 and 0, 3: rows 0 and 3 left twice, in three messages."""
    asked = ([0, 1, 2], [3, 4], [0, 3])
    messages = [m for rows in asked for m in (ask(rows), answer(len(rows)), gradient(len(rows)))]
    assert spent("representation", *messages) == [("shop", "train", 1.5, 2)]
    assert spent("gradient", *messages) == [("bank", "train", 1.5, 2)]


def test_parties_and_phases_are_apart_and_tables_are_of_different_rows() -> None:
    messages = [ask([0]), ask([0, 1], "telco"), answer(1), answer(2, "telco")]
    messages += [ask(None, phase="validate", table="valid"), answer(9, phase="validate")] * 3
    assert spent("representation", *messages) == [
        ("shop", "train", 1.5, 1), ("telco", "train", 1.5, 1), ("shop", "validate", 1.5, 3)
    ]  # fmt: skip
    both = [ask([5, 6], also="valid"), answer(8), ask([5]), answer(1), ask(None, table="train"), answer(9)]
    assert spent("representation", *both) == [("shop", "train", 1.5, 3)]


def test_a_label_goes_to_every_passive_party() -> None:
    messages = [m for party in ("shop", "telco") for m in (ask([0, 1], party), gradient(2, party))]
    assert spent("gradient", *messages) == [("bank", "train", 1.5, 2)]


def test_messages_whose_rows_are_unknown_count_for_every_row() -> None:
    assert spent("representation", answer(3), answer(3), ask([0]), answer(1)) == [("shop", "train", 1.5, 3)]
    other = (ask([0, 1]), answer(3), ask([2]), answer(1))  # three rows came where two were asked for
    assert spent("representation", *other) == [("shop", "train", 1.5, 2)]
    part = Message("average", "bank", "shop", "aggregate", {"average": torch.ones(5)})
    assert spent("average", part, part) == [("bank", "aggregate", 0.75, 2)]  # two vectors are 2C apart


def test_only_what_is_protected_is_counted() -> None:
    protection = clipped_of("representation", 1.0, 0, frozenset({"train"}))
    for message in (ask([0]), answer(1), gradient(1), answer(4, phase="predict"), answer(1, phase="train 2")):
        protection.apply(message)
    assert protection.spent() == [("shop", "train", 1.0, 1), ("shop", "train 2", 1.0, 1)]


def test_the_record_names_the_guarantee_and_the_releases() -> None:
    protection = clipped_of("representation", 0.5, 0, frozenset({"train"}), clip=2.0)
    protection.apply(ask([0]))
    protection.apply(answer(1))
    assert protection.describe() == {
        "name": "gaussian", "kind": "representation", "strength": 0.5, "clip": 2.0, "phases": ["train"],
        "label": "(ε, δ) per released row, there or blank, given the networks",
        "releases": [{"party": "shop", "phase": "train", "noise_multiplier": 0.5, "count": 1}],
    }  # fmt: skip
