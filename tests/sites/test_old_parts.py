"""Parts of models that an earlier version left at the sites, under the names that runs had then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from colonnade.sites.prediction.loading import active_model, find_run, passive_party, put_together, read_part
from tests.sites.small import RUN, make_tables

KEPT = Path(__file__).parent / "old_parts"  # written by the version before a run named its skills
PARTIES = ("bank", "shop", "telco")
IDS = range(100, 108)


@pytest.mark.parametrize("method", ["splitnn", "fedonce-pca", "mmvfl"])
def test_old_parts_put_together_predict_as_they_did(method: str) -> None:
    folders = {name: KEPT / method / name for name in PARTIES}
    run = find_run(folders["bank"], "bank")
    assert run == RUN.hex()  # 32 digits, and no word
    tables = make_tables()
    tables["bank"].pop("churn")
    views = {name: table.loc[list(IDS)] for name, table in tables.items()}
    model = put_together(folders, run, "bank")
    expected = json.loads((KEPT / method / "predictions.json").read_text())
    assert np.allclose(model.predict_proba(views)[:, 1], expected, atol=1e-5)


@pytest.mark.parametrize("method", ["splitnn", "fedonce-pca", "mmvfl"])
def test_an_old_part_opens_at_its_own_site(method: str) -> None:
    parts = {name: read_part(KEPT / method / name, RUN.hex(), name) for name in PARTIES}
    widths = {name: passive_party(parts[name]).width for name in PARTIES[1:]}
    active = active_model(parts["bank"])
    assert active.name == method and active.federation_.active.widths.items() >= widths.items()
