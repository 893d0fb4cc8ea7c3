"""Whether the parts at the sites are the model that the same rows and options give in one process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from colonnade.data.splits import split
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError
from colonnade.methods._base.method import Method
from colonnade.methods.registry import method_named
from colonnade.sites.prediction.loading import put_together
from colonnade.sites.settings.description import SiteFile, read_site


@dataclass(frozen=True)
class Same:
    """What a comparison of two models found."""

    numbers: int  # weights
    apart: int  # of them differ
    rows: int  # predicted
    largest: float  # difference of two probabilities

    @property
    def holds(self) -> bool:
        """Whether the models are the same, bit by bit."""
        return not self.apart and not self.largest

    def __str__(self) -> str:
        if self.holds:
            return f"all {self.numbers:,} weights and all {self.rows} predictions are equal, bit by bit"
        return (
            f"{self.apart:,} of {self.numbers:,} weights differ, and {self.rows} predictions by up to {self.largest:g}"
        )


def fit_in_one_process(folder: Path) -> Method:
    """Train on the tables of both sites in this process, by what the active party's site file says."""
    bank = read_site(folder / "bank" / "site.toml")
    tables = _tables(folder)
    labels = tables["bank"].pop(str(bank.table["label"])).dropna()
    parts = split(VerticalData(tables, labels, "bank"), labels=bank.labels, seed=bank.seed)
    if bank.method is None:
        raise ConfigError(f"{folder / 'bank' / 'site.toml'} names no method. Add one under [method].")
    before = torch.get_num_threads()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))  # as a site's processes have
    try:
        return method_named(bank.method)(**bank.options).fit(parts.train, parts.valid)
    finally:
        torch.set_num_threads(before)


def _tables(folder: Path) -> dict[str, pd.DataFrame]:
    sites: dict[str, SiteFile] = {name: read_site(folder / name / "site.toml") for name in ("bank", "shop")}
    return {
        name: pd.read_csv(folder / name / str(site.table["data"]), index_col=str(site.table["id"]))
        for name, site in sites.items()
    }


def compare(folder: Path, run: str, predictions: Path, model: Method) -> Same:
    """Compare the parts of a run and the file of its predictions with a model that was trained in one process."""
    parts = put_together({name: folder / name / "out" for name in ("bank", "shop")}, run, active="bank")
    here, there = model.trained().state()[1], parts.trained().state()[1]
    pairs = [(values, there[party][name]) for party, state in here.items() for name, values in state.items()]
    written = pd.read_csv(predictions).set_index("customer")
    tables = _tables(folder)
    tables["bank"].pop("target")
    known = model.predict_proba({name: table.loc[written.index] for name, table in tables.items()})
    columns = [f"probability {name}" for name in model.classes_]
    return Same(
        numbers=sum(values.numel() for values, _ in pairs),
        apart=sum(int((a != b).sum()) for a, b in pairs),
        rows=len(written),
        largest=float(np.abs(written[columns].to_numpy() - known).max()),
    )
