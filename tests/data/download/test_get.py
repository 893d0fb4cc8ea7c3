"""A data set from a source on this machine into the data folder, and all that can go wrong on the way."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colonnade.data.datasets import DATASETS
from colonnade.data.datasets.download import get, inventory, origin_of
from colonnade.data.datasets.download.digest import rows_digest
from colonnade.data.datasets.download.origin import ByHand, Origin, Remote
from colonnade.data.datasets.download.origins import ORIGINS
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View
from colonnade.errors import ConfigError, DataError
from tests.data.download.conftest import Server

LINES = b"".join(b"%d %d:0.5 68:1\n" % (i % 2, 1 + i % 60) for i in range(50))
PHISHING = DATASETS["phishing"]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """The digest of the rows of LINES, read from a file of our own."""
    (tmp_path / "own.gz").write_bytes(gzip.compress(LINES))
    return rows_digest(PHISHING.read(4, tmp_path / "own.gz"))


@pytest.fixture
def source(server: Server, root: Path, rows: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Server]:
    """The origin of phishing is a server on this machine; arguments change the origin or its remote."""
    server.files["/phishing"] = LINES
    known = ORIGINS["phishing"]
    assert isinstance(known, Origin)

    def change(sha256: str | None = None, **changes: Any) -> Server:
        remote = Remote(name="phishing", urls=(server.url("/phishing"),), size=len(LINES), sha256=sha256)
        monkeypatch.setitem(ORIGINS, "phishing", replace(known, **{"remotes": (remote,), "rows": rows} | changes))
        return server

    change()
    return change


def said(name: str = "phishing", **options: Any) -> str:
    lines: list[str] = []
    get(DATASETS[name], say=lines.append, **options)
    return "\n".join(lines)


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def test_licence_first_then_the_files_and_a_loader_that_reads_them(source: Any, root: Path):
    text = said()
    assert text.startswith("phishing: UCI 327") and text.split("\n")[1] == "Terms: CC BY 4.0"
    assert "checked, these are the rows behind the published results" in text
    assert files(root) == {"phishing/phishing.libsvm.gz", "downloads.json"} and PHISHING.available()
    assert len(PHISHING.load().labels) == 50
    assert not (root / "downloads" / "phishing").exists()


def test_an_unknown_checksum_is_recorded_and_said(source: Any, root: Path):
    text = said()
    sha256 = hashlib.sha256(LINES).hexdigest()
    assert f"phishing: no checksum of the source is known. Recorded sha256 {sha256} in downloads.json." in text
    (entry,) = json.loads((root / "downloads.json").read_text()).values()
    assert entry["sha256"] == sha256 and entry["bytes"] == len(LINES) and "by its rows" in entry["checked"]
    (root / PHISHING.files[0]).unlink()
    source().files["/phishing"] = LINES + b"\n"  # the same rows in other bytes
    assert f"differs from the last download, which had sha256 {sha256}" in said()


def test_what_is_here_is_not_fetched(source: Any, root: Path):
    said()
    asked = len(source().asked)
    assert said() == f"phishing: already here, in {root}" and len(source().asked) == asked
    assert said("wine") == "wine: comes with scikit-learn, there is nothing to get."


def test_other_rows_are_refused_where_nothing_else_vouches_for_them(source: Any, root: Path):
    source().files["/phishing"] = LINES.replace(b"0.5", b"0.6")
    with pytest.raises(DataError, match=r"not those behind the published results.* it was removed\. Try again; if it"):
        said()
    assert files(root) == {"downloads.json"}


def test_other_rows_with_the_known_checksum_are_kept_and_said(source: Any, root: Path):
    changed = LINES.replace(b"0.5", b"0.6")
    source(hashlib.sha256(changed).hexdigest()).files["/phishing"] = changed
    assert "have the known checksums. The rows differ from those behind the published results" in said()
    assert PHISHING.available()


def test_a_wrong_checksum_puts_nothing_in_place(source: Any, root: Path):
    server = source("0" * 64)
    with pytest.raises(DataError) as caught:
        said()
    text = str(caught.value)
    assert "'phishing' could not be fetched" in text and "checksum is wrong" in text
    assert f"Or fetch {server.url('/phishing')} elsewhere, put it here and run the same command: {root}" in text
    assert files(root) == set()


def test_a_file_put_there_by_hand_needs_no_network(source: Any, root: Path):
    source(hashlib.sha256(LINES).hexdigest()).statuses["/phishing"] = [500] * 9
    (root / "downloads" / "phishing").mkdir(parents=True)
    (root / "downloads" / "phishing" / "phishing").write_bytes(LINES)
    said()
    assert PHISHING.available() and source().asked == []


def test_no_network_is_said_with_the_way_out(source: Any, root: Path, monkeypatch: pytest.MonkeyPatch):
    remote = Remote(name="phishing", urls=("http://127.0.0.1:1/phishing",))
    source(remotes=(remote,))
    with pytest.raises(DataError, match=r"(?s)No connection within 4 s to 127\.0\.0\.1 .*offline.*put it here and run"):
        said()


def test_terms_must_be_accepted_where_they_demand_it(source: Any, root: Path):
    server = source(accept=True)
    with pytest.raises(ConfigError, match=r"under these terms only: CC BY 4\.0\. .*colonnade data get phishing --yes"):
        said()
    assert server.asked == [] and not root.exists()
    said(accept=True)
    assert PHISHING.available()


def test_too_little_room_is_said_before_the_download(source: Any, root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))  # type: ignore[attr-defined]
    with pytest.raises(
        DataError, match=r"'phishing' needs about 0 MB of room, but .* has 0 MB free\. Make room, or set"
    ):
        said()
    assert source().asked == []


def test_a_disk_that_fills_while_converting_keeps_the_download(source: Any, root: Path):
    def full(*_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    server = source(make=full)
    with pytest.raises(DataError, match=r"could not be written: No space left on device\. .*download is kept"):
        said()
    assert files(root) == {"downloads/phishing/phishing", "downloads.json"}
    source()
    said()
    assert PHISHING.available() and len(server.asked) == 1


def test_files_of_another_format_are_said(source: Any, root: Path):
    source().files["/phishing"] = b"<html>moved</html>"
    with pytest.raises(DataError, match=r"could not be converted \(ValueError: .*Try again; if it repeats, the source"):
        said()
    assert files(root) == {"downloads.json"}


def test_ctrl_c_while_converting_leaves_no_file_in_place(source: Any, root: Path):
    def stop(downloads: Path, made: Path) -> None:
        (made / "half").write_bytes(b"half")
        raise KeyboardInterrupt

    source(make=stop)
    with pytest.raises(KeyboardInterrupt):
        said()
    assert files(root) == {"downloads/phishing/phishing", "downloads.json"}


@pytest.mark.parametrize("name", [n for n, d in DATASETS.items() if isinstance(origin_of(d), ByHand)])
def test_what_cannot_be_fetched_says_why_and_where(name: str, root: Path):
    with pytest.raises(DataError, match=rf"dataset '{name}' cannot be fetched by a program\. .+\n.+\nPut it here:\n"):
        said(name)
    assert not root.exists()


def test_every_data_set_has_an_origin_that_is_checked():
    for name, data in DATASETS.items():
        origin = origin_of(data)
        assert (origin is None) == (not data.files), name
        if isinstance(origin, Origin):
            assert origin.rows or all(remote.sha256 for remote in origin.remotes), name
            assert all(url.startswith("https://") or remote.sha256 for remote in origin.remotes for url in remote.urls)
            assert len({remote.name for remote in origin.remotes}) == len(origin.remotes)


@pytest.mark.parametrize("name", ["mfeat", "landuse21", "superconduct", "credit_default", "adult", "covtype20k"])
def test_the_digest_is_that_of_the_rows_that_are_here(name: str):
    data, origin = DATASETS[name], origin_of(DATASETS[name])
    if not data.available():
        pytest.skip(f"needs {name}")
    assert isinstance(origin, Origin) and rows_digest(data.load(), ordered=origin.ordered) == origin.rows


def test_a_digest_sees_every_change():
    def made(x: Any, y: Any, names: tuple[str, ...] = ("a", "b")) -> VerticalData:
        x = np.asarray(x, dtype=np.float32)
        empty = np.zeros((len(x), 0), dtype=np.int32)
        return VerticalData({"one": View(np.arange(len(x)), x, names, empty, (), ())}, np.asarray(y))

    base = rows_digest(made([[1, 2], [3, 4]], [0, 1]))
    others = [
        made([[1, 2], [3, 5]], [0, 1]),
        made([[1, 2], [3, 4]], [1, 0]),
        made([[1, 2], [3, 4]], [0, 1], ("a", "c")),
    ]
    swapped = made([[3, 4], [1, 2]], [1, 0])
    assert len({base, *map(rows_digest, others), rows_digest(swapped)}) == 5
    assert rows_digest(swapped, ordered=False) == rows_digest(made([[1, 2], [3, 4]], [0, 1]), ordered=False)
    assert rows_digest(swapped, ordered=False) != rows_digest(made([[3, 4], [1, 2]], [0, 1]), ordered=False)


def test_the_inventory_says_what_is_here(source: Any, root: Path):
    before = {entry.name: entry for entry in inventory()}
    assert list(before) == list(DATASETS)
    assert (before["wine"].here, before["wine"].how) == (True, "bundled")
    assert (before["phishing"].here, before["phishing"].size) == (False, len(LINES))
    assert (before["bhi"].how, before["bhi"].size) == ("by hand", None)
    assert before["cifar10"].size == 170_052_171 and before["cifar10-halves"].how == "download"
    said()
    after = {entry.name: entry for entry in inventory()}["phishing"]
    assert after.here and after.size == (root / PHISHING.files[0]).stat().st_size
