"""Probes: short trainings on a part of the training rows, scored on validation rows. Test rows are never read."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from colonnade.data.datasets.dataset import joined
from colonnade.data.ids import Ids
from colonnade.data.splits import Split
from colonnade.data.vertical import VerticalData
from colonnade.errors import ColonnadeError, DataError
from colonnade.lab.advisor.setting import Setting
from colonnade.methods._base.threads import limited
from colonnade.methods.registry import method_named

LABELLED, ROWS, VALID = 1000, 2000, 1000  # at most, of each party
IMAGES = 0.25  # of these, where a party holds images, which cost more
_SHORT = {"epochs": 60, "patience": 8}
PROBES: dict[str, dict[str, Any]] = {
    "local": _SHORT,
    "splitnn": _SHORT,
    "mmvfl": {},
    "ss-vfl-i": {**_SHORT, "pretrain_epochs": 8},
    "fedonce": {**_SHORT, "pretrain_epochs": 8},
    "ssvfl": _SHORT,
    "secureboost": {"trees": 20, "learning_rate": 0.3, "depth": 4, "patience": 5, "encrypt": False},
}

Tell = Callable[[str, int, int], None]  # what is being tried, how many are done, of how many


@dataclass(frozen=True)
class Probe:
    """What a short training of a method gave."""

    method: str
    score: float  # on validation rows, mean over seeds
    rows: int  # validation rows
    seeds: int
    bytes: int  # of one training
    seconds: float  # of one training

    def to_json(self) -> dict[str, Any]:
        """For the record."""
        return {"score": round(self.score, 5), "rows": self.rows, "seeds": self.seeds, "bytes": self.bytes,
                "seconds": round(self.seconds, 2)}  # fmt: skip

    @classmethod
    def from_json(cls, method: str, saved: Mapping[str, Any]) -> Probe:
        """The inverse of `to_json`."""
        return cls(method, **saved)


def run_probes(
    parts: Split, setting: Setting, *, seeds: int = 1, tell: Tell | None = None
) -> tuple[dict[str, Probe], dict[str, str]]:
    """All probes that suit the data, by method; and why the others could not be made."""
    suited = [name for name in PROBES if suits(name, setting) is None]
    found: dict[str, list[Probe]] = {}
    failed: dict[str, str] = {}
    for seed in range(seeds):
        rows = redivided(parts, seed)
        train, valid = thinned(rows.train, seed), validation(rows)
        for name in suited:
            if tell is not None:
                tell(name, len(suited) * seed + suited.index(name), len(suited) * seeds)
            try:
                found.setdefault(name, []).append(_probe(name, train, valid, setting, seed))
            except ColonnadeError as error:  # one that cannot learn from these rows must not end the others
                failed[name] = str(error)
    return {name: _mean(many) for name, many in found.items() if many}, failed


def few_threads(setting: Setting) -> AbstractContextManager[None]:
    """One thread for networks that read tables: on a busy machine a second one makes them ten times slower."""
    return nullcontext() if setting.images else limited(1)


def suits(method: str, setting: Setting) -> str | None:
    """Why a method cannot be used in a setting; None where it can."""
    kind = method_named(method)
    if setting.task not in kind.tasks:
        return f"it does {', '.join(kind.tasks)}, not {setting.task}"
    if kind().setup().own_columns and not setting.own_columns:
        return "it needs columns of the active party, which has labels only"
    return None


def _probe(name: str, train: VerticalData, valid: VerticalData, setting: Setting, seed: int) -> Probe:
    model = method_named(name)(seed=seed, **PROBES[name])
    started = time.process_time()
    model.fit(train, valid, metric=setting.metric)
    seconds = time.process_time() - started
    sent = model.traffic_.bytes
    score = model.score(valid.views, valid.labels)
    if not np.isfinite(score):
        raise DataError(f"{setting.metric} is not defined on the {len(valid.labels)} validation rows.")
    return Probe(name, score, len(valid.labels), 1, sent, seconds)


def _mean(many: list[Probe]) -> Probe:
    return Probe(
        many[0].method,
        statistics.fmean(one.score for one in many),
        many[0].rows,
        len(many),
        round(statistics.fmean(one.bytes for one in many)),
        statistics.fmean(one.seconds for one in many),
    )


def validation(parts: Split) -> VerticalData:
    """The validation rows, which have to be there."""
    if parts.valid is None or not len(parts.valid.labels):
        raise DataError("There are no validation rows to try methods on. Split the rows by colonnade.split.")
    return parts.valid


def redivided(parts: Split, seed: int) -> Split:
    """The same rows with other validation rows, as many, drawn anew; those of seed 0 as they are. Test rows stay."""
    valid = validation(parts)
    if seed == 0:
        return Split(parts.train, _at_most(valid, VALID, seed), parts.test)
    whole = joined(parts.train, valid)
    usable = np.intersect1d(whole.aligned, whole.labels.ids, assume_unique=True)
    chosen = np.random.default_rng([seed, 0x9E0B]).permutation(usable)[: len(valid.labels)]
    rest = np.setdiff1d(every_id(whole), chosen, assume_unique=True)
    return Split(whole.only(rest), _at_most(whole.only(np.sort(chosen)), VALID, seed), parts.test)


def thinned(train: VerticalData, seed: int) -> VerticalData:
    """At most `LABELLED` labelled rows, and of the others the same share at every party, `ROWS` rows in all."""
    rng = np.random.default_rng([seed, 0x7417])
    part = IMAGES if any(view.is_image for view in train.views.values()) else 1.0
    labelled = rng.permutation(train.labels.ids)[: int(part * LABELLED)]
    others = np.setdiff1d(every_id(train), train.labels.ids)
    largest = max(len(view) for view in train.views.values())
    share = (part * ROWS - len(labelled)) / max(largest - len(train.labels), 1)
    if len(labelled) == len(train.labels) and share >= 1:
        return train
    kept = others[rng.random(len(others)) < share]
    return train.only(np.sort(np.concatenate([labelled, kept])))


def every_id(data: VerticalData) -> Ids:
    """The ids that any party holds, sorted."""
    return np.unique(np.concatenate([view.ids for view in data.views.values()]))


def _at_most(valid: VerticalData, rows: int, seed: int) -> VerticalData:
    if len(valid.labels) <= rows:
        return valid
    chosen = np.random.default_rng([seed, 0xA7]).permutation(valid.labels.ids)[:rows]
    return valid.only(np.sort(chosen))
