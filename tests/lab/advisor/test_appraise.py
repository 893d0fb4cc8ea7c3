"""Appraisals: a partner that helps, one that does not, and a round that stays one round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import colonnade as cn
from colonnade.data.labels import Labels
from colonnade.data.splits import Split
from colonnade.data.view import View
from colonnade.lab.advisor.appraise import between, full_gain
from colonnade.lab.advisor.bootstrap import Tried, mean_scores, resampled
from colonnade.lab.advisor.folds import FOLDS, fold_of, held_out
from colonnade.lab.advisor.one_round import noise_for, receive
from colonnade.lab.advisor.realised import realised
from colonnade.lab.advisor.setting import setting_of
from tests.conftest import make_data


def two_partners(rows: int = 400, seed: int = 0) -> cn.VerticalData:
    """The label needs a column of `good`; `bad` knows nothing."""
    rng = np.random.default_rng(seed)
    x = {name: rng.normal(size=(rows, 3)) for name in ("own", "good", "bad")}
    y = (x["own"][:, 0] + 2 * x["good"][:, 0] > 0).astype(int)
    views = {name: pd.DataFrame(v, columns=["a", "b", "c"]) for name, v in x.items()}
    return cn.VerticalData(views, pd.Series(y), "own", join="position")


@pytest.fixture(scope="module")
def parts() -> Split:
    return cn.split(two_partners(), labels=150, seed=0)


def test_a_partner_that_helps_and_one_that_does_not(parts: Split) -> None:
    blind = Split(parts.train, parts.valid, None)  # type: ignore[arg-type]
    good, bad = (cn.appraise(blind, name, seeds=1) for name in ("good", "bad"))
    assert good.gain > 0.1 and good.verdict == "helps" and good.low < good.gain < good.high
    assert bad.gain < 0.05 and bad.verdict != "helps" and "worth having" not in bad.sentence
    assert good.joint > good.alone == bad.alone
    assert "'good' are worth having" in str(good) and good.to_json()["gain"] == good.gain
    again = cn.appraise(blind, "good", seeds=1)
    assert again == good


def test_one_round_is_one_round(parts: Split) -> None:
    pair = between(parts, "good")
    assert list(pair.views) == ["own", "good"] and not np.isin(parts.test.labels.ids, pair.views["own"].ids).any()
    got = receive(pair, "good", epsilon=None, delta=1e-5, seed=0)
    assert set(got.ids) == set(pair.labels.ids) and len(got.representations) == len(got.ids)
    floats = got.representations.size * 4 + len(got.ids) * 4  # representations up, positions of rows down
    assert floats < got.bytes < floats + 3000


def test_representations_are_those_of_their_ids(parts: Split) -> None:
    """With ids in another order, each row has the same representation."""
    pair = between(parts, "good")
    mixed = cn.VerticalData.of(
        {name: view.take(np.random.default_rng(1).permutation(len(view))) for name, view in pair.views.items()},
        pair.labels, pair.active, pair.task,
    )  # fmt: skip
    a, b = (receive(data, "good", epsilon=None, delta=1e-5, seed=0) for data in (pair, mixed))
    order = np.argsort(a.ids), np.argsort(b.ids)
    np.testing.assert_array_equal(a.ids[order[0]], b.ids[order[1]])
    np.testing.assert_allclose(a.representations[order[0]], b.representations[order[1]], atol=1e-4)


def test_a_budget_is_spent_and_not_exceeded(parts: Split) -> None:
    accounting = pytest.importorskip("dp_accounting")
    sigma = noise_for("good", 2.0, 1e-5)
    from dp_accounting import pld

    spent = pld.PLDAccountant().compose(accounting.GaussianDpEvent(sigma)).get_epsilon(1e-5)
    assert 1.95 < spent <= 2.0
    found = cn.appraise(parts, "good", epsilon=2.0, seeds=1)
    plain = cn.appraise(parts, "good", seeds=1)
    assert found.epsilon == 2.0 and "within ε = 2" in found.sentence
    assert found.joint < plain.joint and found.bytes < plain.bytes
    pair = between(parts, "good")
    got = [receive(pair, "good", epsilon=e, delta=1e-5, seed=0).representations for e in (0.5, 2.0)]
    assert np.linalg.norm(got[0]) > 2.5 * np.linalg.norm(got[1])  # rows leave with one norm; the rest is noise


def test_a_network_does_not_see_the_rows_it_predicts() -> None:
    rng = np.random.default_rng(0)
    ids = np.arange(200)
    y = rng.integers(0, 2, 200)
    x = rng.normal(size=(200, 20)).astype(np.float32)
    view = View(ids, x, tuple("abcdefghijklmnopqrst"), np.zeros((200, 0), np.int32))
    out = held_out(view, Labels(ids, y), ids, np.array([0, 1]), "binary", "accuracy", 0)
    assert abs(np.mean(out.argmax(1) == y) - 0.5) < 0.12  # labels are drawn at random: nothing can be learnt
    guess = held_out(None, Labels(ids, y), ids, np.array([0, 1]), "binary", "accuracy", 0)
    np.testing.assert_allclose(guess.sum(1), 1)


def test_folds_have_each_class_alike() -> None:
    labels = np.array(["a"] * 50 + ["b"] * 10)
    fold = fold_of(labels, 3)
    assert [int(((fold == k) & (labels == "b")).sum()) for k in range(FOLDS)] == [2] * FOLDS
    assert not (fold == fold_of(labels, 4)).all()


def test_draws_are_of_the_same_rows_for_all() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    sure = np.eye(2)[truth]
    half = np.where((rng.random(300) < 0.8)[:, None], sure, 1 - sure)
    run = Tried(truth, {"a": half, "b": half, "sure": sure}, np.array([0, 1]))
    drawn = resampled("accuracy", [run], draws=300)
    np.testing.assert_array_equal(drawn["a"], drawn["b"])
    mean = mean_scores("accuracy", [run])["a"]
    assert drawn["a"].std() == pytest.approx(np.sqrt(mean * (1 - mean) / 300), rel=0.2)
    assert (drawn["sure"] == 1).all()


def test_the_record_widens_the_interval() -> None:
    setting = setting_of(make_data(), "accuracy")
    gain, spread = full_gain(0.1, 0.03, setting, {"factor": 0.5, "constant": 0.01, "spread": 0.04})
    assert gain == pytest.approx(0.05 + 0.01 * setting.guess)
    assert spread == pytest.approx(np.hypot(0.015, 0.04 * setting.guess))


def test_a_server_without_columns_is_held_against_a_guess(parts: Split) -> None:
    views = {name: view for name, view in two_partners().views.items() if name != "own"}
    data = cn.VerticalData.of(views, two_partners().labels, "server", "binary")
    found = cn.appraise(data, "good", labels=100, seeds=1)
    assert found.alone < 0.65 and found.gain > 0.05


def test_full_training_says_the_same(parts: Split) -> None:
    one = cn.appraise(parts, "good", seeds=1)
    found = realised(lambda seed: parts, one, 1, lambda *what: None)
    assert set(found.gains) == {"splitnn", "ss-vfl-c"} and found.mean > 0.1
    assert found.inside == (one.low <= found.mean <= one.high) and "1 seed:" in found.sentence


def test_wrong_partners_are_refused(parts: Split) -> None:
    with pytest.raises(cn.ConfigError, match="Did you mean 'good'"):
        cn.appraise(parts, "goood")
    with pytest.raises(cn.ConfigError, match="no partner"):
        cn.appraise(parts, "own")
    few = cn.split(two_partners(), labels=6, seed=0)
    with pytest.raises(cn.DataError, match="At least 20"):
        cn.appraise(few, "good")
