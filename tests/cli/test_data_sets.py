"""`colonnade data …` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from colonnade.cli import main

STOPPED_HALF_WAY = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a command in the background ignores
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LINES = b"".join(b"%d %d:0.5 68:1\\n" % (i % 2, 1 + i % 60) for i in range(20000))

class Slow(BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range")
        start = int(wanted[6:-1]) if wanted else 0
        print("asked", wanted, flush=True)
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(LINES) - 1}/{len(LINES)}")
        self.send_header("Content-Length", str(len(LINES) - start))
        self.end_headers()
        self.wfile.write(LINES[start:start + 100000])
        if not wanted:
            time.sleep(30)
        self.wfile.write(LINES[start + 100000:])
    def log_message(self, *_): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
from dataclasses import replace
import hashlib
from colonnade.data.datasets.download.origin import Remote
from colonnade.data.datasets.download.origins import ORIGINS
remote = Remote(name="phishing", urls=(f"http://127.0.0.1:{server.server_port}/phishing",),
                sha256=hashlib.sha256(LINES).hexdigest())
ORIGINS["phishing"] = replace(ORIGINS["phishing"], remotes=(remote,))
from colonnade.cli import main
main(["data", "get", "phishing"])
"""


@pytest.fixture
def colonnade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command with an empty data folder; its exit code, what it printed, and its errors."""
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("COLONNADE_DATA", str(tmp_path / "data"))

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["data", *arguments])
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return run


def test_path(colonnade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert colonnade("path") == (0, f"{tmp_path / 'data'}\n", "")
    monkeypatch.delenv("COLONNADE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert colonnade("path")[1] == "/somewhere/colonnade/data\n"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert colonnade("path")[1] == "/home/ada/.cache/colonnade/data\n"


def test_list(colonnade: Any, tmp_path: Path):
    code, out, _ = colonnade("list", "--json", str(tmp_path / "list.json"))
    lines = {line.split()[0]: line for line in out.splitlines() if line[:1].isalnum()}
    assert code == 0 and " get " in lines["mnist"] and "11.6 MB" in lines["mnist"] and "CC BY-SA 3.0" in lines["mnist"]
    assert "by hand" in lines["bhi"] and " yes " in lines["wine"] and f"The data folder is {tmp_path / 'data'}" in out
    saved = json.loads((tmp_path / "list.json").read_text())
    assert saved["folder"] == str(tmp_path / "data") and saved["datasets"][0]["name"] == "digits"


def test_get_names_what_failed_and_gets_the_rest(colonnade: Any):
    code, out, err = colonnade("get", "wine", "bhi", "avazu")
    assert code == 2 and "wine: comes with scikit-learn" in out
    assert "2 problems" in err and "dataset 'bhi' cannot be fetched" in err and "dataset 'avazu' cannot" in err
    code, _, err = colonnade("get", "phising")
    assert code == 2 and "Did you mean 'phishing'?" in err


def test_terms_are_shown_and_asked_for(colonnade: Any):
    code, out, err = colonnade("get", "movielens1m")
    assert code == 2 and "Terms: research use; no redistribution" in out and "get movielens1m --yes" in err


def test_ctrl_c_stops_and_the_same_command_continues(tmp_path: Path):
    environment = {**os.environ, "COLONNADE_DATA": str(tmp_path), "http_proxy": "", "HTTP_PROXY": ""}
    command = [sys.executable, "-c", STOPPED_HALF_WAY]
    part = tmp_path / "downloads" / "phishing" / "phishing.part"
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        end = time.monotonic() + 30
        while not (part.exists() and part.stat().st_size == 100_000) and time.monotonic() < end:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    assert run.returncode == 130 and "goes on from here with the same command" in err and "Traceback" not in err
    assert part.stat().st_size == 100_000 and not (tmp_path / "phishing").exists()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0 and "asked bytes=100000-" in again.stdout
    assert (tmp_path / "phishing" / "phishing.libsvm.gz").exists() and not part.exists()
