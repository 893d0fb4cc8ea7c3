"""Runs that the advisor learns from and is judged by: any comparison of default methods, as files.

Files are what `compare --json` wrote, folders of such files, or lists of runs with data, method, labels, aligned, seed,
metric, score, bytes and seconds, as in `results/cross-party.json`.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from colonnade.data.datasets import DATASETS
from colonnade.errors import ColonnadeError
from colonnade.lab.advisor.probes import Probe
from colonnade.lab.advisor.record import Entry, Known
from colonnade.lab.advisor.setting import setting_of
from colonnade.lab.advisor.traits import TRAITS
from colonnade.lab.report.text import labels_text, percent_text
from colonnade.lab.run.cell import Cell, parse_method
from colonnade.methods.registry import METHODS

FREE = ("seed", "device", "precision", "encrypt")  # options that leave the score as it is
SAME_SCORE = {"secureboost:encrypt=false": "secureboost"}  # the same trees; bytes and seconds are others


@dataclass(frozen=True)
class Place:
    """A setting of a comparison."""

    data: str
    labels: float | None
    aligned: float
    parties: int | None = None
    active: str | None = None
    rows: int | None = None

    @property
    def name(self) -> str:
        more = [] if self.parties is None else [f"{self.parties} parties"]
        more += [] if self.active is None else [f"{self.active} active"]
        more += [] if self.rows is None else [f"{self.rows:,} rows"]
        share = "all" if self.aligned == 1 else percent_text(self.aligned)
        return f"{self.data} ({', '.join([f'{labels_text(self.labels)} labels, {share} aligned', *more])})"

    def cell(self, seed: int = 0) -> Cell:
        return Cell("", self.data, self.labels, self.aligned, seed, self.parties, active=self.active, rows=self.rows)


@dataclass(frozen=True)
class Run:
    """One run of a method with its default options."""

    place: Place
    method: str
    seed: int
    score: float
    bytes: int | None
    seconds: float | None

    def flat(self) -> dict[str, Any]:
        """As a file of runs has it."""
        place = {name: value for name, value in asdict(self.place).items() if value is not None}
        place.setdefault("labels", None)
        own = {"seed": self.seed, "score": round(self.score, 5), "bytes": self.bytes}
        return {**place, "method": self.method, **own, "seconds": self.seconds and round(self.seconds, 2)}


def read_runs(paths: Iterable[Path]) -> tuple[list[Run], Counter[str]]:
    """All runs that can be used, each once; and why others were left out, with their number."""
    found: dict[tuple[Place, str, int], Run] = {}
    left_out: Counter[str] = Counter()
    for record in _records(paths):
        run = _run(record)
        if isinstance(run, str):
            left_out[run] += 1
        else:
            found[run.place, run.method, run.seed] = run
    return list(found.values()), left_out


def _records(paths: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    for path in paths:
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        for file in files:
            content = json.loads(file.read_text())
            runs = content.get("runs", [content]) if isinstance(content, dict) else content
            yield from (one for one in runs if isinstance(one, dict) and "score" in one and "method" in one)


def _run(record: Mapping[str, Any]) -> Run | str:
    """The run of a record, or why it is of no use."""
    method = SAME_SCORE.get(record["method"], record["method"])
    name, options = parse_method(method)
    if name not in TRAITS:
        return "a reference, or unknown"
    if options or set(record.get("options", {})) - set(FREE):
        return "options other than the defaults"
    if record["data"] not in DATASETS:
        return "own data"
    config = record.get("config", record)
    if config.get("protocol", "inductive") != "inductive":
        return "the transductive protocol"
    defaults = METHODS[name]().options_json()
    if any(config.get(key, value) != value for key, value in defaults.items() if key not in FREE):
        return "options other than the defaults"
    if config.get("arrangement", {}).get("bias") is not None:
        return "a biased division"
    if record.get("metric", DATASETS[record["data"]].metric) != DATASETS[record["data"]].metric:
        return "another metric"
    sent = record["traffic"]["bytes"] if "traffic" in record else record.get("bytes")
    same = method == record["method"]
    device = record.get("options", config).get("device", "cpu")
    seconds = record.get("seconds") if same and device == "cpu" else None
    return Run(_place(record, config), name, record["seed"], record["score"], sent if same else None, seconds)


def _place(record: Mapping[str, Any], config: Mapping[str, Any]) -> Place:
    arranged = record
    if "traffic" in record:  # a whole record, which says how the rows were arranged if they were
        arranged = config.get("arrangement") or {"parties": len(config["parties"])}
    labels, parties = config.get("labels"), arranged.get("parties")
    return Place(
        record["data"],
        None if labels == 1.0 else labels,
        config.get("aligned", 1.0),
        None if parties == DATASETS[record["data"]].default_parties else parties,
        arranged.get("active"),
        arranged.get("rows"),
    )


def scores(runs: Iterable[Run]) -> dict[Place, dict[str, dict[int, Run]]]:
    """Runs by place, method and seed."""
    found: dict[Place, dict[str, dict[int, Run]]] = {}
    for run in runs:
        found.setdefault(run.place, {}).setdefault(run.method, {})[run.seed] = run
    return found


def entries(runs: Iterable[Run], probes: Mapping[str, Mapping[str, Probe]]) -> tuple[list[Entry], dict[str, str]]:
    """One entry for each place whose data are at hand, with the probes that are known; and why others are missing."""
    found, missing = [], {}
    for place, methods in scores(runs).items():
        try:
            parts, metric = place.cell().split()
        except ColonnadeError as error:
            missing[place.name] = str(error).partition("\n")[0]
            continue
        known = {method: _known(list(by_seed.values())) for method, by_seed in methods.items()}
        setting = setting_of(parts.train, metric)
        found.append(Entry(place.name, place.data, setting, known, probes.get(place.name, {})))
    return found, missing


def _known(runs: list[Run]) -> Known:
    values = [run.score for run in runs]
    sent = [run.bytes for run in runs if run.bytes is not None]
    seconds = [run.seconds for run in runs if run.seconds is not None]
    return Known(
        statistics.fmean(values),
        len(values),
        statistics.stdev(values) if len(values) > 1 else None,
        round(statistics.fmean(sent)) if sent else None,
        statistics.fmean(seconds) if seconds else None,
    )
