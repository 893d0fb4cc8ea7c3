"""One cell: a method, a dataset, and a setting; and what running it gives."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import colonnade
from colonnade.data.arrange import biased
from colonnade.data.datasets import dataset
from colonnade.data.datasets.dataset import Dataset, joined
from colonnade.data.datasets.place import data_folder
from colonnade.data.splits import Split, split, transductive
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, DataError
from colonnade.methods.base import Method
from colonnade.methods.federated import FederatedMethod
from colonnade.methods.network import NetworkMethod
from colonnade.methods.private import privacy_of
from colonnade.methods.secureboost import SecureBoost
from colonnade.methods.store import method_named
from colonnade.methods.threads import Rule, limited

MAP_ROWS = 600  # test rows shown on the map of the joint representation


@dataclass(frozen=True)
class Cell:
    """What to run. `method` may carry options: "splitnn:join=mean"."""

    method: str
    data: str  # name of a dataset, or path of a TOML description
    labels: float | None = None
    aligned: float = 1.0
    seed: int = 0
    parties: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    with_map: bool = False
    protocol: str = "inductive"  # "transductive": the unlabelled training rows are the test rows
    active: str | None = None  # who holds the labels; the data's own active party by default
    rows: int | None = None  # at most so many
    bias: tuple[float, int] | None = None  # the host's share of so many dominant columns; see `arrange.biased`

    def build(self) -> Method:
        """The method, with its options checked."""
        name, own = parse_method(self.method)
        options = {**self._described(name), **self.options, **own}
        if "seed" in options:
            raise ConfigError("seed is not set as an option of the method. Use --seed, or --seeds of a comparison.")
        return method_named(name)(seed=self.seed, **options)

    def _described(self, name: str) -> dict[str, Any]:
        """Options that the TOML description gives to this method."""
        if not self.data.endswith(".toml"):
            return {}
        from colonnade.data.description import read_method

        described, options = read_method(Path(self.data))
        return options if described == name else {}

    def split(self) -> tuple[Split, str]:
        """The rows, and the metric they are scored by."""
        parts, metric = self._parts()
        return parts if self.bias is None else biased(parts, *self.bias, self.seed), metric

    def _parts(self) -> tuple[Split, str]:
        if self.data.endswith(".toml"):
            from colonnade.data.description import read_description

            given = {"parties": self.parties, "active": self.active, "rows": self.rows}
            wrong = " and ".join(f"--{name}" for name, value in given.items() if value is not None)
            if wrong:
                raise ConfigError(f"{self.data} says who the parties are. Leave {wrong} out.")
            description = read_description(Path(self.data))
            if self.protocol == "transductive":
                parts = self._transductive(description.data)
            else:
                parts = description.split(self.labels, self.aligned, self.seed)
            return parts, description.metric or ("rmse" if description.data.task == "regression" else "accuracy")
        if Path(self.data).suffix in (".csv", ".tsv", ".gz", ".parquet"):
            raise ConfigError(
                f"--data {self.data} is a table. Describe the parties' tables in a TOML file: see the README."
            )
        source = dataset(self.data)
        data, test = _arranged(source, self.parties, self.active, self.rows, str(data_folder()))
        if self.protocol == "transductive":
            return self._transductive(joined(data, test)), source.metric
        return split(data, labels=self.labels, aligned=self.aligned, seed=self.seed, test=test), source.metric

    def _transductive(self, data: VerticalData) -> Split:
        if self.labels is None or self.aligned != 1.0:
            raise ConfigError("The transductive protocol needs --labels, and all rows aligned. Give --labels alone.")
        return transductive(data, labels=self.labels, seed=self.seed)

    @property
    def key(self) -> str:
        """A file name that is the same for the same cell and differs for any other."""
        options = {k: str(v) for k, v in sorted(self.build().get_params().items())}
        content = [
            self.method,
            self.data,
            self.labels,
            self.aligned,
            self.seed,
            self.parties,
            _contents(self.data),
            self.protocol,
            options,
            colonnade.__version__,
            *self.arrangement().items(),
        ]
        digest = hashlib.blake2b(json.dumps(content).encode(), digest_size=5).hexdigest()
        method = "".join(c if c.isalnum() or c in "-=." else "_" for c in self.method)
        labels = "all" if self.labels is None else f"{self.labels:g}"
        return f"{method}-labels{labels}-aligned{self.aligned:g}-seed{self.seed}-{digest}"

    def arrangement(self) -> dict[str, Any]:
        """How the data are arranged otherwise than they come, if they are."""
        given = {"active": self.active, "rows": self.rows, "bias": self.bias}
        return {name: value for name, value in given.items() if value is not None}


@lru_cache(maxsize=2)
def _arranged(
    source: Dataset, parties: int | None, active: str | None, rows: int | None, root: str
) -> tuple[VerticalData, VerticalData | None]:
    """The rows of a data set; kept, as the cells of a comparison share them. `root` is where the files are."""
    return source.arranged(parties, active, rows)


def _contents(data: str) -> list[Any] | None:
    """What changes when own data change: the description, and size and time of the files beside it that it names."""
    if not data.endswith(".toml"):
        return None
    path = Path(data)
    parties = tomllib.loads(path.read_text(encoding="utf-8"))["parties"]
    files = [(path.parent / party["data"]).stat() for party in parties.values()]
    digest = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    return [digest, *((file.st_size, file.st_mtime_ns) for file in files)]


def parse_method(text: str) -> tuple[str, dict[str, Any]]:
    """`"splitnn:join=mean:width=32"` as a name and options."""
    from colonnade.methods.options import parse_settings

    name, colon, rest = text.partition(":")
    settings = re.split(r":(?=[^:]*=)", rest) if colon else []  # a colon within a value is the value's own
    return name.strip(), parse_settings(settings)


def run_cell(
    cell: Cell,
    progress: Callable[[str, int, int], None] | None = None,
    rows: tuple[Split, str] | None = None,
    rule: Rule | None = None,
    told: Callable[[str], None] | None = None,
) -> tuple[dict[str, Any], Method]:
    """Train and score one cell: its record, and the trained method.

    Args:
        cell: what to run.
        progress: called with phase, steps done and steps in all.
        rows: those of `cell.split()`, if known.
        rule: how many threads it takes; by default those of a run alone.
        told: called with a line for somebody who wants to know more.
    """
    model = cell.build()
    parts, metric = rows or cell.split()
    threads = (rule or Rule.here()).of(parts.train)
    if told is not None:
        told(f"threads: {threads.number} ({threads.why})")
    with limited(threads.number):
        return _run(cell, model, parts, metric, progress), model


def _run(
    cell: Cell, model: Method, parts: Split, metric: str, progress: Callable[[str, int, int], None] | None
) -> dict[str, Any]:
    """Train and score the method: the record."""
    started = time.perf_counter()
    model.fit(parts.train, parts.valid, metric=metric, progress=progress)
    seconds = time.perf_counter() - started
    found = {k: v for k, v in model.scores(parts.test.views, parts.test.labels).items() if math.isfinite(v)}
    if metric not in found:
        raise DataError(f"{metric} is not defined on the {len(parts.test.labels)} test rows. Name another metric.")
    record: dict[str, Any] = {
        "method": cell.method,
        "kind": model.kind,
        "data": cell.data,
        "task": parts.train.task,
        "metric": metric,
        "score": found[metric],
        "scores": found,
        "traffic": model.traffic_.to_json(),
        "seconds": seconds,
        "seed": cell.seed,
        "config": {
            **model.options_json(),
            "labels": cell.labels, "aligned": cell.aligned, "seed": cell.seed, "parties": list(parts.train.views),
            "active": parts.train.active, "protocol": cell.protocol, "rows": sizes(parts),
            **({"arrangement": {"parties": cell.parties, **cell.arrangement()}} if cell.arrangement() else {}),
        },
        "versions": versions(),
        "history": [{k: v for k, v in epoch.items() if _finite(v)} for epoch in model.history_],
    }  # fmt: skip
    if isinstance(model, FederatedMethod) and model.protections_:
        record["protections"] = model.protections_
    if isinstance(model, SecureBoost):
        record["gradients"] = model.gradients_
    if isinstance(model, NetworkMethod) and (privacy := privacy_of(model)) is not None:
        record["privacy"] = privacy
    if cell.with_map and isinstance(model, NetworkMethod):
        record["map"] = joint_map(model, parts, cell.seed)
    return record


def sizes(parts: Split) -> dict[str, int]:
    """How many rows of each sort the run had."""
    return {
        "train_aligned": len(parts.train.aligned),
        "train_labelled": len(parts.train.labels),
        "valid_labelled": 0 if parts.valid is None else len(parts.valid.labels),
        "test": len(parts.test.labels),
        **{f"train_{name}": len(view) for name, view in parts.train.views.items()},
    }


def joint_map(model: NetworkMethod, parts: Split, seed: int) -> dict[str, Any]:
    """Test rows in two dimensions (t-SNE of the joint representation), with their labels."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from sklearn.metrics import silhouette_score

    ids = np.random.default_rng(seed).permutation(parts.test.labels.ids)[:MAP_ROWS]
    rows = parts.test.only(np.sort(ids))
    h = model.transform(rows.views)
    h = PCA(min(30, *h.shape), random_state=seed).fit_transform(h)
    perplexity = min(30.0, max(2.0, (len(h) - 1) / 4))
    points = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(h)
    values, _ = rows.labels.of(next(iter(rows.views.values())).ids)
    found = {"points": np.round(points.astype(float), 2).tolist(), "labels": values.tolist()}
    if parts.test.task != "regression" and 1 < len(np.unique(values)) < len(values):
        found["silhouette"] = float(silhouette_score(h, values))  # of the representation, not of the map
    return found


def versions() -> dict[str, str]:
    """What the run was made with."""
    from importlib.metadata import version

    found = {name: version(name) for name in ("torch", "numpy", "scikit-learn")}
    return {
        "colonnade": colonnade.__version__,
        "python": platform.python_version(),
        **found,
        "machine": platform.machine(),
    }


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
