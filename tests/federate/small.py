"""A bank with labels, a shop and a telco, each with files of its own; and the same rows in one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import colonnade as cn
from colonnade.data.splits import split
from colonnade.federate.active_site import ActiveSite
from colonnade.federate.description import FederationFile, read_site
from colonnade.federate.offers import Offers
from colonnade.federate.passive_site import PassiveSite
from colonnade.federate.table import read_site_table
from colonnade.wire.engines.envelope import run_of
from colonnade.wire.engines.flare import Link

RUN = run_of("a test")
FEDERATION = FederationFile(name="small", active="bank", passive=("shop", "telco"))
NETWORK: dict[str, Any] = {"hidden": (12,), "width": 6, "epochs": 3, "batch_size": 32, "learning_rate": 0.01}
METHODS: dict[str, dict[str, Any]] = {
    "splitnn": NETWORK,
    "fedonce": {**NETWORK, "pretrain_epochs": 2, "pretrain_batch_size": 64},
    "fedhssl": {**NETWORK, "pretrain_epochs": 2, "pretrain_batch_size": 64, "projection": 8},
}


def make_tables(rows: int = 150, alone: int = 12, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables by party, index = id; `rows` of them are held by all, `alone` by one party each."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, 3))
    tables = {}
    for k, name in enumerate(("bank", "shop", "telco")):
        base = np.concatenate([hidden, rng.normal(size=(alone, 3))])
        x = base @ rng.normal(size=(3, 3 + k)) + 0.2 * rng.normal(size=(rows + alone, 3 + k))
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(3 + k)]).round(4)
        if name == "shop":
            frame["sort"] = np.where(base[:, 0] > 0, "a", "b")
        frame.index = pd.Index([*range(100, 100 + rows), *range(5000 + 100 * k, 5000 + 100 * k + alone)], name="id")
        tables[name] = frame.sample(frac=1.0, random_state=k)
    target = pd.Series(np.where(hidden.sum(axis=1) > 0, "yes", "no"), index=range(100, 100 + rows))
    tables["bank"]["churn"] = target.reindex(tables["bank"].index)
    return tables


def write_sites(
    folder: Path,
    policies: dict[str, str] | None = None,
    *,
    listed: bool = True,
    tables: dict[str, pd.DataFrame] | None = None,
    normalise: str = "text",
) -> dict[str, Path]:
    """A folder per party with its table, its site.toml and, if `listed`, the agreed ids."""
    sites = {}
    for name, frame in (tables or make_tables()).items():
        home = folder / name
        home.mkdir(parents=True)
        frame.to_csv(home / "table.csv")
        (home / "aligned.txt").write_text("\n".join(map(str, range(100, 250))))
        agreed = 'aligned = "aligned.txt"' if listed else f'normalise = "{normalise}"'
        label = '\nlabel = "churn"' if name == "bank" else ""
        policy = (policies or {}).get(name, "")
        (home / "site.toml").write_text(
            f'[site]\nparty = "{name}"\n{agreed}\n[table]\ndata = "table.csv"\nid = "id"{label}\n[policy]\n{policy}\n'
        )
        sites[name] = home / "site.toml"
    return sites


def passive_sites(files: dict[str, Path], run: bytes = RUN) -> dict[str, PassiveSite]:
    made = {}
    for name in FEDERATION.passive:
        site = read_site(files[name])
        table = read_site_table(site)
        made[name] = PassiveSite(name, "bank", table, site.policy, run, site.out, Offers(site, table, "bank", run))
    return made


def calls_of(passive: dict[str, PassiveSite]) -> dict[str, Callable[[bytes], bytes]]:
    """Functions in the place of FLARE's."""
    turn = threading.Lock()

    def call_of(there: PassiveSite) -> Callable[[bytes], bytes]:
        def call(request: bytes) -> bytes:
            with turn:  # sites have a process each: here they share torch's global generator
                return there.answer(request)

        return call

    return {name: call_of(site) for name, site in passive.items()}


def active_site(files: dict[str, Path], passive: dict[str, PassiveSite], run: bytes = RUN) -> ActiveSite:
    site = read_site(files["bank"])
    link = Link(calls_of(passive), run, ahead=False)
    return ActiveSite(FEDERATION, site, read_site_table(site, FEDERATION.passive), link)


def in_process(method: str, tables: dict[str, pd.DataFrame] | None = None, **options: Any) -> cn.Method:
    """The same rows, split in the same way, in one process."""
    tables = tables or make_tables()
    labels = tables["bank"].pop("churn").dropna()
    tables = {name: frame for name, frame in tables.items() if len(frame.columns)}
    parts = split(cn.VerticalData(tables, labels, "bank", label_only="bank" not in tables))
    return cn.METHODS[method](**options).fit(parts.train, parts.valid)
