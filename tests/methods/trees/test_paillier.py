"""Sums under encryption are those of the numbers themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade.methods.secureboost.trees.columns import NOWHERE, Columns
from colonnade.methods.secureboost.trees.packing import Packing, told_slots

pytest.importorskip("tno.mpc.encryption_schemes.paillier", reason="needs colonnade[secureboost]")
from gmpy2 import mpz

from colonnade.methods.secureboost.trees.paillier import Factors, Keys, add_up, as_bytes, as_numbers


@pytest.fixture(scope="module")
def keys() -> Keys:
    return Keys(1024)


def test_what_is_encrypted_comes_back_and_never_looks_the_same_twice(keys: Keys) -> None:
    values = np.array([[0, 5], [-7, 2**900]], dtype=object)
    first, second = keys.encrypt(values), keys.encrypt(values)
    assert first.shape == (2, 2 * 256) and first.dtype == np.uint8
    assert keys.decrypt(first.reshape(-1, 256)) == [0, 5, -7, 2**900]
    assert not (first == second).all(axis=1).any()
    assert len({bytes(row) for row in keys.encrypt(np.zeros((50, 1), dtype=object))}) == 50


def test_random_factors_hold_nothing_themselves(keys: Keys) -> None:
    drawn = [keys.scheme.get_randomness() for _ in range(5)]
    assert len(set(drawn)) == 5
    assert keys.decrypt(as_bytes(drawn, 256)) == [0] * 5


def test_random_factors_are_nth_residues_and_many() -> None:
    p, q = 10007, 10009
    factors = Factors(mpz(p), mpz(q))
    drawn = {int(factors.draw()) for _ in range(300)}
    assert all(pow(f, (p - 1) * (q - 1), (p * q) ** 2) == 1 for f in drawn)
    assert len(drawn) > 290  # of a group of some ten million


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 300),
    outputs=st.integers(1, 12),
    sums=st.integers(1, 10**5),
    key_bits=st.sampled_from([1024, 2048]),
    data=st.data(),
)
def test_any_sums_survive_packing(rows: int, outputs: int, sums: int, key_bits: int, data) -> None:
    packing = Packing.cheapest(key_bits, rows, outputs, sums)
    most = rows * 2**30
    count = data.draw(st.integers(1, 2 * packing.packs))
    drawn = st.integers(-most, most)
    values = np.array(data.draw(st.lists(drawn, min_size=2 * outputs * count, max_size=2 * outputs * count)))
    values = values.reshape(count, 2 * outputs)
    packed = packing.pack(values)  # (count, parts)
    assert packed.shape == (count, packing.parts)
    for output in {0, outputs - 1}:
        part = packed[:, output // packing.group].tolist()
        chunks = [part[k : k + packing.packs] for k in range(0, count, packing.packs)]
        numbers = [sum(v << (packing.shift * i) for i, v in enumerate(chunk)) for chunk in chunks]
        assert all(abs(number) < 2 ** (key_bits - 2) for number in numbers)
        assert (packing.unpack(numbers, output, count) == values[:, 2 * output : 2 * output + 2]).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_of_ciphertexts_are_the_histogram(keys: Keys, outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    slots = np.array([4, 2, 6])
    bins = (rng.random((40, 3)) * slots).astype(np.uint8)
    values = rng.integers(-(2**30), 2**30, size=(40, 2 * outputs))
    nodes = rng.choice([0, 1, NOWHERE], 40).astype(np.uint8)
    columns = Columns(slots, np.array([False, False, True]))
    layout = columns.layout(bins)
    packing = Packing.cheapest(1024, 40, outputs, 24)
    ciphertexts = keys.encrypt(packing.pack(values)).reshape(40, packing.parts, packing.size)
    for output in range(outputs):
        own = values[:, 2 * output : 2 * output + 2]
        totals = np.stack([own[nodes == j].sum(axis=0) for j in (0, 1)])
        part = as_numbers(ciphertexts[:, output // packing.group])
        sums = add_up(part, bins, nodes, 2, layout, keys.scheme.public_key.n, packing)
        found = packing.read(keys.decrypt(sums), output, totals, layout)
        assert (found == columns.histogram(bins, nodes, 2, own)).all()
        assert len(sums) == -(-2 * len(told_slots(layout)) // packing.packs)
