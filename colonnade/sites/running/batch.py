"""Predictions for many ids at once: which ids, what came of them, and the file that is written.

n ids.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from colonnade.data.description import SEPARATORS
from colonnade.data.ids import Positions
from colonnade.deploy.serve.predictor import Flags, GatheringPredictor
from colonnade.errors import ConfigError, DataError
from colonnade.sites.files.parts import write_bytes
from colonnade.sites.intersection import IdSet
from colonnade.sites.intersection.holder import Progress, silent
from colonnade.sites.intersection.ids import match
from colonnade.sites.settings.table import SiteTable

if TYPE_CHECKING:
    import pandas as pd

ROWS = 4096  # asked for at a time
ENDINGS = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True, eq=False)
class Batch:
    """Predictions for n ids."""

    ids: list[Any]  # as they were given
    values: npt.NDArray[Any]  # (n, C) probabilities, or (n,) targets; nothing to be read where nobody holds a row
    held: dict[str, Flags]  # by party (n,): whose row or representation was used; zero took the place of the others
    unreachable: tuple[str, ...]  # sites that did not answer at some time

    @property
    def known(self) -> Flags:
        """Ids of which at least one party holds a row."""
        known: Flags = np.any(list(self.held.values()), axis=0)
        return known

    @property
    def absent(self) -> dict[str, int]:
        """By party, the known rows that were predicted without it."""
        counts = {name: int((self.known & ~mask).sum()) for name, mask in self.held.items()}
        return {name: count for name, count in counts.items() if count}

    def frame(self, predictor: GatheringPredictor, column: str) -> pd.DataFrame:
        """One row per id: prediction, a probability per class, and the parties that it was made without."""
        import pandas as pd

        known = self.known
        columns: dict[str, Any] = {column: self.ids}
        if predictor.task == "regression":
            columns["prediction"] = np.where(known, self.values, np.nan)
        else:
            said = [predictor.classes[i] for i in self.values.argmax(axis=1)]
            columns["prediction"] = pd.array([one if k else None for one, k in zip(said, known, strict=True)])
            for i, name in enumerate(predictor.classes):
                columns[f"probability {name}"] = np.where(known, self.values[:, i], np.nan)
        names = list(self.held)
        without = np.stack([~self.held[name] for name in names], axis=1)
        columns["absent"] = [" ".join(name for name, lacks in zip(names, row, strict=True) if lacks) for row in without]
        return pd.DataFrame(columns)


def predict_batch(
    predictor: GatheringPredictor, ids: list[Any], rows: Positions, table: SiteTable, progress: Progress = silent
) -> Batch:
    """Predict the own rows that `rows` names, `ROWS` at a time; -1: the id is not in the own table."""
    parties = [*([predictor.active.name] if predictor.active.encoder is not None else []), *predictor.active.widths]
    held = {name: np.zeros(len(ids), dtype=np.bool_) for name in parties}
    outputs = predictor.active.targets.outputs
    values = np.zeros(len(ids) if predictor.task == "regression" else (len(ids), outputs))
    there, unreachable = np.flatnonzero(rows >= 0), dict[str, None]()
    for start in range(0, len(there), ROWS):
        at = there[start : start + ROWS]
        made = predictor.predict(table.ids[rows[at]].tolist())
        values[at] = made.values
        for name, mask in made.held.items():
            held[name][at] = mask
        unreachable |= dict.fromkeys(made.unreachable)
        progress("predict", min(start + ROWS, len(there)), len(there))
    return Batch(ids, values, held, tuple(unreachable))


def unlabelled(table: SiteTable) -> tuple[list[Any], Positions]:
    """The agreed ids whose label the active party does not know, and its own rows of them."""
    table.check()
    if table.agreed is None or table.own.label is None:
        raise DataError("which rows have no label is known after an alignment alone, at the party with a label column.")
    rows = table.at[table.agreed.order]
    rows = rows[table.own.frame[table.own.label].isna().to_numpy()[rows]]
    if not len(rows):
        raise DataError("every aligned row has a label. Name the rows to predict by --ids FILE.")
    return table.ids[rows].tolist(), rows


def ids_of_file(path: Path, column: str, party: str, table: SiteTable) -> tuple[list[Any], Positions]:
    """The ids of a file, and the own row of each; -1 where the own table has none."""
    given = _read(path, column)
    rule: Any = "text" if table.agreed is None else table.agreed.normalise
    try:
        asked = IdSet(given, party, normalise=rule)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    rows = np.full(len(given), -1, dtype=np.int64)
    left, right = match(asked.keys, IdSet(table.ids, party, normalise=rule).keys)
    rows[left] = right
    return given, rows


def _read(path: Path, column: str) -> list[Any]:
    import pandas as pd

    _check_ending(path)
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            frame = frame.reset_index() if frame.index.name is not None else frame
        else:
            frame = pd.read_csv(path, sep=SEPARATORS[path.suffix], dtype=str, index_col=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({str(error).strip()}). Give a table with a column of ids.") from None
    names = list(map(str, frame.columns))
    if column not in names and len(names) != 1:
        raise DataError(f"{path} has the columns {', '.join(names)}. Name that of the ids {column!r}.")
    return list(frame[column if column in names else frame.columns[0]].tolist())


def _check_ending(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path}: unknown type of file. Use one of {', '.join(ENDINGS)}.")


def check_out(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    _check_ending(path)
    if path.is_dir():
        raise ConfigError(f"{path} is a folder. Name a file.")


def write_frame(path: Path, frame: pd.DataFrame) -> Path:
    """Write a table; the file appears complete or not at all."""
    content = io.BytesIO()
    if path.suffix == ".parquet":
        frame.to_parquet(content, index=False)
    else:
        frame.to_csv(content, sep=SEPARATORS[path.suffix], index=False)
    return write_bytes(path, content.getvalue())


def summary(batch: Batch) -> list[str]:
    """What a user should know of a batch, in lines."""
    known, n = int(batch.known.sum()), len(batch.ids)
    everyone = int(np.all([batch.held[name] for name in batch.held], axis=0).sum())
    lines = [f"{n} ids: {known} predicted, {everyone} of them with all parties"]
    lines += [f"without {name}: {count} rows" for name, count in batch.absent.items()]
    if known < n:
        lines.append(f"held by nobody, without a prediction: {n - known} ids. Align again after tables have changed.")
    if batch.unreachable:
        lines.append(f"no answer from {', '.join(batch.unreachable)}")
    return lines
