"""`Downloaded`: a data set in the layout in which its authors publish it, folders included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.place import data_folder


@dataclass(frozen=True, kw_only=True)
class Downloaded(Dataset):
    """A data set whose `files` may be folders.

    `hint` looks into the data folder when something is missing, and may add a sentence to the
    error: for example that another edition of the data is there.
    """

    hint: Callable[[Path], str] | None = None

    def _missing(self) -> tuple[str, ...]:
        return tuple(file for file, path in zip(self.files, self.paths(), strict=True) if not path.exists())

    def _absence(self, missing: tuple[str, ...]) -> str:
        more = self.hint(data_folder()) if self.hint else ""
        return super()._absence(missing) + (f"\n{more}" if more else "")
