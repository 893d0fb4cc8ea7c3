"""Predictions between sites, without FLARE: the same as in one process, and what is said when a party is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import colonnade as cn
from colonnade.deploy.serve.cache import Cache
from colonnade.deploy.serve.predictor import GatheringPredictor
from colonnade.errors import ConfigError, DataError, WireError
from colonnade.sites.prediction.loading import find_run, passive_party, put_together, read_part
from colonnade.sites.provisioning.channel import AbsentError
from colonnade.sites.running.batch import Batch, ids_of_file, predict_batch, summary, unlabelled, write_frame
from colonnade.sites.running.gathering import SitesSource, predictor_between_sites
from colonnade.sites.settings.description import read_site
from colonnade.sites.settings.table import SiteTable, read_site_table
from colonnade.wire.envelope import run_of
from colonnade.wire.message import Message
from tests.deploy.serve.parts import ask, client
from tests.sites.small import (
    FEDERATION,
    METHODS,
    NETWORK,
    RUN,
    active_site,
    calls_of,
    in_process,
    make_tables,
    passive_sites,
    write_sites,
)
from tests.sites.test_passive_site import ask as put

LATER = run_of("predictions")
NEW = list(range(245, 255))  # unlabelled in these tests


def tables() -> dict[str, pd.DataFrame]:
    """As `make_tables`, without the labels of the last rows; the telco lacks one of them."""
    made = make_tables()
    made["bank"].loc[[i for i in NEW if i in made["bank"].index], "churn"] = np.nan
    return made


def train(files: dict[str, Path], method: str, **options: Any) -> str:
    network = {} if method == "mmvfl" else METHODS.get(method, NETWORK)
    record = active_site(files, passive_sites(files)).train(method, {**network, **options})
    return str(record["run"])


def opened(
    files: dict[str, Path], cache: Cache | None = None, *, lasting: bool = False
) -> tuple[GatheringPredictor, SitesSource, SiteTable]:
    site = read_site(files["bank"])
    table = read_site_table(site, FEDERATION.passive)
    part = read_part(site.out, find_run(site.out, "bank"), "bank")
    kept = Cache(0, 1.0) if cache is None else cache
    return *predictor_between_sites(part, table, kept, lasting=lasting), table


def batch_of(files: dict[str, Path], ids: list[int], calls: Any = None) -> tuple[Batch, GatheringPredictor]:
    predictor, source, table = opened(files)
    there = calls_of(passive_sites(files, LATER)) if calls is None else calls
    missing = source.connect(there, LATER)
    assert not missing.refused, missing.refused
    order = {one: row for row, one in enumerate(table.ids.tolist())}
    rows = np.array([order.get(one, -1) for one in ids])
    return predict_batch(predictor, list(ids), rows, table), predictor


def wanted(model: cn.Method, ids: list[int], without: tuple[str, ...] = ()) -> Any:
    views = make_tables()
    views["bank"].pop("churn")
    rows = {name: frame.loc[[i for i in ids if i in frame.index]] for name, frame in views.items()}
    return model.predict_proba({k: v for k, v in rows.items() if k not in without}, absent="zero")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    files = write_sites(tmp_path_factory.mktemp("trained"), tables=tables())
    train(files, "splitnn")
    return files


@pytest.mark.parametrize("method", ["splitnn", "fedonce", "fedhssl", "fedonce-pca", "ss-vfl-i", "ssvfl", "mmvfl"])
def test_predictions_by_frames_are_those_of_one_process(method: str, tmp_path: Path) -> None:
    files = write_sites(tmp_path, tables=tables())
    options = {"width": 3} if method == "fedonce-pca" else {}
    options |= {"pretrain_epochs": 1} if method == "ss-vfl-i" else {}
    options = {"epochs": 3} if method == "mmvfl" else {**METHODS.get(method, NETWORK), **options}
    run = train(files, method, **options)
    alone = in_process(method, tables(), **options)
    ids = list(range(100, 250))
    batch, predictor = batch_of(files, ids)
    np.testing.assert_allclose(batch.values, wanted(alone, ids), rtol=0, atol=1e-12)
    assert batch.known.all() and not batch.absent and predictor.classes == alone.classes_.tolist()
    together = put_together({name: read_site(path).out for name, path in files.items()}, run, "bank")
    np.testing.assert_array_equal(wanted(together, ids), wanted(alone, ids))
    assert (together.task_, together.metric_, together.traffic_.bytes) == ("binary", "accuracy", alone.traffic_.bytes)


def test_regression_and_a_party_with_labels_only(tmp_path: Path) -> None:
    made = make_tables()
    made["bank"] = pd.DataFrame({"churn": made["bank"]["x0"] + 0.1}, index=made["bank"].index)
    files = write_sites(tmp_path, tables=made)
    train(files, "splitnn")
    model = in_process("splitnn", {name: frame.copy() for name, frame in made.items()}, **NETWORK)
    batch, predictor = batch_of(files, [100, 101, 5001, 7])
    views = {name: frame.loc[[100, 101]] for name, frame in make_tables().items() if name != "bank"}
    np.testing.assert_allclose(batch.values[:2], model.predict(views), rtol=1e-6)
    frame = batch.frame(predictor, "id")
    assert list(frame) == ["id", "prediction", "absent"]
    assert frame["prediction"].isna().tolist() == [False, False, True, True]  # 5001 is the bank's alone: no column
    assert frame["absent"].tolist() == ["", "", "shop telco", "shop telco"]


def test_a_put_together_model_is_saved_and_loaded_like_any(trained: dict[str, Path], tmp_path: Path) -> None:
    folders = {name: read_site(path).out for name, path in trained.items()}
    run = find_run(folders["bank"], "bank")
    model = put_together(folders, run, "bank")
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(wanted(cn.load(tmp_path / "model"), [100, 101]), wanted(model, [100, 101]))
    with pytest.raises(ConfigError, match=r"was trained with 'telco', too"):
        put_together({k: v for k, v in folders.items() if k != "telco"}, run, "bank")


def test_a_site_that_is_absent_counts_as_zero_and_is_said(trained: dict[str, Path]) -> None:
    calls = calls_of(passive_sites(trained, LATER))
    ids = [100, 101, 102]
    batch, predictor = batch_of(trained, ids, {"shop": calls["shop"]})
    alone = in_process("splitnn", tables(), **NETWORK)
    np.testing.assert_allclose(batch.values, wanted(alone, ids, ("telco",)), atol=1e-12)
    assert batch.absent == {"telco": 3} and batch.unreachable == ("telco",)
    assert batch.frame(predictor, "id")["absent"].tolist() == ["telco"] * 3
    assert summary(batch) == [
        "3 ids: 3 predicted, 0 of them with all parties", "without telco: 3 rows", "no answer from telco",
    ]  # fmt: skip


def test_a_site_that_had_left_the_training_is_not_asked(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    run = train(files, "splitnn", epochs=1)
    for part in (tmp_path / "telco" / "out").iterdir():
        part.unlink()
    kept = tmp_path / "bank" / "out" / f"{run}-bank.json"
    assert json.loads(kept.read_text())["absent"] == []
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "absent": ["telco"]}))
    batch, predictor = batch_of(files, [100, 101])
    assert batch.frame(predictor, "id")["absent"].tolist() == ["telco", "telco"]
    _, source, _ = opened(files)
    assert source.connect({}, LATER).absent["telco"] == "the training ended without it."


def test_a_site_that_dies_on_the_way_is_said_row_by_row(
    trained: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade.sites.running.batch.ROWS", 4)
    calls: dict[str, Callable[[bytes], Any]] = {**calls_of(passive_sites(trained, LATER))}
    asked: list[int] = []

    def dying(request: bytes, shop: Any = calls["shop"]) -> Any:
        asked.append(1)
        if len(asked) > 2:  # it opened, and answered once
            raise AbsentError("site 'shop' did not answer (TimeoutError).")
        return shop(request)

    batch, predictor = batch_of(trained, list(range(100, 112)), {**calls, "shop": dying})
    assert batch.frame(predictor, "id")["absent"].tolist() == [""] * 4 + ["shop"] * 8
    assert batch.unreachable == ("shop",)
    assert len(asked) == 3  # it is not waited for again


def test_rows_that_a_party_lacks_or_nobody_holds(trained: dict[str, Path]) -> None:
    batch, predictor = batch_of(trained, [100, 5003, 99])
    frame = batch.frame(predictor, "id")
    assert frame["absent"].tolist() == ["", "shop telco", "bank shop telco"]
    assert frame["prediction"].isna().tolist() == [False, False, True]
    assert frame["probability no"].isna().tolist() == [False, False, True]
    assert "held by nobody, without a prediction: 1 ids" in summary(batch)[-1]


def test_a_row_that_left_a_sites_table_is_not_asked_for(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    train(files, "splitnn", epochs=1)
    path = tmp_path / "telco" / "table.csv"
    pd.read_csv(path, index_col="id").drop(index=[101]).to_csv(path)
    batch, predictor = batch_of(files, [100, 101])
    assert batch.frame(predictor, "id")["absent"].tolist() == ["", "telco"]
    assert batch.unreachable == ()


def test_pairs_that_are_not_all_parties_are_used_after_an_alignment(tmp_path: Path) -> None:
    pytest.importorskip("private_set_intersection")
    from tests.sites.test_align import align

    made = make_tables()
    made["telco"] = made["telco"].drop(index=[100, 101])
    files = write_sites(tmp_path, listed=False, tables=made)
    assert align(files)["aligned"] == 148
    train(files, "splitnn", epochs=1)
    batch, predictor = batch_of(files, [100, 102])
    assert batch.frame(predictor, "id")["absent"].tolist() == ["telco", ""]


def test_without_ids_the_aligned_rows_without_a_label_are_predicted(trained: dict[str, Path]) -> None:
    _, _, table = opened(trained)
    ids, rows = unlabelled(table)
    assert ids == [245, 246, 247, 248, 249] and table.ids[rows].tolist() == ids


def test_when_all_rows_have_labels_it_says_what_to_do(tmp_path: Path) -> None:
    table = read_site_table(read_site(write_sites(tmp_path)["bank"]), FEDERATION.passive)
    with pytest.raises(DataError, match=r"every aligned row has a label. Name the rows to predict by --ids"):
        unlabelled(table)


def test_ids_of_a_file(trained: dict[str, Path], tmp_path: Path) -> None:
    _, _, table = opened(trained)
    pd.DataFrame({"name": ["x", "y", "z"], "id": ["102", " 100 ", "nobody"]}).to_csv(tmp_path / "a.csv", index=False)
    ids, rows = ids_of_file(tmp_path / "a.csv", "id", "bank", table)
    assert ids == ["102", " 100 ", "nobody"] and table.ids[rows[rows >= 0]].tolist() == [102]  # a list is exact
    pd.DataFrame({"customer": [102, 100]}).to_parquet(tmp_path / "b.parquet")
    ids, rows = ids_of_file(tmp_path / "b.parquet", "id", "bank", table)
    assert ids == [102, 100] and table.ids[rows].tolist() == ids
    pd.DataFrame({"id": ["1", "1"]}).to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(DataError, match=r"c.csv: .*1 ids are duplicates"):
        ids_of_file(tmp_path / "c.csv", "id", "bank", table)
    with pytest.raises(DataError, match=r"has the columns name, id. Name that of the ids 'customer'"):
        ids_of_file(tmp_path / "a.csv", "customer", "bank", table)
    with pytest.raises(ConfigError, match=r"unknown type of file. Use one of .csv, .tsv, .parquet"):
        ids_of_file(tmp_path / "a.xlsx", "id", "bank", table)
    with pytest.raises(DataError, match="cannot be read"):
        ids_of_file(tmp_path / "none.csv", "id", "bank", table)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_what_is_written_is_read_back(ending: str, trained: dict[str, Path], tmp_path: Path) -> None:
    batch, predictor = batch_of(trained, [100, 5003, 99])
    frame = batch.frame(predictor, "id")
    path = write_frame(tmp_path / f"out{ending}", frame)
    assert [p.name for p in tmp_path.iterdir()] == [f"out{ending}"]
    back = pd.read_parquet(path) if ending == ".parquet" else pd.read_csv(path, sep="\t" if ending == ".tsv" else ",")
    assert back["id"].tolist() == [100, 5003, 99]
    np.testing.assert_allclose(back["probability yes"][:2], batch.values[:2, 1])
    assert back["absent"].fillna("").tolist() == frame["absent"].tolist()


def model_message(run: str, digest: str) -> Message:
    return Message("model", "bank", "shop", "predict", {}, {"run": run, "digest": digest})


def places(*at: int) -> Message:
    return Message("places", "bank", "shop", "predict", {"places": torch.tensor(at, dtype=torch.int64)})


def test_what_a_site_does_not_encode(trained: dict[str, Path]) -> None:
    shop = passive_sites(trained, LATER)["shop"]
    run, digest = find_run(read_site(trained["bank"]).out, "bank"), shop.table.same(LATER)
    assert "before a part was opened" in put(shop, 1, "encode", places(0), LATER)
    assert "holds another alignment" in put(shop, 2, "open", model_message(run, "0" * 32), LATER)
    assert "is no name of a run" in put(shop, 3, "open", model_message("../../etc/passwd", digest), LATER)
    assert "holds no part of run" in put(shop, 4, "open", model_message("0" * 32, digest), LATER)
    assert put(shop, 5, "open", model_message(run, digest), LATER) == "answered"
    assert "opened once in a run" in put(shop, 6, "open", model_message(run, digest), LATER)
    assert put(shop, 7, "encode", places(0, 149), LATER) == "answered"
    for number, wrong in enumerate([(-1,), (150,), (3, 3), (2**40,)], 8):
        assert "does not hold, or one of them twice" in put(shop, number, "encode", places(*wrong), LATER)
    assert put(shop, 20, "encode", places(), LATER) == "answered"
    assert "before rows were assigned" in put(shop, 21, "represent", Message("rows", "bank", "shop", "x"), LATER)


@pytest.mark.parametrize(
    ("policy", "refusal"),
    [
        ("rows = 149", "the policy refuses 150 rows: rows = 149"),
        ('operations = ["open"]', "the policy refuses 'encode': operations"),
        ('methods = ["fedonce"]', "the policy refuses 'splitnn': methods"),
        ('kinds = ["model", "opened", "places"]', "the policy refuses 'representation': kinds"),
    ],
)
def test_the_owner_of_a_site_decides(policy: str, refusal: str, trained: dict[str, Path], tmp_path: Path) -> None:
    mine = tmp_path / "site.toml"
    mine.write_text(trained["shop"].read_text().replace("[policy]", f"[policy]\n{policy}"))
    for name in ("out", "aligned.txt", "table.csv"):
        (tmp_path / name).symlink_to(trained["shop"].parent / name)
    with pytest.raises((WireError, AssertionError), match=refusal):
        batch_of({**trained, "shop": mine}, list(range(100, 250)))


def test_the_rows_of_a_run_are_counted_once(trained: dict[str, Path], tmp_path: Path) -> None:
    mine = tmp_path / "site.toml"
    mine.write_text(trained["shop"].read_text().replace("[policy]", "[policy]\nrows = 4"))
    for name in ("out", "aligned.txt", "table.csv"):
        (tmp_path / name).symlink_to(trained["shop"].parent / name)
    predictor, source, _ = opened(trained)
    source.connect(calls_of(passive_sites({**trained, "shop": mine}, LATER)), LATER)
    for _ in range(2):
        predictor.predict([100, 101])
        predictor.predict([102, 103])
    with pytest.raises(WireError, match="the policy refuses 5 rows"):
        predictor.predict([104])


def test_a_lasting_source_goes_on_without_a_site_that_refuses(trained: dict[str, Path], tmp_path: Path) -> None:
    mine = tmp_path / "site.toml"
    mine.write_text(trained["shop"].read_text().replace("[policy]", "[policy]\nrows = 1"))
    for name in ("out", "aligned.txt", "table.csv"):
        (tmp_path / name).symlink_to(trained["shop"].parent / name)
    predictor, source, _ = opened(trained, lasting=True)
    files, again = {**trained, "shop": mine}, run_of("again")
    source.connect(calls_of(passive_sites(files, LATER)), LATER)
    assert predictor.predict([100]).absent == {}
    assert predictor.predict([101]).unreachable == ("shop",)
    missing = source.connect(calls_of(passive_sites(files, again)), again)
    assert missing.refused == {"shop": "the policy refuses 2 rows: rows = 1."} and not missing.absent
    assert predictor.predict([100]).absent["shop"] == 1  # another run would have allowed it


def test_noise_and_codec_are_those_of_training(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    train(files, "splitnn", protect=("iso:representation:5", "iso:gradient:1"), codec="int8", epochs=1)
    kept = read_part(tmp_path / "shop" / "out", find_run(tmp_path / "bank" / "out", "bank"), "shop").kept
    assert (kept["codec"], kept["protect"]) == ("int8", "iso:representation:5")
    predictor, source, _ = opened(files)
    sites = passive_sites(files, LATER)
    source.connect(calls_of(sites), LATER)
    first, second = (predictor.predict([100, 101]).values for _ in range(2))
    assert not np.array_equal(first, second)
    assert sites["shop"].wire.precision == "int8" and len(sites["shop"].wire.protections) == 1


def test_the_service_over_sites_says_who_is_missing_and_recovers(trained: dict[str, Path]) -> None:
    predictor, source, _ = opened(trained, Cache(1000, 60.0))
    service = client(predictor)
    assert ask(service, [100])["unreachable"] == ["shop", "telco"]
    assert service.get("/health").json() == {"status": "degraded"}
    source.connect(calls_of(passive_sites(trained, LATER)), LATER)
    said = ask(service, [100, 101, 99999])
    alone = in_process("splitnn", tables(), **NETWORK)
    np.testing.assert_allclose(said["probabilities"][:2], wanted(alone, [100, 101]), atol=1e-7)
    assert (said["absent"], said["unknown"], said["unreachable"]) == ({}, [2], [])
    before = source.statistics()["wire_messages_total"]
    source.connect({}, LATER)
    assert ask(service, [100, 101])["absent"] == {}  # from the cache
    assert source.statistics()["wire_messages_total"] == before
    assert ask(service, [100, 102])["absent"] == {"shop": 1, "telco": 1}


def test_a_part_is_rebuilt_from_what_was_kept(trained: dict[str, Path]) -> None:
    out = read_site(trained["shop"]).out
    run = find_run(read_site(trained["bank"]).out, "bank")
    party = passive_party(read_part(out, run, "shop"))
    alone = in_process("splitnn", tables(), **NETWORK)
    there = alone.federation_.engine.parties["shop"].state()  # type: ignore[attr-defined]
    assert party.state().keys() == there.keys() and all(torch.equal(v, there[k]) for k, v in party.state().items())
    (out / f"{'0' * 32}-shop.json").write_text("{")
    with pytest.raises(DataError, match="the part cannot be read"):
        read_part(out, "0" * 32, "shop")


def test_runs_are_found_by_their_beginning(trained: dict[str, Path], tmp_path: Path) -> None:
    out = read_site(trained["bank"]).out
    run = find_run(out, "bank")
    assert run == RUN.hex() and find_run(out, "bank", run[:5]) == run
    with pytest.raises(ConfigError, match=f"no run begins with 'zz'. Trained runs: {run[:8]}"):
        find_run(out, "bank", "zz")
    with pytest.raises(ConfigError, match=r"no run has ended. Trained runs: none"):
        find_run(tmp_path, "bank")
