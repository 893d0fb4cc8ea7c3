"""Logs hold no row, label, id or key; files are written into `out` alone, and hold nothing raw of another party."""

from __future__ import annotations

import json
import logging
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from colonnade.engines.remote import Link
from colonnade.parties.party import Party
from colonnade.sites.alignment.aligning import align_sites
from colonnade.sites.recovery.past import Past
from colonnade.sites.recovery.resume import Memory
from colonnade.sites.settings.description import read_site
from colonnade.sites.settings.table import read_site_table
from colonnade.sites.training.active_site import ActiveSite
from colonnade.wire.envelope import open_reply, run_of
from tests.sites.small import FEDERATION, METHODS, calls_of, make_tables, passive_sites, write_sites
from tests.sites.test_passive_site import PLAN, ask, assignment, down, ready
from tests.sites.test_predict import batch_of

pytest.importorskip("private_set_intersection")
LABELS = {"yes": "label-kappa", "no": "label-omega"}
SORTS = {"a": "sort-alpha", "b": "sort-beta"}
OPTIONS = {**METHODS, "fedhssl": {**METHODS["fedhssl"], "secure_aggregation": True}}


def telling_tables() -> dict[str, pd.DataFrame]:
    """Ids, values, labels and categories that nothing else is spelled like."""
    tables = make_tables()
    for k, frame in enumerate(tables.values()):
        frame.index = pd.Index([f"customer-{i:06d}" for i in frame.index], name="id")
        for column in frame.columns[frame.dtypes == "float64"]:
            frame[column] = (frame[column] * 1000 + 31_000 * (k + 1)).round(3)
    tables["bank"]["churn"] = tables["bank"]["churn"].map(LABELS)
    tables["shop"]["sort"] = tables["shop"]["sort"].map(SORTS)
    return tables


def raw_texts(tables: dict[str, pd.DataFrame]) -> set[str]:
    """Everything in the tables as text."""
    found = {*LABELS.values(), *SORTS.values()}
    for frame in tables.values():
        found |= set(frame.index)
        numbers = frame.select_dtypes("number").to_numpy()
        found |= {str(float(number)) for number in numbers[np.isfinite(numbers)]}
    return found


def texts_of(record: logging.LogRecord) -> str:
    said = [record.getMessage(), str(record.args), str(record.exc_text)]
    if record.exc_info and record.exc_info[1] is not None:
        said += traceback.format_exception(record.exc_info[1])
    return "\n".join(said)


def whole_story(files: dict[str, Path]) -> list[bytes]:
    """Alignment, three trainings and predictions by function links; the secrets that the sites drew."""
    bank, run, secrets = read_site(files["bank"]), run_of("an alignment"), []
    there = calls_of(passive_sites(files, run))
    align_sites(bank, FEDERATION, read_site_table(bank, FEDERATION.passive), Link(there, run))
    for method, options in OPTIONS.items():
        run = run_of(method)
        passive = passive_sites(files, run)
        for name, site in passive.items():
            assert site.out is not None
            site.past = Past(site.out, f"{run.hex()}-{name}")
            secrets.append(site.past.secret)
        memory = Memory(bank.out, run.hex(), "bank")
        secrets.append(memory.secret)
        link = Link(calls_of(passive), run, memory=memory.replies, ahead=False)
        ActiveSite(FEDERATION, bank, read_site_table(bank, FEDERATION.passive), link, memory).train(method, options)
    batch_of(files, [f"customer-{i:06d}" for i in range(100, 120)])  # type: ignore[misc]
    return secrets


def test_logs_and_files_of_alignment_training_and_predictions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = telling_tables()
    files = write_sites(tmp_path / "sites", listed=False, tables=tables)
    for name in ("cwd", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with caplog.at_level(logging.DEBUG):
        secrets = whole_story(files)
    assert any(record.name.startswith("colonnade.") for record in caplog.records)  # or nothing was looked at
    forbidden = raw_texts(tables) | {secret.hex() for secret in secrets} | {repr(secret) for secret in secrets}
    for record in caplog.records:
        said = texts_of(record)
        assert not [text for text in forbidden if text in said], record.name
        assert "tensor(" not in said and "array(" not in said, record.name
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert all(after[path] == content for path, content in before.items())
    new = [path for path in after if path not in before]
    assert len(new) > 9 and all(path.parent.name == "out" for path in new), new
    _check_own(new, tables)


def _check_own(paths: list[Path], tables: dict[str, pd.DataFrame]) -> None:
    """No party's folder has labels, categories, columns or ids that are another's alone."""
    labels, sorts = ([text.encode() for text in names.values()] for names in (LABELS, SORTS))
    alone = {name: [one for one in frame.index if one >= "customer-005000"] for name, frame in tables.items()}
    for path in paths:
        owner, content = path.parent.parent.name, path.read_bytes()
        foreign = [*(labels if owner != "bank" else ()), *([*sorts, b'"sort"'] if owner != "shop" else ())]
        foreign += [one.encode() for name, ids in alone.items() if name != owner for one in ids]
        assert not [text for text in foreign if text in content], path


def test_the_check_would_see_a_value_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    tables = telling_tables()
    value = next(iter(tables["shop"]["x0"]))
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("colonnade.test").debug("row %s", value)
    assert [text for text in raw_texts(tables) if text in texts_of(caplog.records[-1])]


def test_a_failure_leaves_where_it_was_and_no_text_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "31000.123"

    def breaks(*_: object, **__: object) -> None:
        raise KeyError(value)

    shop = ready(passive_sites(write_sites(tmp_path))["shop"])
    monkeypatch.setattr(Party, "encode", breaks)
    said = ask(shop, 3, "represent", down("rows", table="train"))
    assert "failed with KeyError; the site's log says why" in said
    assert "in encode_table" in caplog.text and "31000.123" not in caplog.text


def test_what_is_wrong_with_rows_is_told_at_home_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tables = make_tables()
    tables["shop"].loc[249, "x0"] = np.inf  # among the rows that validate, which are loaded by the first request
    shop = passive_sites(write_sites(tmp_path, tables=tables))["shop"]
    given = assignment(shop)
    given.tensors["valid"] = torch.tensor([149], dtype=torch.int32)
    assert ask(shop, 1, "assign", given) == "done"
    said = ask(shop, 2, "prepare", down("plan", **PLAN))
    assert "its rows do not serve for this; the site's log says why" in said and "x0" not in said
    assert "column" in caplog.text and "x0" in caplog.text


def test_a_message_that_is_refused_is_not_quoted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = ready(passive_sites(write_sites(tmp_path))["shop"])
    for number, message in enumerate((
        down("rows", {"secret-name": torch.arange(3)}), down("rows", {"rows": torch.tensor([31_000])}),
        down("gradient", {"gradient": torch.full((2, 2), 31_000.5)}),
    ), 3):  # fmt: skip
        ask(shop, number, "forward", message)
    assert "31000" not in caplog.text
    lines = [line for line in caplog.text.splitlines() if "refused request" in line]
    assert len(lines) == 3 and json.dumps(lines).isprintable()


def test_text_that_is_no_text_does_not_stop_a_refusal(tmp_path: Path) -> None:
    shop = passive_sites(write_sites(tmp_path))["shop"]
    assert open_reply(shop._refuse(3, "no \ud800")).reason == "no \\ud800"
