"""A run's record has what the active party reaches alone, and `colonnade report` shows the folder of a site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import colonnade as cn
from colonnade.data.splits import split
from colonnade.federate import console
from colonnade.federate.description import read_site
from colonnade.federate.known import references
from colonnade.federate.table import read_site_table
from colonnade.federate.training import Faults
from colonnade.report import write_report
from tests.federate.small import FEDERATION, NETWORK, active_site, make_tables, passive_sites, write_sites

KIT = '[federation]\nname = "small"\nactive = "bank"\npassive = ["shop", "telco"]\n'


def test_alone_is_local_on_the_runs_own_rows_and_the_guess_is_a_constant(tmp_path: Path) -> None:
    site = read_site(write_sites(tmp_path)["bank"])
    table = read_site_table(site, FEDERATION.passive)
    found = references(FEDERATION, site, table, cn.METHODS["splitnn"](**NETWORK, seed=3), "accuracy")
    tables = make_tables()
    labels = tables["bank"].pop("churn").dropna()
    parts = split(cn.VerticalData(tables, labels, "bank"))
    alone = cn.METHODS["local"](**NETWORK, seed=3).fit(parts.train, parts.valid)
    assert found["alone"] == alone.score(parts.test.views, parts.test.labels)
    names, counts = np.unique(parts.train.labels.values, return_counts=True)
    assert found["guess"] == np.mean(parts.test.labels.values == names[counts.argmax()])
    assert 0.4 < found["guess"] < found["alone"]


def test_a_party_with_labels_alone_has_nothing_but_the_guess(tmp_path: Path) -> None:
    tables = make_tables()
    tables["bank"] = tables["bank"][["churn"]]
    site = read_site(write_sites(tmp_path, tables=tables)["bank"])
    table = read_site_table(site, FEDERATION.passive)
    assert list(references(FEDERATION, site, table, cn.METHODS["splitnn"](**NETWORK), "accuracy")) == ["guess"]


def train_at_bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bank's `out` after `federate train`, with functions in the place of FLARE's jobs."""
    files = write_sites(tmp_path)
    (tmp_path / "kit" / "server").mkdir(parents=True)
    (tmp_path / "kit" / "federation.toml").write_text(KIT)

    def train(kit: object, file: object, method: str, options: dict[str, Any], *_: object, **__: object) -> Any:
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        return active_site(files, passive_sites(files)).train(method, options)

    monkeypatch.setattr(console, "train", train)
    settings = ["hidden=[12]", "width=6", "epochs=3"]
    console.train_and_show(tmp_path / "kit", files["bank"], "splitnn", settings, Faults(), False, None)
    return tmp_path / "bank" / "out"


def test_a_record_of_the_newest_run_is_in_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = train_at_bank(tmp_path, monkeypatch)
    record = json.loads((trained / "record.json").read_text())
    assert record == json.loads((trained / f"{record['run']}.json").read_text())
    assert set(record["references"]) == {"alone", "guess"}
    assert record["kind"] == "federated" and record["config"]["active"] == "bank"
    assert record["config"]["parties"] == record["parties"]
    assert record["data"] == "small" and record["config"]["rows"]["test"] == 30
    assert record["scores"]["accuracy"] == record["score"] and len(record["history"]) == 3
    assert "torch" in record["versions"]
    assert "bank alone, the same network: accuracy" in capsys.readouterr().out


def test_report_shows_the_folder_of_a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = write_report(train_at_bank(tmp_path, monkeypatch)).read_text()
    assert "splitnn on small" in page
