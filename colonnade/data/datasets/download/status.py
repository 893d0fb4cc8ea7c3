"""Which data sets are here, and how to get the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colonnade.data.datasets import DATASETS
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.download.origin import Origin
from colonnade.data.datasets.download.origins import origin_of

How = Literal["bundled", "download", "by hand"]


@dataclass(frozen=True)
class Entry:
    """What `colonnade data list` says about one data set."""

    name: str
    here: bool
    how: How  # bundled with scikit-learn, downloaded by `colonnade data get`, or put there by hand
    size: int | None  # bytes on this disk or, when it is not here, to download; None: not known
    terms: str
    source: str


def inventory() -> list[Entry]:
    """All data sets by name, in the order of `colonnade list`."""
    return [_entry(data) for data in DATASETS.values()]


def _entry(data: Dataset) -> Entry:
    origin = origin_of(data)
    how: How = "bundled" if origin is None else "download" if isinstance(origin, Origin) else "by hand"
    return Entry(data.name, data.available(), how, _size(data), data.terms, data.source)


def _size(data: Dataset) -> int | None:
    origin = origin_of(data)
    if data.available():
        paths = data.paths()
        return sum(path.stat().st_size for path in paths) if all(path.is_file() for path in paths) else None
    return (origin.size or None) if isinstance(origin, Origin) else None
