"""Processes of a run are killed at random moments, and the model is the one of a run that nothing disturbed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.sites.crashing import Crashing
from tests.sites.small import METHODS, RUN, write_sites

LONGER: dict[str, dict[str, Any]] = {
    "splitnn": {**METHODS["splitnn"], "epochs": 20, "patience": 20},
    "fedonce": {**METHODS["fedonce"], "pretrain_epochs": 60},
    "fedhssl": {**METHODS["fedhssl"], "pretrain_epochs": 6, "secure_aggregation": True},
}


@pytest.mark.parametrize("method", LONGER)
def test_killed_processes_resume_and_end_with_the_same_model(tmp_path: Path, method: str) -> None:
    calm = Crashing(write_sites(tmp_path / "calm"), method, LONGER[method])
    started = time.monotonic()
    calm.run(0, 1.0, 0)
    wild = Crashing(write_sites(tmp_path / "wild"), method, LONGER[method])
    wild.run(10, (time.monotonic() - started) / 8, seed=len(method))
    assert len(wild.kills) >= 3, "the run was over before it could be disturbed"
    assert len(calm.parts()) == 3 and wild.parts() == calm.parts()
    before, after = (json.loads(run.record.read_text()) for run in (calm, wild))
    assert after["traffic"] == before["traffic"] and after["score"] == before["score"]
    assert before["resumed"] == 0
    left = sorted(p.name for f in wild.files.values() for p in (f.parent / "out").iterdir())
    assert not [name for name in left if "course" in name or "secret" in name or name.startswith(".")]
    assert (wild.files["shop"].parent / "out" / f"{RUN.hex()}-shop-journal").stat().st_size < 100


def test_a_run_goes_on_without_a_site_that_is_lost(tmp_path: Path) -> None:
    run = Crashing(write_sites(tmp_path), "splitnn", LONGER["splitnn"])
    with pytest.raises(AssertionError, match="no end"):
        run.run(0, 1.0, 0, patience=0.0)  # nothing is started
    for name in ("shop", "telco", "bank"):
        run.start(name)
    journal = tmp_path / "bank" / "out" / f"{RUN.hex()}-bank-journal"
    until = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 100_000):
        assert time.monotonic() < until
        if not run.processes["bank"].is_alive():
            run.start("bank")  # it was there before the others
        time.sleep(0.01)
    run.kill("telco")
    run.processes["bank"].join(30)
    run.absent = ("telco",)
    run.run(0, 1.0, 0)
    record = json.loads(run.record.read_text())
    assert record["absent"] == ["telco"] and record["resumed"] > 0
    assert sorted(run.parts()) == [f"{RUN.hex()}-{name}.safetensors" for name in ("bank", "shop")]
