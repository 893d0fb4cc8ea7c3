"""`Downloaded`: a data set in the layout in which its authors publish it, folders included."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from colonnade.data.datasets.dataset import VARIABLE, Dataset


@dataclass(frozen=True, kw_only=True)
class Downloaded(Dataset):
    """A data set whose `files` may be folders.

    `hint` looks into the folder that COLONNADE_DATA names when something is missing, and may add a sentence to the
    error: for example that another edition of the data is there.
    """

    hint: Callable[[Path], str] | None = None

    def _missing(self) -> tuple[str, ...]:
        root = os.environ.get(VARIABLE)
        if not root:
            return self.files
        return tuple(file for file in self.files if not (Path(root) / file).exists())

    def _absence(self, missing: tuple[str, ...]) -> str:
        root = os.environ.get(VARIABLE)
        more = self.hint(Path(root)) if self.hint and root else ""
        return super()._absence(missing) + (f"\n{more}" if more else "")
