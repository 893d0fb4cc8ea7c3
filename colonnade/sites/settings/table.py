"""A site's own rows, and what was agreed on with the others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from colonnade.data.description import OwnTable, read_table
from colonnade.data.ids import Ids, Positions, locate
from colonnade.data.view import View, as_view
from colonnade.errors import DataError, raise_all
from colonnade.sites.files.agreed import Agreed, read_agreed
from colonnade.sites.settings.description import SiteFile


@dataclass(frozen=True, eq=False)
class SiteTable:
    """Own rows by id, and what was agreed on with the other parties."""

    own: OwnTable
    view: View | None  # None: a party with labels only
    agreed: Agreed | None  # None: nothing was agreed on yet
    ids: Ids  # of all own rows
    known: Ids  # ids of `agreed`, in its order: the position is the place
    at: Positions  # own row of each of them; -1 where the table has it no more
    aligned: Ids  # the agreed ids in the agreed order

    @property
    def text(self) -> bool:
        """Whether ids are text, not whole numbers."""
        return bool(self.ids.dtype.kind == "U")

    def same(self, run: bytes) -> str:
        """What two sites compare to know that they agreed on the same rows; good for one run."""
        name = "" if self.agreed is None else self.agreed.name
        return hashlib.blake2b(name.encode(), key=run, digest_size=16).hexdigest()

    def digest(self, run: bytes) -> str:
        """The same, of a table that has all agreed rows."""
        self.check()
        return self.same(run)

    def check(self) -> None:
        """Refuse a table without agreed rows, or that lacks some of them."""
        if self.agreed is None:
            raise DataError(
                "nothing is aligned yet. Run `colonnade federate align` at the active party, or name a list of agreed "
                "ids by aligned in [site] of each site."
            )
        gone = int((self.at[self.agreed.order] < 0).sum())
        if gone:
            raise DataError(
                f"{gone} of the {len(self.aligned)} agreed ids are no longer in the table. Run `colonnade federate "
                f"align` again."
            )


def read_site_table(site: SiteFile, passive: Iterable[str] = ()) -> SiteTable:
    """Read the table that a site's file names, and what was agreed on; `passive` at the active party alone."""
    problems: list[str] = []
    own = read_table(site.path.resolve().parent, site.party, dict(site.table), problems)
    if own is None:
        raise DataError(f"{site.path}: {' '.join(problems)}")
    raise_all(problems, DataError, str(site.path))
    agreed = read_agreed(site.aligned, passive)
    numbers = own.whole and (agreed is None or agreed.whole)
    texts = list(map(str, own.frame.index))
    ids, known = (_typed(some, numbers) for some in (texts, [] if agreed is None else agreed.ids))
    own = OwnTable(own.frame.set_axis(ids), own.label, own.categorical, own.whole)
    columns = own.frame.drop(columns=own.label) if own.label else own.frame
    view = as_view(columns, site.party, own.categorical, problems) if len(columns.columns) else None
    raise_all(problems, DataError, str(site.path))
    aligned = known if agreed is None else known[agreed.order]
    return SiteTable(own, view, agreed, ids, known, locate(ids, known), aligned)


def _typed(texts: list[str], numbers: bool) -> Ids:
    if numbers:
        return np.array(list(map(int, texts)), dtype=np.int64)
    return np.array(texts) if texts else np.zeros(0, dtype="U1")


def ids_to_align(site: SiteFile, table: SiteTable) -> Any:
    """Own ids in the order of the rows, of the type that the file has: a day in Parquet equals that day as text."""
    file = site.path.resolve().parent / str(site.table["data"])
    if file.name.lower().endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        name = str(site.table["id"])
        if name in pq.read_schema(file).names:
            column = pq.read_table(file, columns=[name]).column(name)
            if pa.types.is_temporal(column.type):
                return column.to_pylist()
    return table.ids


def ids_alone(ids: Ids) -> View:
    """Rows without a column: what is known of a party that is elsewhere."""
    return View(ids, np.zeros((len(ids), 0), np.float32), (), np.zeros((len(ids), 0), np.int32))
