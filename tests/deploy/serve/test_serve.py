"""The service says what the model says, asks no party twice, and lets nobody in who may not."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest

import colonnade as cn
from colonnade.deploy.serve import Found, GatheringPredictor, predictor_of
from colonnade.deploy.serve.cache import Cache
from colonnade.errors import WireError
from tests.conftest import make_data
from tests.deploy.serve.parts import ask, client
from tests.methods.small import small


def audit(model: cn.Method) -> dict[str, int]:
    """Messages of predictions so far, by kind."""
    entries = model.federation_.wire.audit_json()
    return {str(e["kind"]): int(e["messages"]) for e in entries if e["phase"] == "predict"}  # type: ignore[call-overload]


def test_the_service_says_what_the_model_says(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    ids = [f"n{i:03d}" for i in (25, 3, 12, 3)]  # 3 twice, and at p0 alone
    rows = {"p0": views["p0"].loc[["n025", "n003", "n012"]], "p1": views["p1"].loc[["n012", "n025"]]}
    wanted = model.predict_proba(rows, absent="zero")[[0, 1, 2, 1]]
    said = ask(client(predictor_of(model, views)), ids)
    np.testing.assert_allclose(said["probabilities"], wanted, atol=1e-6)
    assert said["predictions"] == model.classes_[wanted.argmax(1)].tolist()
    assert said["classes"] == model.classes_.tolist()
    assert (said["absent"], said["unknown"], said["unreachable"]) == ({"p1": 2}, [], [])


def test_regression_gives_targets(views: dict[str, pd.DataFrame]) -> None:
    model = small("fedonce", epochs=2, pretrain_epochs=1).fit(make_data(task="regression"))
    said = ask(client(predictor_of(model, views)), ["n010", "n011"])
    wanted = model.predict({name: view.loc[["n010", "n011"]] for name, view in views.items()})
    np.testing.assert_allclose(said["predictions"], wanted, rtol=1e-6)
    assert said["probabilities"] is None and said["classes"] == []


def test_a_row_in_the_cache_is_not_asked_for_again(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    service = client(predictor_of(model, views))
    before = audit(model)
    first = ask(service, ["n010", "n005"])
    once = audit(model)
    assert once["rows"] == before.get("rows", 0) + 1 and once["representation"] == before.get("representation", 0) + 1
    assert ask(service, ["n010", "n005"]) == first
    assert audit(model) == once
    ask(service, ["n010", "n011"])  # one new row
    assert audit(model)["rows"] == once["rows"] + 1
    text = service.get("/metrics").text
    assert "colonnade_cache_hits_total 3.0" in text and "colonnade_cache_misses_total 3.0" in text
    assert "colonnade_cache_hit_rate 0.5" in text and "colonnade_ids_total 6.0" in text
    assert 'colonnade_absent_rows_total{party="p1"} 2.0' in text


def test_a_party_is_asked_for_no_row_that_it_lacks(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    before = audit(model)
    assert ask(client(predictor_of(model, views)), ["n001"])["absent"] == {"p1": 1}
    assert audit(model) == before


def test_the_cache_forgets_what_is_old_and_what_was_not_used() -> None:
    import torch

    now = 0.0
    cache = Cache(2, 10.0, clock=lambda: now)
    cache.keep("shop", {1: torch.ones(2), 2: None})
    assert cache.look("shop", [1])[1] == []
    cache.keep("shop", {3: None})
    assert cache.look("shop", [1, 2, 3])[1] == [2]  # the one not used since
    assert cache.look("mall", [1])[1] == [1]
    now = 10.0
    assert cache.look("shop", [1, 3]) == ({}, [1, 3])
    assert len(Cache(0, 10.0)._kept) == 0


def test_a_party_without_a_table_counts_as_zero(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    alone = {"p0": views["p0"]}
    service = client(predictor_of(model, alone))
    said = ask(service, ["n010", "n011", "n012"])
    wanted = model.predict_proba({"p0": alone["p0"].iloc[10:13]}, absent="zero")
    np.testing.assert_allclose(said["probabilities"], wanted, atol=1e-6)
    assert said["absent"] == {"p1": 3} and said["unreachable"] == ["p1"]
    assert service.get("/health").json() == {"status": "degraded"}
    assert "colonnade_unreachable_parties 1.0" in service.get("/metrics").text


def test_rows_of_passive_parties_alone_are_predicted(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    said = ask(client(predictor_of(model, views)), ["n035", "n012"])
    assert said["absent"] == {"p0": 1} and said["unknown"] == []


def test_a_party_that_fails_to_answer_is_asked_again(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    predictor = predictor_of(model, views)
    source, there = predictor.source, False
    gather = source.gather
    source.gather = lambda wanted: gather(wanted) if there else {}  # type: ignore[method-assign]
    service = client(predictor)
    assert ask(service, ["n012"])["unreachable"] == ["p1"]
    there = True
    assert ask(service, ["n012"])["absent"] == {}


def test_an_answer_of_the_wrong_shape_is_refused(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    import torch

    predictor = predictor_of(model, views)
    predictor.source.gather = lambda wanted: {"p1": Found(np.array([True]), torch.zeros(1, 99))}  # type: ignore[method-assign]
    with pytest.raises(WireError, match=r"party 'p1' was asked for 1 rows of width 12 and answered with \(1, 99\)"):
        predictor.predict(["n012"])
    assert client(predictor).post("/predict", json={"ids": ["n012"]}).status_code == 503


def test_unknown_ids_are_named_by_position(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    said = ask(client(predictor_of(model, views)), ["n010", "nobody", "n010\0", "n" * 5000, "n011"])
    assert said["unknown"] == [1, 2, 3] and said["absent"] == {}
    assert [p is None for p in said["probabilities"]] == [False, True, True, True, False]
    assert said["predictions"][1] is None


def test_ids_that_are_numbers(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    numbered = {name: view.set_axis(np.arange(len(view)) + 7, axis=0) for name, view in views.items()}
    service = client(predictor_of(model, numbered))
    assert ask(service, [7, 1 << 70, -1])["unknown"] == [1, 2]
    refused = service.post("/predict", json={"ids": [7, "8"]})
    assert refused.status_code == 422 and "ids are whole numbers here. Got text at position 1." in refused.text
    assert service.post("/predict", json={"ids": [True]}).status_code == 422


def test_what_cannot_be_served_is_said(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    with pytest.raises(cn.ConfigError, match="combined has no encoder at every party"):
        predictor_of(cn.Combined(), views)
    with pytest.raises(cn.DataError, match=r"no party of the model has a table\. Give those of 'p0', 'p1'"):
        predictor_of(model, {"shop": views["p0"]})
    with pytest.raises(cn.DataError, match="party 'p0': column 'x2' is missing"):
        predictor_of(model, {**views, "p0": views["p0"][["x0", "x1"]]})


def test_several_threads_get_the_same_answers(model: cn.Method, views: dict[str, pd.DataFrame]) -> None:
    predictor: GatheringPredictor = predictor_of(model, views, cache_rows=5)
    ids = [f"n{i:03d}" for i in range(10, 30)]
    wanted = {one: predictor.predict([one]).values[0] for one in ids}
    wrong: list[str] = []

    def work(start: int) -> None:
        for one in ids[start:] + ids[:start]:
            if not np.allclose(predictor.predict([one]).values[0], wanted[one], atol=1e-6):
                wrong.append(one)

    threads = [threading.Thread(target=work, args=(4 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
