"""`Dataset`: what is known about a data set, and how to get its rows.

A data set is a value: who holds what, where the files come from, under which terms, and the function that reads them.
Calling it gives the three parts of a split; `load` gives all rows.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from colonnade.data.arrange import fewer, hosted
from colonnade.data.datasets.place import VARIABLE, chosen_by, data_folder
from colonnade.data.labels import Labels, Task
from colonnade.data.splits import TEST, Split, split
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View
from colonnade.errors import ColonnadeError, ConfigError, DataError, MissingDependencyError

Metric = Literal["accuracy", "auc", "rmse"]
Rows = VerticalData | tuple[VerticalData, VerticalData]  # all rows, or (training rows, official test rows)

BROKEN = (OSError, EOFError, ValueError, KeyError, IndexError, zlib.error, zipfile.BadZipFile, lzma.LZMAError)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set divided among parties.

    `read(parties, *paths)` gets the number of parties and the paths of `files` in their order.
    """

    name: str
    title: str  # one line
    parties: str  # who holds what
    task: Task
    metric: Metric
    source: str  # where the data comes from
    terms: str  # licence or terms of use
    read: Callable[..., Rows]
    files: tuple[str, ...] = ()  # relative to the data folder; empty: scikit-learn brings the data
    default_parties: int = 2
    party_numbers: tuple[int, ...] | None = None  # the numbers of parties that make sense; None: 2 … number of columns
    test_share: float = TEST  # of the rows that are drawn for testing, where no test rows are set apart

    def available(self) -> bool:
        """Whether all files are there."""
        return not self._missing()

    def paths(self) -> tuple[Path, ...]:
        """Where the files are expected."""
        return tuple(data_folder() / file for file in self.files)

    def load(self, parties: int | None = None) -> VerticalData:
        """All rows, those of an official test set included, divided among `parties` parties."""
        return joined(*self.arranged(parties))

    def arranged(
        self, parties: int | None = None, active: str | None = None, rows: int | None = None
    ) -> tuple[VerticalData, VerticalData | None]:
        """All rows, and the official test rows where there are some.

        Args:
            parties: number of parties, where the data set can be divided differently.
            active: the party that holds the labels, or `server` for one without columns; the data set's own by default.
            rows: at most so many, of each of the two.
        """
        found = self._rows(parties)
        data, test = found if isinstance(found, tuple) else (found, None)
        return hosted(fewer(data, rows), active), None if test is None else hosted(fewer(test, rows), active)

    def __call__(
        self,
        *,
        labels: float | None = None,
        aligned: float = 1.0,
        seed: int = 0,
        parties: int | None = None,
        active: str | None = None,
        rows: int | None = None,
        labels_drawn: str = "stratified",
        labelled_rows: str = "any",
    ) -> Split:
        """Training, validation and test rows; an official test set is the test part.

        Args:
            labels: labelled training rows, as a number (above 1) or a fraction; None keeps all labels.
            aligned: fraction of the training rows that stay aligned.
            seed: of the draw.
            parties: number of parties, where the data set can be divided differently.
            active: the party that holds the labels, or `server` for one without columns; the data set's own by default.
            rows: at most so many, of the official test rows too.
            labels_drawn: "stratified" or "random"; see `colonnade.data.splits.split`.
            labelled_rows: "any" or "aligned"; see there.
        """
        data, test = self.arranged(parties, active, rows)
        return split(
            data, labels=labels, aligned=aligned, seed=seed, test=test, test_share=self.test_share,
            labels_drawn=labels_drawn, labelled_rows=labelled_rows,
        )  # fmt: skip

    def _rows(self, parties: int | None) -> Rows:
        number = self._number(parties)
        missing = self._missing()
        if missing:
            raise DataError(self._absence(missing))
        paths = self.paths()
        try:
            return self.read(number, *paths)
        except ColonnadeError:
            raise
        except ModuleNotFoundError as error:
            module = str(error.name).partition(".")[0]
            package = "scikit-learn" if module == "sklearn" else module
            raise MissingDependencyError(
                f"dataset {self.name!r} needs the package {package!r}. Install it: pip install {package}"
            ) from error
        except BROKEN as error:
            where = ", ".join(str(path) for path in paths) or "scikit-learn"
            raise DataError(
                f"dataset {self.name!r}: {where} could not be read ({type(error).__name__}: {error}). "
                f"Fetch it again from its source ({self.source}): remove it, then colonnade data get {self.name}"
            ) from error

    def _number(self, parties: int | None) -> int:
        """The number of parties asked for, if the data set can be divided so."""
        if parties is None:
            return self.default_parties
        if isinstance(parties, bool) or not isinstance(parties, int | np.integer) or parties < 2:
            raise ConfigError(
                f"parties must be a whole number of at least 2. Got {parties!r}. "
                f"Leave it out for the {self.default_parties} parties of {self.name!r}."
            )
        if self.party_numbers is not None and parties not in self.party_numbers:
            known = " or ".join(str(n) for n in self.party_numbers)
            raise ConfigError(
                f"dataset {self.name!r} is divided among {known} parties ({self.parties}). Got parties={parties}. "
                f"Leave it out for {self.default_parties}."
            )
        return int(parties)

    def _missing(self) -> tuple[str, ...]:
        return tuple(file for file, path in zip(self.files, self.paths(), strict=True) if not path.is_file())

    def _absence(self, missing: tuple[str, ...]) -> str:
        """Which files were looked for and where, how to get them, and where to put them by hand."""
        root = data_folder()
        listed = "\n".join(f"  {root / file}" for file in missing)
        return (
            f"dataset {self.name!r}: {len(missing)} of {len(self.files)} files not found in {root}; {chosen_by()}.\n"
            f"Get it: colonnade data get {self.name}\n"
            f"It comes from: {self.source}\nTerms: {self.terms}\n"
            f"Or set {VARIABLE} to the folder that has it, or put the data here:\n{listed}"
        )


def joined(first: VerticalData, second: VerticalData | None) -> VerticalData:
    """The rows of both, whose views have the same columns and vocabularies."""
    if second is None:
        return first
    views = {name: _stacked(view, second.views[name]) for name, view in first.views.items()}
    groups = None if first.groups is None or second.groups is None else _joined(first.groups, second.groups)
    return VerticalData.of(views, _joined(first.labels, second.labels), first.active, first.task, groups)


def _joined(first: Labels, second: Labels) -> Labels:
    return Labels(np.concatenate([first.ids, second.ids]), np.concatenate([first.values, second.values]))


def _stacked(first: View, second: View) -> View:
    same = (first.columns, first.fields, first.vocabularies) == (second.columns, second.fields, second.vocabularies)
    assert same, "training and test rows must come from one table"
    return View(
        np.concatenate([first.ids, second.ids]),
        np.concatenate([first.x, second.x]),
        first.columns,
        np.concatenate([first.codes, second.codes]),
        first.fields,
        first.vocabularies,
    )
