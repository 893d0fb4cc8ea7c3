"""Data sets from their sources into the data folder: download, check, convert, and only then put in place."""

from colonnade.data.datasets.download.get import get
from colonnade.data.datasets.download.origins import origin_of
from colonnade.data.datasets.download.status import Entry, inventory

__all__ = ["Entry", "get", "inventory", "origin_of"]
