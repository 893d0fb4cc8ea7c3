"""The demo's check sees whether the sites' model is the one of one process."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from colonnade.cli.demo.check import compare, fit_in_one_process
from colonnade.cli.demo.files import BANK, write_files
from colonnade.engines.remote import Link
from colonnade.sites.alignment.aligning import align_sites
from colonnade.sites.prediction.loading import put_together
from colonnade.sites.settings.description import read_federation, read_site
from colonnade.sites.settings.table import read_site_table
from colonnade.sites.training.active_site import ActiveSite
from colonnade.sites.training.offers import Offers
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.envelope import run_of

pytest.importorskip("private_set_intersection")


def link_to_shop(folder: Path, name: str) -> Link:
    """A function in the place of FLARE's job."""
    site, run = read_site(folder / "shop" / "site.toml"), run_of(name)
    table = read_site_table(site)
    offers = Offers(site, table, "bank", run)
    there = PassiveSite("shop", "bank", table, site.policy, run, site.out, offers)
    return Link({"shop": there.answer}, run, ahead=False)


def train_at_sites(folder: Path) -> str:
    """Align and train as the demo does, with few epochs, and write predictions; the run."""
    write_files(folder)
    (folder / "bank" / "site.toml").write_text(BANK.replace("epochs = 30", "epochs = 2"))
    bank, federation = read_site(folder / "bank" / "site.toml"), read_federation(folder / "federation.toml")
    align_sites(bank, federation, read_site_table(bank, ["shop"]), link_to_shop(folder, "align"))
    assert bank.method is not None
    site = ActiveSite(federation, bank, read_site_table(bank, ["shop"]), link_to_shop(folder, "train"))
    run = str(site.train(bank.method, bank.options)["run"])
    model = put_together({name: folder / name / "out" for name in ("bank", "shop")}, run, "bank")
    tables = {name: pd.read_csv(folder / name / f"{name}.csv", index_col="customer") for name in ("bank", "shop")}
    ids = tables["bank"].index.intersection(tables["shop"].index)[:20]
    tables["bank"].pop("target")
    found = model.predict_proba({name: table.loc[ids] for name, table in tables.items()})
    columns = [f"probability {name}" for name in model.classes_]
    pd.DataFrame(found, index=ids, columns=columns).to_csv(folder / "predictions.csv")
    return run


def test_the_same_model_is_seen_and_another_one_too(tmp_path: Path) -> None:
    run, model = train_at_sites(tmp_path), fit_in_one_process(tmp_path)
    same = compare(tmp_path, run, tmp_path / "predictions.csv", model)
    assert same.holds and same.numbers > 1000 and same.rows == 20
    assert str(same) == f"all {same.numbers:,} weights and all 20 predictions are equal, bit by bit"
    path = tmp_path / "shop" / "out" / f"{run}-shop.safetensors"
    weights = load_file(path)
    next(iter(weights.values())).view(-1)[0] += 1e-3
    save_file(weights, path)
    other = compare(tmp_path, run, tmp_path / "predictions.csv", model)
    assert not other.holds and other.apart == 1 and f"1 of {other.numbers:,} weights differ" in str(other)


def test_other_predictions_are_seen(tmp_path: Path) -> None:
    run, model = train_at_sites(tmp_path), fit_in_one_process(tmp_path)
    written = pd.read_csv(tmp_path / "predictions.csv")
    written.iloc[0, 1] += 0.25
    written.to_csv(tmp_path / "predictions.csv", index=False)
    other = compare(tmp_path, run, tmp_path / "predictions.csv", model)
    assert not other.apart and other.largest == pytest.approx(0.25) and not other.holds
