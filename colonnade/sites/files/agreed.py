"""What one party knows of the agreed rows, and the file at its own site that keeps it: Parquet, written at once.

After an alignment every party holds a file of its own. A passive party's has its ids in the order of the encrypted list
that it sent: an id's *place* in it is how the active party can ask for that row without naming it. The active party's
has, for each of its ids, the place at every passive party. Ids never leave the file's owner.

N ids of the party, M of them agreed on.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.data.ids import Positions
from colonnade.errors import DataError
from colonnade.sites.files.parts import write_bytes

FORMAT = 1
ENDING = ".parquet"  # of an alignment's file; any other is a list of ids that was agreed on by other means
_KEY, _PLACE = b"colonnade", "place at "
_NUMBER = re.compile(r"-?[1-9]\d{0,17}|0")  # an id that stays the same when it is read as a number


@dataclass(frozen=True, eq=False)
class Agreed:
    """The agreed rows, as one party knows them."""

    name: str  # the same at all parties: of an alignment, or the agreed ids themselves where they are a common list
    ids: list[str]  # (N,) own ids; at a passive party the position is the place
    order: Positions  # (M,) positions in `ids`, in the agreed order
    places: dict[str, Positions] = field(default_factory=dict)  # by passive party (N,), -1: it does not hold the id
    normalise: str = "exact"  # the rule under which ids are equal

    @property
    def whole(self) -> bool:
        """Whether all ids are whole numbers."""
        return all(map(_NUMBER.fullmatch, self.ids))


def from_list(path: Path, passive: Iterable[str] = ()) -> Agreed:
    """Agreed ids, one per line, the same file at all parties; the place of a row is its line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: the agreed ids cannot be read ({error}). Correct aligned in [site], or leave it out and run "
            f"`colonnade federate align`."
        ) from None
    ids = [line.strip() for line in lines if line.strip()]
    if len(set(ids)) < len(ids) or not ids:
        raise DataError(f"{path}: each agreed id must be there once. Found {len(ids)}, {len(set(ids))} different.")
    every = np.arange(len(ids), dtype=np.int64)
    return Agreed("\n".join(ids), ids, every, dict.fromkeys(passive, every))


def read_agreed(path: Path, passive: Iterable[str] = ()) -> Agreed | None:
    """What a site's `aligned` names: an alignment, a list of ids, or None where no alignment was made yet."""
    if path.suffix != ENDING:
        return from_list(path, passive)
    return _read(path) if path.exists() else None


def write_agreed(path: Path, agreed: Agreed) -> Path:
    """Write an alignment; the file appears complete or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rank = np.full(len(agreed.ids), -1, dtype=np.int64)
    rank[agreed.order] = np.arange(len(agreed.order))
    columns: dict[str, Any] = {"id": pa.array(agreed.ids, pa.string()), "agreed": rank}
    columns |= {_PLACE + party: places for party, places in agreed.places.items()}
    told = {"format": FORMAT, "alignment": agreed.name, "normalise": agreed.normalise}
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(told).encode()})
    content = io.BytesIO()
    pq.write_table(table, content)
    return write_bytes(path, content.getvalue())


def _read(path: Path) -> Agreed:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        told = json.loads((table.schema.metadata or {})[_KEY])
        if told["format"] != FORMAT:
            raise DataError(f"{path} has format {told['format']!r}, and this version reads {FORMAT}. Align again.")
        columns = {name: table.column(name) for name in table.column_names}
        rank = columns["agreed"].to_numpy()
        places = {k.removeprefix(_PLACE): v.to_numpy() for k, v in columns.items() if k.startswith(_PLACE)}
        ids = columns["id"].to_pylist()
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(
            f"{path} cannot be read as an alignment ({type(error).__name__}). Remove it, and run `colonnade federate "
            f"align` again."
        ) from None
    order = np.argsort(rank, kind="stable")[int((rank < 0).sum()) :].astype(np.int64)
    return Agreed(str(told["alignment"]), ids, order, places, str(told["normalise"]))
