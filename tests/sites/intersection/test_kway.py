"""All parties together: the same answer as Python's sets, the same order everywhere, and nothing to spare."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.errors import ConfigError, DataError, MissingDependencyError
from colonnade.sites.intersection import Holder, IdSet, Seeker, align, aligned, chosen, fast
from colonnade.sites.intersection.cipher import available
from colonnade.sites.intersection.frames import Kind, decode

needs_psi = pytest.mark.skipif(not available(), reason="openmined-psi is not installed: pip install 'colonnade[align]'")


@needs_psi
@settings(max_examples=15, deadline=None)
@given(st.lists(st.sets(st.integers(0, 20), min_size=1), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_all_parties_agree_on_the_intersection(sets: list[set[int]], random: Any) -> None:
    ids = {f"p{k}": random.sample([*s, 99], len(s) + 1) for k, s in enumerate(sets)}
    alignment, agreed = align(ids, protocol="ecdh", threads=1)
    expected = sorted(set.intersection(*map(set, ids.values())))
    assert [ids["p0"][row] for row in alignment.rows] == expected
    for name, rows in agreed.items():
        assert [ids[name][row] for row in rows] == expected
        assert alignment.held[name].tolist() == [i in ids[name] for i in ids["p0"]]


@needs_psi
def test_a_passive_party_is_told_of_what_all_hold_and_no_more() -> None:
    own = IdSet([1, 2, 3, 4], "bank")
    holders = {"shop": Holder(IdSet([1, 2, 3], "shop"), threads=1), "telco": Holder(IdSet([3, 4], "telco"), threads=1)}
    notices: list[tuple[str, int]] = []

    def channel(name: str) -> Any:
        def carry(message: bytes) -> bytes:
            if (frame := decode(message)).kind == Kind.NOTICE:
                notices.append((name, frame.total))
            return holders[name].reply(message)

        return carry

    alignment = aligned(own, {name: Seeker(own, channel(name), threads=1) for name in holders})
    assert notices == [("shop", 1), ("telco", 1)]
    assert holders["shop"].agreed.tolist() == [2]
    assert holders["telco"].agreed.tolist() == [0]
    assert repr(alignment) == "Alignment(1 held by all; shop 3, telco 2)"


@needs_psi
@pytest.mark.parametrize("text", [False, True])
def test_the_order_is_that_of_training_in_one_process(text: bool) -> None:
    rng = np.random.default_rng(0)
    ids = {name: rng.permutation(20)[:15].astype(str if text else int) for name in ("bank", "shop")}
    data = cn.VerticalData({name: (rng.normal(size=(15, 2)), i) for name, i in ids.items()}, [0, 1] * 7 + [0])
    alignment, agreed = align(ids, protocol="ecdh", threads=1)
    assert ids["bank"][alignment.rows].tolist() == data.aligned.tolist() == ids["shop"][agreed["shop"]].tolist()


@needs_psi
def test_nothing_in_common_says_what_to_check() -> None:
    with pytest.raises(DataError) as error:
        align({"bank": ["A", "b"], "shop": ["a", "b"], "telco": ["A"]}, protocol="ecdh", threads=1)
    text = str(error.value)
    for words in ("'bank' (2 ids)", "1 with 'shop', 1 with 'telco'", "normalise='text'", "zeros in front"):
        assert words in text


def test_wrong_calls() -> None:
    with pytest.raises(ConfigError, match="nobody to align with"):
        aligned(IdSet([1], "bank"), {})
    with pytest.raises(ConfigError, match=r"active='bnk' has no ids\. Did you mean 'bank'"):
        align({"bank": [1], "shop": [1]}, "bnk")
    with pytest.raises(ConfigError, match="protocol='hash' is no choice"):
        align({"bank": [1], "shop": [1]}, protocol="hash")  # type: ignore[arg-type]


def test_without_any_package_the_error_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "interpreter", lambda: None)
    monkeypatch.setitem(sys.modules, "private_set_intersection.python", None)
    with pytest.raises(MissingDependencyError, match=r"colonnade\[align\].*COLONNADE_SPU_PYTHON"):
        chosen("auto")
    with pytest.raises(MissingDependencyError, match=r"RR22 needs spu.*protocol='ecdh'"):
        chosen("rr22")
    with pytest.raises(MissingDependencyError, match="needs openmined-psi"):
        Holder(IdSet([1], "p"))
