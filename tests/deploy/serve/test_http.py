"""Who may ask, and how: tokens, sizes, addresses, and what the log says; the command as a user types it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import colonnade as cn
from colonnade.deploy.serve import Prediction, Settings, predictor_of, serve
from colonnade.deploy.serve.server import read_token
from tests.conftest import make_data
from tests.deploy.serve.parts import LOCAL, TOKEN, ask, client, table


@pytest.fixture(scope="module")
def guarded(model: cn.Method) -> TestClient:
    views = {"p0": table(9, 3, 0, 1, kind=False), "p1": table(9, 4, 0, 2, kind=True)}
    return client(predictor_of(model, views), token=TOKEN, max_ids=5, max_bytes=500)


@pytest.mark.parametrize("sent", [None, "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer ü"])
def test_a_wrong_token_gets_nothing(guarded: TestClient, sent: str | None) -> None:
    headers = {} if sent is None else {"authorization": sent.encode()}
    for answer in (
        guarded.post("/predict", json={"ids": ["n000"]}, headers=headers),  # type: ignore[arg-type]
        guarded.get("/metrics", headers=headers),  # type: ignore[arg-type]
    ):
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    assert guarded.get("/health").json() == {"status": "ok"}


def test_the_right_token_gets_an_answer(guarded: TestClient) -> None:
    assert len(ask(guarded, ["n000"], authorization=f"Bearer {TOKEN}")["probabilities"]) == 1


@pytest.mark.parametrize(
    ("content", "status", "text"),
    [
        (b'{"ids": ["a", "b", "c", "d", "e", "f"]}', 413, "6 ids were given, and at most 5"),
        (b'{"ids": ["' + b"a" * 600 + b'"]}', 413, "larger than 500 bytes"),
        (b'{"ids": ["a"', 422, "json_invalid"),
        (b'{"ids": "secret-id"}', 422, "list_type"),
        (b'{"ids": []}', 422, "too_short"),
        (b'{"ids": [1.5]}', 422, "int_type"),
        (b'{"ids": ["a"], "table": "secret-id"}', 422, "extra_forbidden"),
        (b"", 422, "missing"),
    ],
)
def test_malformed_and_oversized_requests(guarded: TestClient, content: bytes, status: int, text: str) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    answer = guarded.post("/predict", content=content, headers=headers)
    assert answer.status_code == status and text in answer.text and "secret-id" not in answer.text


def test_a_body_of_unknown_length_is_bounded(guarded: TestClient) -> None:
    def chunks() -> Any:
        for _ in range(100):
            yield b" " * 100

    answer = guarded.post("/predict", content=chunks(), headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 413


def test_openapi_describes_the_service(guarded: TestClient) -> None:
    schema = guarded.get("/openapi.json").json()
    assert set(schema["paths"]) == {"/predict", "/health", "/metrics"}
    assert "HTTPBearer" in schema["components"]["securitySchemes"]
    assert set(schema["components"]["schemas"]["Answer"]["required"]) == {
        "predictions", "probabilities", "classes", "unknown", "absent", "unreachable",
    }  # fmt: skip


def test_without_a_token_other_host_names_and_web_pages_are_refused(
    model: cn.Method, views: dict[str, pd.DataFrame]
) -> None:
    service = client(predictor_of(model, views))
    assert service.get("/health", headers={"host": "evil.example"}).status_code == 400
    plain = service.post("/predict", content=b'{"ids": ["n010"]}', headers={"content-type": "text/plain"})
    assert plain.status_code == 422  # what a page elsewhere can make a browser send


class Failing:
    method, task, classes = "failing", "binary", [0, 1]

    def predict(self, ids: Any) -> Prediction:
        raise ValueError(f"secret value of {ids}")

    def unreachable(self) -> tuple[str, ...]:
        return ()

    def statistics(self) -> dict[str, float]:
        return {}


def test_the_log_holds_no_ids_values_or_tokens(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(guarded, ["n003", "n004"], authorization=f"Bearer {TOKEN}")
        guarded.get("/predict?ids=n003", headers={"authorization": "Bearer n003"})
        failed = client(Failing()).post("/predict", json={"ids": ["n003"]})
    assert failed.status_code == 500 and "secret" not in failed.text
    ours = [r.getMessage() for r in caplog.records if r.name.startswith(("colonnade", "uvicorn"))]
    assert any(line.startswith("POST /predict 200 ids=2") for line in ours) and "failed: ValueError" in ours
    assert not any(word in line for line in ours for word in ("n003", "n004", TOKEN, "secret"))


def test_other_machines_are_let_in_only_with_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "bank.example"):
        with pytest.raises(cn.ConfigError, match=rf"host '{host}' can be reached from other machines, .*--token-file"):
            Settings(host=host)
        assert Settings(host=host, token=TOKEN).host == host
    assert Settings().host == "127.0.0.1" and Settings(host="::1").token is None
    assert TOKEN not in repr(Settings(token=TOKEN))


def test_tokens_come_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert read_token(file, {}) == TOKEN
    assert read_token(None, {"COLONNADE_TOKEN": TOKEN}) == TOKEN
    assert read_token(None, {}) is None and read_token(None, {"COLONNADE_TOKEN": ""}) is None
    file.write_text(" \n")
    with pytest.raises(cn.ConfigError, match="is empty"):
        read_token(file, {})
    with pytest.raises(cn.ConfigError, match="the token has 5 characters"):
        Settings(token="short")
    with pytest.raises(cn.ConfigError, match="certificate and key belong together"):
        Settings(certificate=file)


def test_the_command_serves_until_it_is_stopped(model: cn.Method, tmp_path: Path) -> None:
    views = make_data().views
    for name, view in views.items():
        frame = pd.DataFrame(view.x, columns=view.columns)
        for q, field in enumerate(view.fields):
            frame[field] = [view.vocabularies[q][c] if c >= 0 else None for c in view.codes[:, q]]
        frame.insert(0, "id", view.ids)
        if name == "p0":
            frame["y"] = np.arange(len(frame)) % 3
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "own.toml").write_text(
        '[parties.p0]\ndata = "p0.csv"\nid = "id"\nlabel = "y"\n[parties.p1]\ndata = "p1.csv"\nid = "id"\n'
    )
    model.save(tmp_path / "run" / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "colonnade", "serve", "run", "--data", "own.toml", "--port", str(port)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLONNADE_TOKEN": TOKEN}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        said = _when_up(process, f"{LOCAL}:{port}/predict", {"ids": ["id00003"]})
        wanted = model.predict_proba({name: view.take(np.array([3])) for name, view in views.items()})
        np.testing.assert_allclose(said["probabilities"], wanted, atol=1e-5)
    finally:
        process.terminate()
        process.wait(20)
    shown = (tmp_path / "log").read_text()
    assert f"Serving splitnn at {LOCAL}:{port}" in shown and TOKEN not in shown and "id00003" not in shown


def _when_up(process: subprocess.Popen[bytes], url: str, body: dict[str, Any]) -> dict[str, Any]:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            answer = httpx.post(url, json=body, headers={"authorization": f"Bearer {TOKEN}"}, timeout=20)
            return dict(answer.raise_for_status().json())
        except httpx.ConnectError:
            time.sleep(0.2)
    raise AssertionError("the service did not come up")


def test_an_address_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(cn.ConfigError, match=rf"serve: 127.0.0.1:{port} cannot be used .*Choose another port"):
            serve(Failing(), Settings(port=port))
