"""What every method promises. A new entry of METHODS gets all of this for free."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

import colonnade as cn
from colonnade.wire.codec import encode
from tests.conftest import make_data
from tests.declared import packed
from tests.methods.small import SMALL, small
from tests.methods.together import observe

every_method = pytest.mark.parametrize("name", list(cn.METHODS))
FEDERATED = [name for name, method in cn.METHODS.items() if hasattr(method, "codec")]
federated_methods = pytest.mark.parametrize("name", FEDERATED)


def outputs(model: cn.Method, views: dict) -> np.ndarray:
    return model.predict(views) if model.task_ == "regression" else model.predict_proba(views)


def aligned_views(data: cn.VerticalData) -> dict:
    return data.only(data.aligned).views


@every_method
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("parties", [2, 3, 7])
def test_learns_for_any_task_and_number_of_parties(name: str, task: str, parties: int) -> None:
    if task not in cn.METHODS[name].tasks:
        pytest.skip(f"{name} does not do {task}")
    data = make_data(parties, task, rows=240, labelled=0.9)
    split = cn.split(data, seed=1)
    model = small(name).fit(split.train, split.valid)
    found = model.score(split.test.views, split.test.labels)
    guess = (
        0.0
        if task == "regression"
        else np.unique(split.test.labels.values, return_counts=True)[1].max() / len(split.test.labels)
    )
    assert found > guess, f"{found} is no better than guessing, {guess}"
    out = outputs(model, split.test.views)
    assert out.shape == (
        (len(split.test.labels),) if task == "regression" else (len(split.test.labels), len(model.classes_))
    )
    assert np.isfinite(out).all()


@every_method
def test_same_seed_same_result_and_another_seed_another(name: str, data: cn.VerticalData) -> None:
    views = aligned_views(data)
    first = outputs(small(name, seed=3).fit(data), views)
    torch.manual_seed(99)  # the global generator must not matter
    np.random.seed(99)
    assert np.array_equal(first, outputs(small(name, seed=3).fit(data), views))
    if hasattr(cn.METHODS[name], "epochs"):
        assert not np.array_equal(first, outputs(small(name, seed=4).fit(data), views))


@every_method
def test_row_order_does_not_matter(name: str) -> None:
    source = make_data()
    frames, labels = raw(source)
    shuffled = {p: f.sample(frac=1, random_state=i) for i, (p, f) in enumerate(frames.items())}
    model = small(name).fit(cn.VerticalData(frames, labels))
    other = small(name).fit(cn.VerticalData(shuffled, labels.sample(frac=1, random_state=9)))
    views = aligned_views(source)
    np.testing.assert_allclose(outputs(model, views), outputs(other, views), rtol=1e-5, atol=1e-6)


@every_method
def test_a_prediction_does_not_depend_on_the_other_rows(name: str, data: cn.VerticalData) -> None:
    model = small(name).fit(data)
    ids = data.aligned
    whole = outputs(model, data.only(ids).views)
    part = outputs(model, data.only(ids[5:8]).views)
    np.testing.assert_allclose(part, whole[5:8], rtol=1e-4, atol=1e-5)


@every_method
def test_predictions_come_in_the_order_of_the_active_partys_rows(name: str, data: cn.VerticalData) -> None:
    model = small(name).fit(data)
    frames, _ = raw(data.only(data.aligned))
    backwards = {"p0": frames["p0"].iloc[::-1], "p1": frames["p1"]}
    np.testing.assert_allclose(outputs(model, backwards), outputs(model, frames)[::-1], rtol=1e-4, atol=1e-5)


@every_method
def test_a_saved_model_predicts_the_same(name: str, data: cn.VerticalData, tmp_path) -> None:
    model = small(name).fit(data)
    model.save(tmp_path / "model")
    again = cn.load(tmp_path / "model")
    views = aligned_views(data)
    assert np.array_equal(outputs(model, views), outputs(again, views))
    assert again.traffic_.to_json() == model.traffic_.to_json()
    assert again.history_ == model.history_
    assert again.get_params() == model.get_params()
    assert not [p for p in (tmp_path / "model").iterdir() if p.suffix not in (".json", ".safetensors")]


@every_method
def test_text_classes_come_back_as_text(name: str) -> None:
    frames, labels = raw(make_data(task="binary"))
    named = labels.map({0: "no", 1: "yes"})
    model = small(name).fit(cn.VerticalData(frames, named))
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(aligned_views(cn.VerticalData(frames, named)))) <= {"no", "yes"}


class Asked(dict):
    """Options by name; those that are looked up are noted."""

    def __init__(self, options: dict, read: set[str]) -> None:
        super().__init__(options)
        self.read = read

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        self.read.add(name)
        return super().get(name, default)


def watched(method: type[cn.Method], read: set[str]) -> type[cn.Method]:
    """The method, whose options are noted when they are read; not by what reads every option alike."""
    names = {field.name for field in dataclasses.fields(method)}

    def spy(self, attribute):
        if attribute in names:
            read.add(attribute)
        return object.__getattribute__(self, attribute)

    def options(self):
        return Asked({name: object.__getattribute__(self, name) for name in names}, read)

    return type(
        "Watched",
        (method,),
        {"__getattribute__": spy, "get_params": options, "check_options": lambda self: None},
    )


@every_method
def test_every_option_is_read(name: str, data: cn.VerticalData) -> None:
    method, split, read = cn.METHODS[name], cn.split(data), set[str]()

    def fit(*given: cn.VerticalData, **options) -> None:
        model = small(name, **options)
        model.__class__ = watched(method, read)
        model.fit(*given)

    fit(split.train, split.valid)
    fit(split.train)  # options that matter only without validation rows
    for labels, aligned in ((0.3, 1.0), (0.9, 0.4)):  # unlabelled aligned rows, unaligned labelled rows
        partly = cn.split(data, labels=labels, aligned=aligned)
        fit(partly.train, partly.valid)
    for only in ({"aggregate": True}, {"encrypt": True, "trees": 1, "key_bits": 1024}, {"epsilon": 100.0}):
        if all(hasattr(method, option) for option in only):  # options that matter only with it
            fit(split.train, **only)
    assert {field.name for field in dataclasses.fields(method)} <= read


@every_method
def test_an_unknown_option_is_refused_with_a_suggestion(name: str) -> None:
    with pytest.raises(cn.ConfigError, match=r"'sede' is no option of .*Did you mean 'seed'\?"):
        cn.METHODS[name](sede=1)


@every_method
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_models_can_be_copied_and_pickled(name: str, duplicate: Callable[[cn.Method], cn.Method]) -> None:
    source = make_data(rows=60)
    model = small(name)
    model = small(name, **{key: 1 for key in ("epochs", "pretrain_epochs", "trees") if hasattr(model, key)})
    assert duplicate(model).get_params() == model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 60 rows are less than a batch
        heard: list[str] = []
        model.fit(source, progress=lambda phase, done, total: heard.append(phase))
    views = aligned_views(source)
    again = duplicate(model)
    assert np.array_equal(outputs(again, views), outputs(model, views))
    assert again.traffic_.to_json() == model.traffic_.to_json()


@every_method
def test_use_before_fit_says_so(name: str, data: cn.VerticalData) -> None:
    with pytest.raises(cn.ColonnadeError, match="Call fit first"):
        small(name).predict(data.views)


@every_method
def test_validation_rows_among_training_rows_are_refused(name: str, data: cn.VerticalData) -> None:
    with pytest.raises(cn.DataError, match="validation rows are training rows too"):
        small(name).fit(data, data)


@every_method
def test_options_can_be_cloned_as_in_scikit_learn(name: str) -> None:
    from sklearn.base import clone

    model = small(name, seed=5)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(seed=6).seed == 6


@every_method
@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
def test_a_model_can_be_copied_and_pickled_trained_or_not(name: str, copied, data: cn.VerticalData) -> None:
    short = {k: v for k, v in {"epochs": 2, "pretrain_epochs": 1, "trees": 2}.items() if hasattr(cn.METHODS[name], k)}
    bare = small(name, **short)
    again = copied(bare)
    assert type(again) is type(bare) and again.get_params() == bare.get_params()
    model = bare.fit(data)
    twin, views = copied(model), aligned_views(data)
    assert np.array_equal(outputs(twin, views), outputs(model, views))
    assert twin.traffic_.to_json() == model.traffic_.to_json() and twin.history_ == model.history_
    assert np.array_equal(outputs(again.fit(data), views), outputs(model, views))  # what was not trained can be


@federated_methods
def test_only_declared_messages_cross_and_traffic_is_their_encoded_size(
    name: str, data: cn.VerticalData, monkeypatch
) -> None:
    split = cn.split(data)
    seen = observe(monkeypatch)
    model = small(name).fit(split.train, split.valid)
    kinds = model.setup().offer.kinds
    assert seen
    for message in seen:
        kind = kinds[message.kind]
        assert (message.receiver == "p0") == (kind.direction == "up")
        assert set(message.tensors) <= set(kind.tensors) and set(message.values) <= kind.values
        assert not any(tensor.requires_grad for tensor in message.tensors.values())
    assert model.traffic_.bytes == sum(len(encode(packed(m, "float32"))) for m in seen)
    assert model.traffic_.messages == len(seen)
    features = {p: v.x for p, v in split.train.views.items()}
    for message in seen:  # no raw column of the sender crosses
        for tensor in message.tensors.values():
            raw_columns = features[message.sender].T if tensor.is_floating_point() else []
            for column in raw_columns:
                assert not any(
                    len(c) == len(column) and np.allclose(c, column, equal_nan=True)
                    for c in np.atleast_2d(tensor.numpy().T)
                )


@federated_methods
@pytest.mark.parametrize("codec, ratio", [("float16", 0.75), ("int8", 0.7)])
def test_a_smaller_codec_sends_less_and_still_learns(name: str, codec: str, ratio: float) -> None:
    split = cn.split(make_data(rows=200))
    if name == "mmvfl":  # three numbers a row, beside which a frame, and the scale of an int8 row, weigh more
        ratio += 0.1
    plain = small(name).fit(split.train, split.valid)
    model = small(name, codec=codec).fit(split.train, split.valid)
    assert mean_size(model) < ratio * mean_size(plain)
    assert model.score(split.test.views, split.test.labels) > 0.34


def mean_size(model: cn.Method) -> float:
    sent = model.traffic_.by_kind["representation"]
    return sent["bytes"] / sent["messages"]


@federated_methods
def test_a_party_with_labels_only_can_be_active(name: str) -> None:
    frames, labels = raw(make_data())
    split = cn.split(cn.VerticalData(frames, labels, active="server"))
    if small(name).setup().own_columns:
        with pytest.raises(cn.DataError, match="'server', which has labels and no columns"):
            small(name).fit(split.train, split.valid)
        return
    model = small(name).fit(split.train, split.valid)
    assert model.score(split.test.views, split.test.labels) > 0.4
    assert model.active_ == "server"


@every_method
def test_rows_that_a_party_lacks(name: str, data: cn.VerticalData) -> None:
    model = small(name).fit(data)
    frames, _ = raw(data.only(data.aligned))
    fewer = {"p0": frames["p0"], "p1": frames["p1"].iloc[:-4]}
    if name == "local":  # it reads nobody else's columns
        assert np.array_equal(model.predict_proba(fewer), model.predict_proba({"p0": frames["p0"]}))
        return
    with pytest.raises(cn.DataError, match=r"'p1' lacks 4 of .* absent='zero'"):
        model.predict(fewer)
    with pytest.raises(cn.DataError, match="party 'p1' has no rows"):
        model.predict({"p0": frames["p0"]})
    out = model.predict_proba(fewer, absent="zero")
    assert model.absent_ == {"p1": 4}
    np.testing.assert_allclose(out[:-4], model.predict_proba(frames)[:-4], rtol=1e-4, atol=1e-5)
    assert model.predict_proba({"p0": frames["p0"]}, absent="zero").shape == out.shape
    assert model.absent_ == {"p1": len(frames["p0"])}
    with pytest.raises(cn.ConfigError, match=r"absent must be one of error, zero\. Got 'nil'"):
        model.predict(fewer, absent="nil")


@federated_methods
def test_a_party_that_is_always_late_changes_no_prediction(name: str) -> None:
    """Wu et al. 2022, App. C: what comes late counts as zero, so what it says does not matter."""
    split = cn.split(make_data(3, rows=160))
    model = small(name, late=["p2"]).fit(split.train, split.valid)
    assert set(model.late_) == {"p2"}
    frames, _ = raw(split.test)
    told = outputs(model, frames)
    assert model.absent_["p2"] == len(told)
    frames["p2"] = frames["p2"].iloc[::-1].set_axis(frames["p2"].index)
    np.testing.assert_array_equal(outputs(model, frames), told)
    frames["p1"] = frames["p1"].iloc[::-1].set_axis(frames["p1"].index)
    assert not np.array_equal(outputs(model, frames), told)


@federated_methods
def test_who_is_always_late_must_be_a_passive_party(name: str, data: cn.VerticalData) -> None:
    with pytest.raises(cn.ConfigError, match=r"late names \['p0', 'shop'\], but the passive parties are \['p1'\]"):
        small(name, late=["p0", "shop"]).fit(data)
    with pytest.raises(cn.ConfigError, match=r"late must be names of parties, e\.g\. \['shop'\], .*\. Got 3"):
        small(name, late=3)


@every_method
def test_rows_that_do_not_fit_the_model_are_explained(name: str, data: cn.VerticalData) -> None:
    model = small(name).fit(data)
    frames, _ = raw(data.only(data.aligned))
    with pytest.raises(cn.DataError, match=r"x2'? is missing|column 'p0.x2' is missing"):
        model.predict({**frames, "p0": frames["p0"].drop(columns="x2")})
    with pytest.raises(cn.DataError, match="was not there in training"):
        model.predict({**frames, "p0": frames["p0"].assign(new=1.0)})
    unknown = frames["p1"].assign(kind="never seen")
    if name == "local":
        return
    assert np.isfinite(outputs(model, {**frames, "p1": unknown})).all()


def raw(data: cn.VerticalData) -> tuple[dict[str, pd.DataFrame], pd.Series]:
    """Data back as the tables a user has."""
    frames = {}
    for name, view in data.views.items():
        frame = pd.DataFrame(view.x, columns=list(view.columns), index=view.ids)
        for q, field in enumerate(view.fields):
            values = np.array([*view.vocabularies[q], None], dtype=object)
            frame[field] = values[view.codes[:, q]]
        frames[name] = frame
    return frames, pd.Series(data.labels.values, index=data.labels.ids)


def test_every_method_has_a_small_version() -> None:
    assert set(SMALL) <= set(cn.METHODS)
