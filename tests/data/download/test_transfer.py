"""One file from a server on this machine: whole, in pieces, damaged, and from servers that fail."""

from __future__ import annotations

import hashlib
import socket
import time
from pathlib import Path

import pytest

from colonnade.data.datasets.download import network, transfer
from colonnade.data.datasets.download.network import reachable
from colonnade.data.datasets.download.origin import Remote
from colonnade.data.datasets.download.transfer import download
from colonnade.errors import DataError
from tests.data.download.conftest import Server

CONTENT = bytes(range(256)) * 1200  # several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def quiet(name: str, there: int, total: int | None) -> None:
    pass


def remote(*urls: str, sha256: str | None = SHA256) -> Remote:
    return Remote(name="file.bin", urls=urls, size=len(CONTENT), sha256=sha256)


@pytest.fixture
def given(server: Server) -> Server:
    server.files["/file"] = CONTENT
    return server


def test_a_file_arrives_whole_with_progress(given: Server, tmp_path: Path):
    seen: list[tuple[str, int, int | None]] = []
    path = download(remote(given.url("/file")), tmp_path / "new", lambda *at: seen.append(at))
    assert path == tmp_path / "new" / "file.bin" and path.read_bytes() == CONTENT
    assert seen[-1] == ("file.bin", len(CONTENT), len(CONTENT)) and len(seen) > 2
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]


def test_a_file_that_is_there_is_not_fetched_again(given: Server, tmp_path: Path):
    (tmp_path / "file.bin").write_bytes(CONTENT)
    download(remote(given.url("/file")), tmp_path, quiet)
    assert given.asked == []


def test_a_partial_file_is_continued(given: Server, tmp_path: Path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    path = download(remote(given.url("/file")), tmp_path, quiet)
    assert path.read_bytes() == CONTENT and given.asked == [("/file", "bytes=1000-")]


def test_a_server_without_ranges_starts_anew(given: Server, tmp_path: Path):
    given.ranges = False
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    assert download(remote(given.url("/file")), tmp_path, quiet).read_bytes() == CONTENT


def test_a_broken_connection_is_continued(given: Server, tmp_path: Path):
    given.truncated = 1
    assert download(remote(given.url("/file")), tmp_path, quiet).read_bytes() == CONTENT
    assert given.asked == [("/file", None), ("/file", f"bytes={len(CONTENT) // 2}-")]


def test_a_connection_that_keeps_breaking_keeps_what_arrived(given: Server, tmp_path: Path):
    given.truncated = 9
    with pytest.raises(DataError, match=r"broke off \([\d,]+ of 307,200 bytes arrived\)\. The same command continues"):
        download(remote(given.url("/file")), tmp_path, quiet)
    kept = (tmp_path / "file.bin.part").read_bytes()
    assert not (tmp_path / "file.bin").exists() and len(kept) > len(CONTENT) // 2 and CONTENT.startswith(kept)


def test_a_wrong_checksum_leaves_nothing(given: Server, tmp_path: Path):
    with pytest.raises(DataError, match=rf"checksum is wrong\. Expected sha256 0{{64}}, got {SHA256}\. .*was removed"):
        download(remote(given.url("/file"), sha256="0" * 64), tmp_path, quiet)
    assert list(tmp_path.iterdir()) == []


def test_the_beginning_of_another_file_is_thrown_away(given: Server, tmp_path: Path):
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    assert download(remote(given.url("/file")), tmp_path, quiet).read_bytes() == CONTENT
    assert given.asked == [("/file", "bytes=1000-"), ("/file", None)]


def test_a_partial_file_longer_than_the_source_is_thrown_away(given: Server, tmp_path: Path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
    assert download(remote(given.url("/file"), sha256=None), tmp_path, quiet).read_bytes() == CONTENT


def test_the_next_mirror_after_an_error_or_damage(given: Server, tmp_path: Path):
    given.files["/damaged"] = CONTENT[:-1] + b"x"
    urls = [given.url(path) for path in ("/absent", "/damaged", "/file")]
    assert download(remote(*urls), tmp_path, quiet).read_bytes() == CONTENT


def test_server_errors_are_tried_again_and_then_named(given: Server, tmp_path: Path):
    given.statuses["/file"] = [503, 500]
    assert download(remote(given.url("/file")), tmp_path / "a", quiet).read_bytes() == CONTENT
    given.statuses["/file"] = [503] * 9
    with pytest.raises(DataError, match=r"/file: the server answered 503 Service Unavailable"):
        download(remote(given.url("/file")), tmp_path / "b", quiet)
    with pytest.raises(DataError, match=r"/absent: the server answered 404 Not Found"):
        download(remote(given.url("/absent")), tmp_path / "b", quiet)


def test_redirects_are_followed_but_not_into_files(given: Server, tmp_path: Path):
    given.redirects = {"/moved": given.url("/file"), "/local": "ftp://127.0.0.1/etc/passwd"}
    assert download(remote(given.url("/moved")), tmp_path, quiet).read_bytes() == CONTENT
    with pytest.raises(DataError, match="not protected by https"):
        download(remote(given.url("/local")), tmp_path / "b", quiet)


def test_https_is_not_given_up(monkeypatch: pytest.MonkeyPatch):
    request = transfer.Request("https://example.org/file")
    follow = transfer._Redirects().redirect_request
    with pytest.raises(transfer.TransferError, match=r"redirects to http://example\.org/file"):
        follow(request, None, 302, "Found", {}, "http://example.org/file")  # type: ignore[arg-type]
    assert follow(request, None, 302, "Found", {}, "https://example.org/other") is not None  # type: ignore[arg-type]


def test_a_full_disk_says_so_and_keeps_the_beginning(given: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written: list[int] = []

    real = transfer._write

    def full(file: object, chunk: bytes, part: Path) -> None:
        if not written:
            written.append(len(chunk))
            return real(file, chunk, part)  # type: ignore[arg-type]
        with open("/dev/full", "wb", buffering=0) as disk:  # noqa: PTH123
            real(disk, chunk, part)

    monkeypatch.setattr(transfer, "_write", full)
    with pytest.raises(DataError, match=r"file\.bin\.part could not be written: No space left on device\. Make room"):
        download(remote(given.url("/file")), tmp_path, quiet)
    assert (tmp_path / "file.bin.part").stat().st_size == written[0] and not (tmp_path / "file.bin").exists()
    monkeypatch.undo()
    assert download(remote(given.url("/file")), tmp_path, quiet).read_bytes() == CONTENT


def test_no_network_is_said_in_time(monkeypatch: pytest.MonkeyPatch):
    def hang(*_: object, **__: object) -> None:
        time.sleep(2)
        raise OSError("no answer from the name server")

    monkeypatch.setattr(socket, "getaddrinfo", hang)  # a name server that does not answer
    start = time.monotonic()
    with pytest.raises(DataError, match=r"No connection within 0\.2 s to example\.org \(no answer\)\. Is this machine"):
        reachable(["https://example.org/a"], 0.2)
    assert time.monotonic() - start < 1 and network.WITHIN < 5


def test_the_first_server_that_answers_is_used(given: Server):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}/file"
    assert reachable([closed, given.url("/file"), given.url("/b")]) == [given.url("/file"), given.url("/b")]
    with pytest.raises(DataError, match=r"127\.0\.0\.1 \(.*refused\)"):
        reachable([closed])


def test_the_proxy_is_asked_for_not_the_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv("no_proxy", "")
    assert network._address("https://archive.example/file") == ("proxy.example", 3128)
    monkeypatch.delenv("HTTPS_PROXY")
    assert network._address("https://archive.example/file") == ("archive.example", 443)
