"""SecureBoost: equal to its columns in one place, whatever travels; and what travels."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import torch

import colonnade as cn
from colonnade.errors import MissingDependencyError
from colonnade.lab.run.cell import Cell, run_cell
from colonnade.methods.references.merge import EVERYONE, merge, merge_data
from colonnade.methods.secureboost.skills import Columns
from colonnade.methods.secureboost.trees.bins import Binner
from colonnade.wire.codec import encode
from colonnade.wire.message import Message
from tests.conftest import make_data
from tests.declared import packed
from tests.methods.together import observe
from tests.methods.trees.slow import Settings, boost

OPTIONS = {"trees": 6, "depth": 3, "bins": 8, "min_weight": 0.5, "learning_rate": 0.3}
TASKS = pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
encrypts = pytest.mark.usefixtures("library")


@pytest.fixture
def library() -> None:
    pytest.importorskip("tno.mpc.encryption_schemes.paillier", reason="needs colonnade[secureboost]")


def clear(**options: object) -> cn.SecureBoost:
    return cn.SecureBoost(**{**OPTIONS, "encrypt": False, **options})


def encrypted(**options: object) -> cn.SecureBoost:
    return cn.SecureBoost(**{**OPTIONS, "key_bits": 1024, **options})


def outputs(model: cn.Method, views: dict) -> np.ndarray:
    return model.predict(views) if model.task_ == "regression" else model.predict_proba(views)


def aligned(task: str, parties: int = 3, rows: int = 120, seed: int = 0) -> cn.Split:
    """All rows aligned and labelled, with gaps and categories."""
    return cn.split(make_data(parties, task, rows=rows, seed=seed, unaligned=0, labelled=1.1), seed=seed)


def in_one_place(test: cn.VerticalData) -> dict:
    return {EVERYONE: merge(test.views, next(iter(test.views.values())).ids)}


# without loss ---------------------------------------------------------------------------------------------------------


@TASKS
@pytest.mark.parametrize("options", [{}, {"gamma": 0.5, "penalty": 0.0}])
def test_the_trees_are_those_of_the_columns_in_one_place(task: str, options: dict) -> None:
    parts = aligned(task)
    federated = clear(**options).fit(parts.train, parts.valid)
    alone = clear(**options).fit(merge_data(parts.train), merge_data(parts.valid))
    assert np.array_equal(outputs(federated, parts.test.views), outputs(alone, in_one_place(parts.test)))
    assert [h["loss"] for h in federated.history_] == [h["loss"] for h in alone.history_]
    assert len(set(federated.fitted_.forest.party) - {-1}) == 3  # every party has a split
    assert alone.traffic_.bytes == 0 and alone.gradients_ == "not sent"


@encrypts
@TASKS
def test_encrypted_equals_clear_bit_for_bit(task: str) -> None:
    parts = aligned(task)
    plain = clear(trees=3).fit(parts.train, parts.valid)
    secret = encrypted(trees=3).fit(parts.train, parts.valid)
    assert np.array_equal(outputs(plain, parts.test.views), outputs(secret, parts.test.views))
    assert plain.fitted_.forest == secret.fitted_.forest
    assert [(h["loss"], h["validation_loss"]) for h in plain.history_] == [
        (h["loss"], h["validation_loss"]) for h in secret.history_
    ]


@TASKS
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_a_slow_version_in_floating_point(task: str, seed: int) -> None:
    parts = aligned(task, rows=80, seed=seed)
    model = clear(trees=3).fit(parts.train)
    assert_equals_slow(model, parts, trees=3)


def assert_equals_slow(model: cn.SecureBoost, parts: cn.Split, trees: int) -> None:
    joint = merge_data(parts.train).views[EVERYONE]
    binner = Binner.fit_bins(joint, model.bins)
    y, known = parts.train.labels.of(joint.ids)
    assert known.all()
    targets = model.federation_.active.targets
    settings = Settings(
        binner.categorical.tolist(), trees, model.depth, model.learning_rate, model.penalty, model.gamma,
        model.min_weight,
    )  # fmt: skip
    slots = binner.transform(joint, "joint").x.numpy()
    new = binner.transform(in_one_place(parts.test)[EVERYONE], "joint").x.numpy()
    scores = boost(slots, targets.encode(y).numpy().astype(float), model.task_, settings, new)
    logits = np.concatenate([np.zeros_like(scores), scores], axis=1) if model.task_ == "binary" else scores
    slow = targets.decode(torch.from_numpy(logits))
    np.testing.assert_allclose(outputs(model, parts.test.views), slow, rtol=1e-6, atol=1e-6)


@pytest.mark.data
@pytest.mark.parametrize("name", ["phishing", "superconduct"])
def test_equals_its_twin_and_a_slow_version_on_real_rows(name: str) -> None:
    if not cn.DATASETS[name].available():
        pytest.skip(f"COLONNADE_DATA does not name a folder with {', '.join(cn.DATASETS[name].files)}")
    whole = cn.DATASETS[name](seed=0, parties=4).train
    rows = whole.aligned[:160]
    parts = cn.split(whole.only(rows), seed=0)
    federated = clear(trees=4).fit(parts.train)
    alone = clear(trees=4).fit(merge_data(parts.train))
    assert np.array_equal(outputs(federated, parts.test.views), outputs(alone, in_one_place(parts.test)))
    assert_equals_slow(federated, parts, trees=4)


def test_missing_values_learn_a_direction() -> None:
    """Gaps that say the class: a split sends them to one side, and rows that a party lacks go the same way."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    gaps = pd.DataFrame({"x": np.where(y == 1, np.nan, rng.normal(size=200)), "z": rng.normal(size=200)})
    data = cn.VerticalData({"bank": pd.DataFrame({"noise": rng.normal(size=200)}), "shop": gaps}, y, join="position")
    model = clear().fit(data)
    assert model.score(data.views, data.labels) == 1.0
    new = {"bank": pd.DataFrame({"noise": [0.0, 0.0]}), "shop": pd.DataFrame({"x": [np.nan, 0.1], "z": [0.0, 0.0]})}
    assert model.predict(new).tolist() == [1, 0]
    assert model.predict({"bank": new["bank"]}, absent="zero").tolist() == [1, 1]
    assert model.absent_ == {"shop": 2}


def test_categories_are_divided_into_two_sets() -> None:
    """Alternate categories belong together: no threshold on an order of names would part them in one split."""
    rng = np.random.default_rng(1)
    kinds = rng.choice(list("abcdefgh"), 400)
    y = np.isin(kinds, list("aceg")).astype(int)
    data = cn.VerticalData({"bank": rng.normal(size=(400, 1)), "shop": pd.DataFrame({"kind": kinds})}, y)
    model = clear(trees=1, depth=1, learning_rate=1.0).fit(data)
    assert model.score(data.views, data.labels) == 1.0
    assert model.fitted_.forest.party == [1, -1, -1]


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_scores_like_scikit_learns_histogram_boosting(task: str) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    parts = aligned(task, rows=600)
    ours = clear(trees=40, depth=4, bins=32, learning_rate=0.1).fit(parts.train)
    make = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
    theirs = make(max_iter=40, max_depth=4, max_leaf_nodes=None, max_bins=32, learning_rate=0.1, l2_regularization=1.0,
                  min_samples_leaf=2, early_stopping=False, random_state=0)  # fmt: skip
    tables = [in_one_place(part)[EVERYONE] for part in (parts.train, parts.test)]
    x_train, x_test = (np.concatenate([t.x, t.codes], axis=1) for t in tables)
    y_train, y_test = (part.labels.of(t.ids)[0] for part, t in zip((parts.train, parts.test), tables, strict=True))
    found = theirs.fit(x_train, y_train).score(x_test, y_test)
    assert abs(ours.score(parts.test.views, parts.test.labels) - found) < 0.05


# what travels ---------------------------------------------------------------------------------------------------------


def recorded(model: cn.SecureBoost, data: cn.VerticalData, validation: cn.VerticalData | None = None) -> list[Message]:
    with pytest.MonkeyPatch.context() as patch:
        seen = observe(patch)
        model.fit(data, validation)
    return seen


@encrypts
def test_under_encryption_no_passive_party_sees_a_derivative() -> None:
    parts = aligned("binary")
    model = encrypted(trees=2)
    seen = recorded(model, parts.train, parts.valid)
    plain = recorded(clear(trees=2), parts.train, parts.valid)
    kinds = {m.kind for m in seen}
    assert kinds == {"binning", "layout", "ciphertexts", "nodes", "sums", "division", "visit", "sides"}
    assert {m.kind for m in plain} == (kinds - {"ciphertexts", "sums"}) | {"derivatives", "histogram"}
    assert model.gradients_ == "encrypted: Paillier, 1024 bits"
    assert not any(e["kind"] == "derivatives" for e in model.federation_.wire.audit_json())
    told = [m.tensors["derivatives"].numpy() for m in plain if m.kind == "derivatives"]
    cipher = [m.tensors["ciphertexts"].numpy() for m in seen if m.kind == "ciphertexts"]
    assert len(told) == len(cipher)
    n = int.from_bytes(next(m for m in seen if m.kind == "binning").tensors["key"].numpy().tobytes(), "little")
    for values, rows in zip(told, cipher, strict=True):
        assert len(np.unique(values[:, 0])) < len(values)  # rows of one class in one leaf are alike in the clear,
        assert len({row.tobytes() for row in rows}) == len(rows)  # and no two ciphertexts are
        numbers = [int.from_bytes(row.tobytes(), "little") for row in rows]
        assert not any((number - 1) % n == 0 for number in numbers)  # 1 + m·n would be m without a random factor


def test_in_the_clear_is_called_so() -> None:
    parts = aligned("binary")
    model = clear()
    seen = recorded(model, parts.train)
    assert model.gradients_ == "in the clear"
    first = next(m for m in seen if m.kind == "derivatives").tensors["derivatives"].numpy()[:, 0]
    y = parts.train.labels.of(parts.train.aligned)[0]
    assert np.array_equal(first < 0, y == 1)  # what it means: the sign of g is the label


def test_the_record_says_how_gradients_travelled() -> None:
    record, _ = run_cell(Cell("secureboost:encrypt=false:trees=2", "breast_cancer"))
    assert record["gradients"] == "in the clear" and record["config"]["encrypt"] is False
    assert {"derivatives", "histogram"} <= set(record["traffic"]["by_kind"])


@TASKS
def test_only_declared_messages_cross_and_traffic_is_their_encoded_size(task: str) -> None:
    parts = aligned(task)
    model = clear()
    seen = recorded(model, parts.train, parts.valid)
    for message in seen:
        kind = model.setup().offer.kinds[message.kind]
        assert (message.receiver == "p0") == (kind.direction == "up")
        assert set(message.tensors) <= set(kind.tensors) and set(message.values) <= kind.values
        assert not any(tensor.is_floating_point() for tensor in message.tensors.values())
    assert model.traffic_.bytes == sum(len(encode(packed(m, "float32"))) for m in seen)
    assert model.traffic_.messages == len(seen)
    assert set(model.traffic_.by_phase) == {"setup", "train", "validate"}
    assert model.history_[-1]["bytes"] == model.traffic_.bytes


def test_thresholds_stay_with_their_owner() -> None:
    parts = aligned("binary")
    model = clear()
    seen = recorded(model, parts.train, parts.valid)
    edges = np.concatenate([e for p in model.federation_.engine.parties.values() for e in p.preprocessor.edges])
    up = {m.kind for m in seen if m.receiver == "p0"}
    assert up == {"layout", "histogram", "sides"}
    sent = {float(v) for m in seen if m.kind != "histogram" for t in m.tensors.values() for v in t.ravel().tolist()}
    assert not sent & {float(edge) for edge in edges if not float(edge).is_integer()}


def test_first_alone_shows_passive_parties_nothing_of_the_first_trees() -> None:
    parts = aligned("binary")
    model = clear(trees=1, first_alone=True).fit(parts.train)
    assert set(model.traffic_.by_kind) == {"binning", "layout"}
    more = clear(first_alone=True).fit(parts.train)
    assert {-1, 0} == set(more.fitted_.forest.party[: more.fitted_.forest.roots[1]])
    assert {1, 2} & set(more.fitted_.forest.party)


def test_rows_that_are_not_sampled_are_not_sent() -> None:
    parts = aligned("binary")
    seen = recorded(clear(subsample=0.5), parts.train)
    n = len(parts.train.labels)
    told = [m.tensors for m in seen if m.kind == "derivatives"]
    assert {len(t["derivatives"]) for t in told} == {round(n / 2)}
    assert len({tuple(t["rows"].tolist()) for t in told}) == OPTIONS["trees"]
    again = recorded(clear(), parts.train)
    named = [("rows" in m.tensors) for m in again if m.kind == "derivatives"]
    assert named == [True] * 2 + [False] * 2 * (OPTIONS["trees"] - 1)  # named once, to each of two parties


# rounds, storing, errors ----------------------------------------------------------------------------------------------


def test_early_stopping_keeps_the_best_round() -> None:
    parts = aligned("multiclass", rows=200)
    model = clear(trees=60, patience=3, learning_rate=1.0).fit(parts.train, parts.valid)
    losses = [h["validation_loss"] for h in model.history_]
    best = int(np.argmin(losses)) + 1
    assert model.fitted_.forest.rounds == best < 60
    assert len(losses) == best + 3
    short = clear(trees=best, learning_rate=1.0).fit(parts.train)
    assert np.array_equal(outputs(short, parts.test.views), outputs(model, parts.test.views))


def test_training_ends_when_no_tree_finds_a_split() -> None:
    parts = aligned("regression")
    model = clear(gamma=1e6, trees=20).fit(parts.train)
    assert len(model.history_) == 1 and model.fitted_.forest.party == [-1]


@pytest.mark.parametrize("active", ["p1", "server"])
def test_any_party_can_be_active(active: str) -> None:
    source = aligned("binary")
    data = source.train
    other = cn.VerticalData.of(data.views, data.labels, active, data.task)
    first, second = clear().fit(data), clear().fit(other)
    assert np.array_equal(outputs(first, source.test.views), outputs(second, source.test.views))
    assert second.active_ == active


@encrypts
def test_a_saved_model_holds_no_key_and_each_party_its_own_records(tmp_path) -> None:
    parts = aligned("multiclass")
    model = encrypted(trees=2).fit(parts.train)
    assert model.fitted_.owners.keys is None
    model.save(tmp_path / "m")
    again = cn.load(tmp_path / "m")
    assert np.array_equal(outputs(model, parts.test.views), outputs(again, parts.test.views))
    assert {p.name for p in (tmp_path / "m").iterdir()} == {
        "model.json", "trees.safetensors", "party-0.safetensors", "party-1.safetensors", "party-2.safetensors",
    }  # fmt: skip
    again.save(tmp_path / "n")
    assert (tmp_path / "n" / "trees.safetensors").read_bytes() == (tmp_path / "m" / "trees.safetensors").read_bytes()


def test_bad_options_are_listed_together() -> None:
    with pytest.raises(cn.ConfigError) as caught:
        cn.SecureBoost(depth=10, bins=256, min_weight=0, subsample=0, encrypt="no", key_bits=512, gamma=-1, trees=0)
    text = str(caught.value)
    for part in (
        "8 problems", "depth must be a whole number from 1 to 9. Got 10", "bins must be a whole number from 2 to 255",
        "min_weight must be a number above 0", "subsample must be a number above 0 and of at most 1. Got 0",
        "encrypt must be true or false",
        "key_bits must be 1024, 2048, 3072 or 4096. Got 512", "gamma must be a number of at least 0", "trees must be",
    ):  # fmt: skip
        assert part in text


def test_without_the_library_the_way_out_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    monkeypatch.delitem(sys.modules, "colonnade.methods.secureboost.trees.paillier", raising=False)
    with pytest.raises(MissingDependencyError, match=r"pip install 'colonnade\[secureboost\]'.*encrypt=False"):
        encrypted().fit(aligned("binary").train)


def test_noise_on_messages_is_refused_as_there_are_no_real_numbers() -> None:
    with pytest.raises(cn.ConfigError, match="'protect' is no option of SecureBoost"):
        cn.SecureBoost(protect="iso:gradient:1")


def test_data_without_use_is_explained() -> None:
    rng = np.random.default_rng(0)
    apart = {"bank": (rng.normal(size=(8, 2)), np.arange(8)), "shop": (rng.normal(size=(8, 2)), np.arange(6, 14))}
    with pytest.raises(cn.DataError, match=r"none of the 6 labelled rows of party 'bank' is held by all parties"):
        clear().fit(cn.VerticalData(apart, (np.arange(6) % 2, np.arange(6))))
    parts = aligned("binary")
    labels_only = cn.VerticalData.of(parts.train.views, parts.train.labels, "server", "binary")
    with pytest.raises(cn.DataError, match="first_alone needs columns of party 'server'"):
        clear(first_alone=True).fit(labels_only)


def test_out_of_turn_questions_are_refused() -> None:
    parts = aligned("binary")
    model = clear().fit(parts.train)
    party = model.federation_.engine.parties["p1"]
    trees = party.skill(Columns).owner
    with pytest.raises(cn.WireError, match="received ciphertexts before it received a key"):
        trees.take_encrypted(np.zeros((3, 256), np.uint8))
    with pytest.raises(cn.WireError, match="received 3 derivatives for"):
        trees.take(np.zeros((3, 2), np.int32))
    nodes = np.zeros(len(trees.rows), np.uint8)
    for wrong, count in ((nodes[:-1], 1), (nodes, 0), (nodes, 10**9), (nodes + 3, 2)):
        with pytest.raises(cn.WireError, match=f"sums of {count} nodes that do not fit its rows"):
            trees.add_up(wrong, count, 0)
    party.skill(Columns).found = None
    with pytest.raises(cn.WireError, match="before its columns were binned"):
        party.perform("add_up", Message("nodes", "p0", "p1", "train", {"nodes": torch.zeros(1, dtype=torch.uint8)}))
