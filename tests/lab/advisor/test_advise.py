"""The advice: what it says, what budgets leave out, and that the packaged record can give it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.data.splits import Split
from colonnade.lab.advisor import private, probes
from colonnade.lab.advisor.advise import advice
from colonnade.lab.advisor.costs import bytes_like
from colonnade.lab.advisor.mixed import PARTS
from colonnade.lab.advisor.probes import Probe
from colonnade.lab.advisor.recommend import Candidate, Limits, choose, expected
from colonnade.lab.advisor.record import Entry, Known, Record, from_json, packaged, source, to_json, without
from colonnade.lab.advisor.setting import Setting, setting_of
from colonnade.lab.advisor.traits import TRAITS
from colonnade.lab.advisor.words import candidate_words, likelier_words
from tests.conftest import make_data

SIZE = 150_000  # bytes of the packaged record, at most


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_of(make_data(rows=300), "accuracy")


def probe(method: str, score: float) -> Probe:
    return Probe(method, score, 100, 1, 1000, 1.0)


def test_the_packaged_record_is_whole_and_small() -> None:
    text = (files("colonnade.lab.advisor") / "record.json").read_text()
    assert len(text) < SIZE
    record = packaged()
    assert set(record.variances) == set(PARTS) and all(v > 0 for v in record.variances.values())
    assert len({source(entry.data) for entry in record.entries}) >= 3
    assert all(set(entry.methods) <= set(TRAITS) and entry.probes for entry in record.entries)
    again = from_json(json.loads(json.dumps(to_json(record.entries, record.variances, record.gap))))
    assert again.entries == record.entries


def test_probes_decide_between_local_and_partners(setting: Setting) -> None:
    names = ("splitnn", "mmvfl", "ss-vfl-i", "fedonce", "ssvfl")
    useful = {"local": probe("local", 0.5), **{n: probe(n, 0.9) for n in names}}
    useless = {"local": probe("local", 0.9), **{n: probe(n, 0.5) for n in names}}
    found = advice(setting, useful, packaged(), Limits(), {})
    assert found.method != "local" and "partners' columns help" in str(found)
    other = advice(setting, useless, packaged(), Limits(), {})
    assert other.method == "local" and "do not show" in str(other)
    for one in found.candidates:
        assert one.low < one.score < one.high
    assert sum(one.chance for one in found.candidates) == pytest.approx(1)
    scores = [one.score for one in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert found.method in found.sentence and found.to_json()["advice"] == found.method


def test_budgets_leave_methods_out_by_name(setting: Setting) -> None:
    free = choose(setting, {}, packaged(), Limits(), {})
    tight = choose(setting, {}, packaged(), Limits(bytes=1e5), {"mmvfl": "it failed"})
    assert not free.over
    assert {one.method for one in tight.over} & {"splitnn", "hybrid"}
    assert all(one.bytes is not None and one.bytes <= 1e5 for one in tight.within)
    assert "more than the 100 kB allowed" in tight.left_out["splitnn"]
    assert tight.left_out["mmvfl"] == "it failed"
    assert {one.method for one in (*tight.within, *tight.over)} | set(tight.left_out) == set(TRAITS)
    assert sum(one.chance for one in tight.within) == pytest.approx(1)
    with pytest.raises(cn.ConfigError, match="No method is left"):
        advice(setting, {}, packaged(), Limits(seconds=1e-9), {})


def test_what_costs_nothing_known_is_no_candidate_under_a_budget(setting: Setting) -> None:
    entry = Entry("a", "a", setting, {"splitnn": Known(0.9, 3, 0.01), "local": Known(0.8, 3, 0.01, 0, 1.0)})
    record = Record((entry, replace(entry, name="b", data="b")), dict.fromkeys(PARTS, 0.01), {})
    found = choose(setting, {}, record, Limits(bytes=1e9), {})
    assert [one.method for one in found.within] == ["local"]
    assert found.left_out["splitnn"] == "the record does not say what it would send"
    assert "fewer than 2 data sets" in found.left_out["hybrid"]


def candidate(method: str, score: float, chance: float, spread: float = 0.05) -> Candidate:
    return Candidate(method, score, score - spread, score + spread, 1e6, 1.0, chance)


def test_a_likelier_candidate_than_the_advised_one_is_explained() -> None:
    """The advice is the best expected score; a table with a larger chance elsewhere needs a word."""
    first, second = candidate("ssvfl", 0.977, 0.12), candidate("hybrid", 0.973, 0.16, spread=0.1)
    (text,) = likelier_words([first, second])
    assert "hybrid has a larger chance to be the best (16 %)" in text and "less certain" in text
    assert "0.977 for ssvfl and 0.973 for hybrid" in text
    (text,) = likelier_words([first, candidate("hybrid", 0.973, 0.16)])
    assert "less certain" not in text
    assert not likelier_words([candidate("ssvfl", 0.977, 0.161), second])  # the same in the table


def test_each_candidate_shown_says_what_it_rests_on(setting: Setting) -> None:
    shown = [candidate("ssvfl", 0.9, 0.2), replace(candidate("hybrid", 0.88, 0.1), bytes=4e6)]
    first, second = candidate_words(setting, {"ssvfl": probe("ssvfl", 0.91)}, shown)
    assert first == "ssvfl: best expected score; tried here, 0.910 on validation rows."
    assert second.startswith("hybrid: 0.020 behind and sends 4.00 MB, 4 times as much; not tried here")


@pytest.mark.parametrize("what", ["advise", "appraise"])
def test_small_networks_train_on_one_thread(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thread for every core, probes take ten times as long on a machine that has other work."""
    seen: list[int] = []
    fit = cn.Method.fit

    def counted(self: Any, *rows: Any, **options: Any) -> Any:
        seen.append(torch.get_num_threads())
        return fit(self, *rows, **options)

    monkeypatch.setattr(cn.Method, "fit", counted)
    monkeypatch.setattr(probes, "PROBES", {"local": {"epochs": 1}, "splitnn": {"epochs": 1}})
    monkeypatch.setattr(sys.modules["colonnade.lab.advisor.advise"], "advice", lambda *given: None)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        data = make_data(rows=150)
        cn.advise(data) if what == "advise" else cn.appraise(data, "p1", seeds=1)
        assert seen and set(seen) == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_costs_grow_with_the_rows(setting: Setting) -> None:
    large = replace(setting, labelled_aligned=3 * setting.labelled_aligned)
    price = [(s, 100.0 * s.passive * s.labelled_aligned) for s in (setting, large)]
    asked = replace(setting, labelled_aligned=2 * setting.labelled_aligned)
    assert bytes_like(price, asked) == pytest.approx(100.0 * asked.passive * asked.labelled_aligned)
    assert bytes_like([], asked) is None and bytes_like([(setting, 0.0)], asked) == 0.0


def test_other_data_of_the_same_rows_are_left_out_together() -> None:
    entries = packaged().entries
    other = [*entries, replace(entries[0], data=f"{entries[0].data}-halves")]
    left = without(other, entries[0].data)
    assert left and all(source(entry.data) != source(entries[0].data) for entry in left)


def test_more_of_the_record_narrows_the_interval(setting: Setting) -> None:
    probes = {"splitnn": probe("splitnn", 0.9), "local": probe("local", 0.7)}
    blind, seen = (expected(setting, p, packaged(), ["splitnn", "local"]) for p in ({}, probes))
    widths = [{one.method: one.high - one.low for one in found} for found in (blind, seen)]
    assert widths[1]["splitnn"] < widths[0]["splitnn"]


def test_advise_splits_as_split_does_and_reads_no_test_rows() -> None:
    data = make_data(rows=150)
    told: list[Any] = []
    whole = cn.advise(data, seed=1, progress=lambda *what: told.append(what))
    parts = cn.split(data, seed=1)
    blind = cn.advise(Split(parts.train, parts.valid, None))  # type: ignore[arg-type]
    assert told
    assert {n: p.score for n, p in whole.probes.items()} == {n: p.score for n, p in blind.probes.items()}
    assert [one.method for one in whole.candidates] == [one.method for one in blind.candidates]


def test_a_privacy_budget_leaves_what_it_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opacus")
    pytest.importorskip("dp_accounting")
    monkeypatch.setattr(
        private, "TRAITS", {name: TRAITS[name] for name in ("local", "splitnn", "fedonce", "fedonce-l1")}
    )
    monkeypatch.setattr(cn.METHODS["local"], "epochs", 5)
    monkeypatch.setattr(cn.METHODS["fedonce-l1"], "epochs", 5)
    parts = cn.split(make_data(rows=150, task="binary"), seed=0)
    blind = Split(parts.train, parts.valid, None)  # type: ignore[arg-type]
    found = cn.advise(blind, epsilon=8.0)
    assert {one.method for one in found.candidates} == {"local", "fedonce-l1"}
    assert "no ε holds" in found.left_out["splitnn"] and "cannot be trained" in found.left_out["fedonce"]
    assert found.epsilon == 8.0 and "ε = 8" in str(found)
    assert all(np.isfinite([one.low, one.score, one.high]).all() for one in found.candidates)


def test_wrong_arguments_are_refused_together() -> None:
    data = make_data()
    with pytest.raises(cn.ConfigError) as error:
        cn.advise(data, seeds=0, max_bytes=-1, epsilon=0)
    assert all(name in str(error.value) for name in ("seeds", "max_bytes", "epsilon"))
    with pytest.raises(cn.ConfigError, match="not to a Split"):
        cn.advise(cn.split(data), labels=10)
    with pytest.raises(cn.ConfigError, match="VerticalData or a Split"):
        cn.advise("digits")  # type: ignore[arg-type]
