"""The record that comes with the package: what methods gave in known settings, and what probes gave there.

It is made from comparisons by `python -m benchmarks.advise record`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from colonnade.lab.advisor.mixed import Seen
from colonnade.lab.advisor.probes import Probe
from colonnade.lab.advisor.setting import Setting

FILE = "record.json"


@dataclass(frozen=True)
class Known:
    """What is known of one method in one setting; bytes and seconds of runs that cost what a run costs."""

    score: float  # on test rows, mean over runs
    runs: int
    std: float | None = None
    bytes: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Entry:
    """One setting of the record."""

    name: str  # data, labels and overlap in words
    data: str
    setting: Setting
    methods: Mapping[str, Known]
    probes: Mapping[str, Probe] = field(default_factory=dict)

    def seen(self) -> list[Seen]:
        """Its scores, for the model."""
        about = self.data, self.name, tuple(self.setting.features())
        runs = [
            Seen(*about, method, False, self.setting.root_error(known.score), float(known.runs))
            for method, known in self.methods.items()
        ]
        return runs + seen_probes(*about, self.setting, self.probes)


def seen_probes(
    data: str, name: str, features: tuple[float, ...], setting: Setting, probes: Mapping[str, Probe]
) -> list[Seen]:
    """Probes, for the model."""
    return [
        Seen(data, name, features, method, True, setting.root_error(probe.score), probe.seeds * probe.rows / 100)
        for method, probe in probes.items()
    ]


@dataclass(frozen=True)
class Record:
    """Entries, and what was learnt from them."""

    entries: tuple[Entry, ...]
    variances: Mapping[str, float]  # of the parts of `mixed.PARTS`
    gap: Mapping[str, float]  # of `appraise`: how full training differs from one round

    def seen(self) -> list[Seen]:
        """All scores, for the model."""
        return [one for entry in self.entries for one in entry.seen()]

    def methods(self) -> dict[str, set[str]]:
        """Each method with the data it was run on."""
        found: dict[str, set[str]] = {}
        for entry in self.entries:
            for method in entry.methods:
                found.setdefault(method, set()).add(entry.data)
        return found

    def costs(self, method: str, what: str) -> list[tuple[Setting, float]]:
        """Bytes or seconds of a method's runs, with their settings."""
        every = [(entry.setting, getattr(entry.methods[method], what)) for entry in self._with(method)]
        return [(setting, float(cost)) for setting, cost in every if cost is not None]

    def probe_seconds(self, method: str) -> list[tuple[Setting, float]]:
        """Seconds of a method's probes, with their settings."""
        return [(e.setting, e.probes[method].seconds) for e in self.entries if method in e.probes]

    def _with(self, method: str) -> list[Entry]:
        return [entry for entry in self.entries if method in entry.methods]


def without(entries: Iterable[Entry], data: str) -> list[Entry]:
    """The entries of other sources than that of these data: `digits-halves` has the rows of `digits`."""
    return [entry for entry in entries if source(entry.data) != source(data)]


def source(data: str) -> str:
    """What data sets of the same rows have in common."""
    return data.partition("-")[0]


@lru_cache(maxsize=1)
def packaged() -> Record:
    """The record that comes with the package."""
    return from_json(json.loads((files("colonnade.lab.advisor") / FILE).read_text(encoding="utf-8")))


def from_json(saved: Mapping[str, Any]) -> Record:
    """A record out of its file."""
    entries = tuple(
        Entry(
            entry["name"],
            entry["data"],
            Setting(**entry["setting"]),
            {method: Known(**known) for method, known in entry["methods"].items()},
            {method: Probe.from_json(method, probe) for method, probe in entry["probes"].items()},
        )
        for entry in saved["entries"]
    )
    return Record(entries, saved["variances"], saved["gap"])


def to_json(entries: Sequence[Entry], variances: Mapping[str, float], gap: Mapping[str, float]) -> dict[str, Any]:
    """The file of a record."""
    return {
        "variances": {name: float(f"{value:.4g}") for name, value in variances.items()},
        "gap": dict(gap),
        "entries": [
            {
                "name": entry.name,
                "data": entry.data,
                "setting": entry.setting.to_json(),
                "methods": {method: _known(known) for method, known in sorted(entry.methods.items())},
                "probes": {method: probe.to_json() for method, probe in entry.probes.items()},
            }
            for entry in entries
        ],
    }


def _known(known: Known) -> dict[str, Any]:
    found = {
        "score": round(known.score, 5), "runs": known.runs,
        "std": None if known.std is None else round(known.std, 5), "bytes": known.bytes,
        "seconds": None if known.seconds is None else round(known.seconds, 2),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}
