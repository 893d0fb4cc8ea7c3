"""The file that a site remembers a run by: whole records, whatever happened to the process that wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from colonnade.errors import WireError
from colonnade.sites.recovery.journal import Journal
from colonnade.sites.recovery.replies import Replies

RECORDS = [b"", b"one", b"x" * 10_000, b"last"]


def filled(path: Path) -> Journal:
    journal = Journal(path)
    for record in RECORDS:
        journal.append(record[:2], record[2:])
    return journal


def test_records_come_back_in_order(tmp_path: Path) -> None:
    filled(tmp_path / "j").close()
    again = Journal(tmp_path / "j")
    assert list(again) == RECORDS
    again.append(b"more")
    assert [*again] == [*RECORDS, b"more"]


@pytest.mark.parametrize("cut", [1, 3, 4, 12, 15])
def test_a_record_that_was_cut_is_dropped_and_written_over(tmp_path: Path, cut: int) -> None:
    filled(tmp_path / "j").close()
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[:-cut])
    again = Journal(tmp_path / "j")
    assert list(again) == RECORDS[:-1]
    again.append(RECORDS[-1])
    again.close()
    assert (tmp_path / "j").read_bytes() == whole


def test_a_record_whose_bytes_changed_ends_the_journal(tmp_path: Path) -> None:
    filled(tmp_path / "j").close()
    whole = bytearray((tmp_path / "j").read_bytes())
    whole[-1] ^= 1
    (tmp_path / "j").write_bytes(bytes(whole))
    assert list(Journal(tmp_path / "j")) == RECORDS[:-1]


def test_one_process_has_it_at_a_time(tmp_path: Path) -> None:
    first = filled(tmp_path / "j")
    with pytest.raises(WireError, match="held by another process"):
        Journal(tmp_path / "j", patience=0.0)
    first.close()
    assert len(list(Journal(tmp_path / "j", patience=0.0))) == len(RECORDS)


def test_it_ends_with_one_record(tmp_path: Path) -> None:
    journal = filled(tmp_path / "j")
    journal.end_with(b"the end")
    assert list(journal) == [b"the end"]
    journal.close()
    assert list(Journal(tmp_path / "j")) == [b"the end"] and len(list(tmp_path.iterdir())) == 1


def test_replies_are_found_by_site_and_number_and_another_request_is_an_error(tmp_path: Path) -> None:
    replies = Replies(Journal(tmp_path / "j"))
    for name, number in (("shop", 1), ("telco", 1), ("telco", 2), ("shop", 2)):
        replies.keep(name, number, f"{name} {number}?".encode(), f"{name} {number}!".encode())
    replies.journal.close()
    again = Replies(Journal(tmp_path / "j"))
    assert again.count == 4 and again.last == {"shop": 2, "telco": 2}
    assert again.known("shop", 2) and not again.known("shop", 3) and not again.known("bank", 1)
    assert again.find("shop", 2, b"shop 2?") == b"shop 2!"
    assert again.find("shop", 1, b"shop 1?") == b"shop 1!"
    with pytest.raises(WireError, match="request 2 to 'telco' is another one than before"):
        again.find("telco", 2, b"telco 3?")
