"""Tables and a client for the tests of the service."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from fastapi.testclient import TestClient

from colonnade.deploy.serve.app import create_app

TOKEN = "a-token-of-sixteen-or-more"
LOCAL = "http://127.0.0.1"


def table(rows: int, columns: int, start: int, seed: int, *, kind: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ids = pd.Index([f"n{i:03d}" for i in range(start, start + rows)])
    frame = pd.DataFrame(rng.normal(size=(rows, columns)), index=ids, columns=[f"x{i}" for i in range(columns)])
    if kind:
        frame["kind"] = rng.choice(["a", "b", "new"], rows)
    return frame


def client(predictor: Any, **options: Any) -> TestClient:
    return TestClient(create_app(predictor, **options), base_url=LOCAL)


def ask(service: TestClient, ids: list[Any], **headers: str) -> dict[str, Any]:
    answer = service.post("/predict", json={"ids": ids}, headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
