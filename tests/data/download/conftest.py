"""A server on this machine that gives recorded answers, and misbehaves when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer

import pytest

from colonnade.data.datasets.download import transfer


class Server(ThreadingHTTPServer):
    """Serves `files`; `truncated` answers end early; `statuses` are given first, one per request of that path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.statuses: dict[str, list[int]] = {}
        self.truncated = 0  # answers that send half of their bytes and close
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []  # path, Range

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's would look the machine's name up
        self.server_name, self.server_port = self.server_address[:2]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append((self.path, wanted))
        if server.statuses.get(self.path):
            return self.send_error(server.statuses[self.path].pop(0))
        if self.path in server.redirects:
            self.send_response(302)
            self.send_header("Location", server.redirects[self.path])
            return self.end_headers()
        if self.path not in server.files:
            return self.send_error(404)
        self._answer(server.files[self.path], wanted if server.ranges else None)

    def _answer(self, content: bytes, wanted: str | None) -> None:
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        if wanted and start >= len(content):
            return self.send_error(416)
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        rest = content[start:]
        if self.server.truncated:
            self.server.truncated -= 1
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(transfer, "_PAUSE", 0.01)
    with Server() as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("COLONNADE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"
