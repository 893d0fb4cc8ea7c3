"""Private set intersection between sites, without FLARE: what is found, kept and refused."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from colonnade.engines.remote import Link
from colonnade.errors import DataError, WireError
from colonnade.sites.alignment.aligning import align_sites, count_sites
from colonnade.sites.files.agreed import Agreed, read_agreed, write_agreed
from colonnade.sites.intersection.frames import NO_SESSION, Frame, Kind, encode
from colonnade.sites.settings.description import read_site
from colonnade.sites.settings.table import read_site_table
from colonnade.wire.envelope import run_of
from colonnade.wire.message import Message
from tests.sites.small import (
    FEDERATION,
    METHODS,
    active_site,
    calls_of,
    in_process,
    make_tables,
    passive_sites,
    write_sites,
)
from tests.sites.test_passive_site import ask

pytest.importorskip("private_set_intersection")
RUN = run_of("an alignment")


def align(files: dict[str, Path], *, size: bool = False) -> dict[str, Any]:
    site = read_site(files["bank"])
    table = read_site_table(site, FEDERATION.passive)
    link = Link(calls_of(passive_sites(files, RUN)), RUN)
    return (count_sites if size else align_sites)(site, FEDERATION, table, link)


def agreed_of(files: dict[str, Path], name: str) -> Agreed:
    found = read_agreed(read_site(files[name]).aligned)
    assert found is not None
    return found


def test_every_site_keeps_the_rows_that_all_hold_in_one_order(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    record = align(files)
    assert record["aligned"] == 150 and record["common"] == {"shop": 150, "telco": 150}
    assert record["ids"] == {"bank": 162, "shop": 162, "telco": 162}
    kept = {name: agreed_of(files, name) for name in files}
    for agreed in kept.values():
        assert [agreed.ids[i] for i in agreed.order] == [str(i) for i in range(100, 250)]
        assert agreed.name == kept["bank"].name
    for name in FEDERATION.passive:  # a place says the same of both lists
        for mine, place in zip(kept["bank"].ids, kept["bank"].places[name], strict=True):
            assert (kept[name].ids[place] == mine) if place >= 0 else mine not in kept[name].ids
    assert sorted(kept["shop"].ids) == sorted(map(str, make_tables()["shop"].index))


def test_training_on_an_alignment_is_training_in_one_process(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    align(files)
    passive = passive_sites(files)
    record = active_site(files, passive).train("splitnn", dict(METHODS["splitnn"]))
    alone: Any = in_process("splitnn", **METHODS["splitnn"])
    assert record["traffic"] == alone.traffic_.to_json()
    for name, site in passive.items():
        assert site.party is not None
        there = alone.federation_.engine.parties[name].state()
        assert all(torch.equal(value, there[key]) for key, value in site.party.state().items())


def test_ids_are_equal_by_the_rule_and_keep_their_own_spelling(tmp_path: Path) -> None:
    tables = make_tables()
    for name, write in (("bank", "M{}@x.org"), ("shop", " m{}@X.ORG"), ("telco", "m{}@x.org ")):
        tables[name].index = pd.Index([write.format(i) for i in tables[name].index], name="id")
    files = write_sites(tmp_path, listed=False, tables=tables, normalise="email")
    assert align(files)["aligned"] == 150
    shop = agreed_of(files, "shop")
    assert [shop.ids[i].strip() for i in shop.order] == [f"m{i}@X.ORG" for i in range(100, 250)]
    record = active_site(files, passive_sites(files)).train("splitnn", {**METHODS["splitnn"], "epochs": 1})
    assert 0 <= record["score"] <= 1


def test_another_rule_at_a_site_is_refused(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    text = files["shop"].read_text().replace('normalise = "text"', 'normalise = "digits"')
    files["shop"].write_text(text)
    with pytest.raises(WireError, match="site 'shop': party 'shop' has normalise='digits', the active party 'text'"):
        align(files)


def test_days_in_parquet_equal_days_as_text(tmp_path: Path) -> None:
    tables = make_tables()
    for name, frame in tables.items():
        days = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame.index.to_numpy(), unit="D")
        frame.index = pd.Index(days if name == "shop" else days.strftime("%Y-%m-%d"), name="id")
    files = write_sites(tmp_path, listed=False, tables=tables)
    tables["shop"].reset_index().to_parquet(tmp_path / "shop" / "table.parquet")
    files["shop"].write_text(files["shop"].read_text().replace("table.csv", "table.parquet"))
    assert align(files)["aligned"] == 150


def test_duplicates_are_refused_by_row_and_not_by_id(tmp_path: Path) -> None:
    tables = make_tables()
    doubled = tables["telco"].index.astype(str).tolist()
    doubled[7] = doubled[3] + " "
    tables["telco"].index = pd.Index(doubled, name="id")
    files = write_sites(tmp_path, listed=False, tables=tables)
    with pytest.raises(WireError, match=r"'telco': 1 ids are duplicates of earlier ones .*row 7") as caught:
        align(files)
    assert doubled[3] not in str(caught.value)


def test_the_size_alone_is_found_and_nothing_is_kept(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    record = align(files, size=True)
    assert record["common"] == {"shop": 150, "telco": 150} and "aligned" not in record
    assert not any(read_site(path).aligned.exists() for path in files.values())


@pytest.mark.parametrize(
    ("policy", "size", "refusal"),
    [
        ("align = []", False, r"the policy refuses 'both': align = \[\]"),
        ('align = ["size"]', False, r"the policy refuses 'both': align = \['size'\]"),
        ('align = ["both"]', True, r"the policy refuses 'size': align = \['both'\]"),
        ("ids = 161", False, "is asked about 162 ids and answers between 1 and 161"),
        ('operations = ["prepare"]', False, "the policy refuses 'align': operations"),
        ('kinds = ["seeking"]', False, "the policy refuses 'holding': kinds"),
        ("rounds = 1", False, "the policy refuses 2 rounds"),
    ],
)
def test_the_owner_of_a_site_decides(
    policy: str, size: bool, refusal: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = write_sites(tmp_path, {"shop": policy}, listed=False)
    with caplog.at_level(logging.WARNING), pytest.raises(WireError, match=f"site 'shop': .*{refusal}"):
        align(files, size=size)
    assert re.search(rf"refused request \d+, because: .*{refusal}", caplog.text)
    assert not any(read_site(path).aligned.exists() for path in files.values())


def test_alignments_are_counted_over_a_day(tmp_path: Path) -> None:
    files = write_sites(tmp_path, {"shop": "alignments = 1"}, listed=False)
    align(files, size=True)
    with pytest.raises(WireError, match="the policy refuses 2 alignments: alignments = 1"):
        align(files)
    diary = read_site(files["shop"]).out / "alignments.json"
    (entry,) = json.loads(diary.read_text())
    diary.write_text(json.dumps([{**entry, "time": entry["time"] - 24 * 3600}]))
    assert align(files)["aligned"] == 150
    diary.write_text("{")
    with pytest.raises(WireError, match=r"alignments.json of the site cannot be read"):
        align(files)


def test_a_list_of_agreed_ids_is_not_replaced(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    listed = files["shop"].read_text().replace('normalise = "text"', 'aligned = "aligned.txt"')
    files["shop"].write_text(listed)
    with pytest.raises(WireError, match="site 'shop': party 'shop' keeps to a list of agreed ids"):
        align(files)
    assert (tmp_path / "shop" / "aligned.txt").read_text().startswith("100\n")


def test_without_an_alignment_training_says_what_to_do(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    with pytest.raises(DataError, match=r"nothing is aligned yet. Run `colonnade federate align`"):
        active_site(files, passive_sites(files)).train("splitnn", dict(METHODS["splitnn"]))


def test_sites_of_different_alignments_do_not_train(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    align(files)
    shop = read_site(files["shop"]).aligned
    before = shop.read_bytes()
    align(files)
    shop.write_bytes(before)
    with pytest.raises(WireError, match="party 'shop' holds other agreed ids than 'bank'"):
        active_site(files, passive_sites(files)).train("splitnn", dict(METHODS["splitnn"]))


def test_rows_that_left_a_table_are_told_and_do_not_stand_in_the_way_of_aligning_again(tmp_path: Path) -> None:
    files = write_sites(tmp_path, listed=False)
    align(files)
    path = tmp_path / "shop" / "table.csv"
    frame = pd.read_csv(path, index_col="id")
    frame.drop(index=[100, 101]).to_csv(path)
    with pytest.raises(WireError, match="2 of the 150 agreed ids are no longer in the table"):
        active_site(files, passive_sites(files)).train("splitnn", dict(METHODS["splitnn"]))
    assert align(files)["aligned"] == 148


def test_a_party_that_has_nothing_in_common_changes_nothing(tmp_path: Path) -> None:
    tables = make_tables()
    tables["telco"].index = pd.Index([f"t{i}" for i in tables["telco"].index], name="id")
    files = write_sites(tmp_path, listed=False, tables=tables)
    with pytest.raises(DataError, match=r"150 with 'shop', 0 with 'telco'"):
        align(files)
    assert not any(read_site(path).aligned.exists() for path in files.values())


def seeking(frame: bytes | None) -> Message:
    tensors = {} if frame is None else {"frame": torch.frombuffer(bytearray(frame), dtype=torch.uint8)}
    return Message("seeking", "bank", "shop", "align", tensors)


def test_what_is_no_part_of_an_alignment_is_refused(tmp_path: Path) -> None:
    shop = passive_sites(write_sites(tmp_path, listed=False), RUN)["shop"]
    first = encode(Frame(Kind.ASK_SETUP, "text", "both", NO_SESSION, 0, 162))
    assert "came without its bytes" in ask(shop, 1, "align", seeking(None), RUN)
    assert "shorter than its header" in ask(shop, 2, "align", seeking(b"xx"), RUN)
    early = Message("alignment", "bank", "shop", "align", {}, {"alignment": "0" * 32, "rows": 3})
    assert "did not take place" in ask(shop, 3, "agree", early, RUN)
    assert ask(shop, 4, "align", seeking(first), RUN) == "answered"
    assert "has not been told" in ask(shop, 5, "agree", early, RUN)
    assert "expected REQUEST 0" in ask(shop, 6, "align", seeking(first), RUN)
    model = Message("model", "bank", "shop", "predict", {}, {"run": "0" * 32, "digest": ""})
    assert "asked in a run of alignment" in ask(shop, 7, "open", model, RUN)
    assert "refuses 'agree' with a 'seeking'" in ask(shop, 8, "agree", seeking(first), RUN)
    assert not read_site(tmp_path / "shop" / "site.toml").aligned.exists()


def test_a_file_that_is_damaged_or_of_another_version_is_told(tmp_path: Path) -> None:
    path = tmp_path / "alignment.parquet"
    assert read_agreed(path) is None
    write_agreed(path, Agreed("x", ["a", "b"], np.array([1]), {"shop": np.array([-1, 7])}, "email"))
    back = read_agreed(path)
    assert back is not None and (back.name, back.ids, back.normalise) == ("x", ["a", "b"], "email")
    assert back.order.tolist() == [1] and back.places["shop"].tolist() == [-1, 7]
    assert [p.name for p in tmp_path.iterdir()] == ["alignment.parquet"]
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match="cannot be read as an alignment"):
        read_agreed(path)
    pd.DataFrame({"id": ["a"]}).to_parquet(path)
    with pytest.raises(DataError, match="cannot be read as an alignment"):
        read_agreed(path)
