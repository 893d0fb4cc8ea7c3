"""A site's own rows, and the ids that all sites agreed on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.data.description import OwnTable, read_table
from colonnade.data.ids import Ids, locate
from colonnade.data.view import View, as_view
from colonnade.errors import DataError, raise_all
from colonnade.federate.description import SiteFile


@dataclass(frozen=True, eq=False)
class SiteTable:
    """Own rows by id, and the agreed ids in their agreed order."""

    own: OwnTable
    view: View | None  # None: a party with labels only
    aligned: Ids

    def digest(self, run: bytes) -> str:
        """What two sites compare to know that they hold the same agreed ids; good for one run."""
        text = "\n".join(map(str, self.aligned.tolist()))
        return hashlib.blake2b(text.encode(), key=run, digest_size=16).hexdigest()


def agreed_ids(path: Path) -> list[str]:
    """The agreed ids, one per line: the place where private set intersection will put what it finds."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the agreed ids cannot be read ({error}). Check aligned in [site].") from None
    ids = [line.strip() for line in lines if line.strip()]
    if len(set(ids)) < len(ids) or not ids:
        raise DataError(f"{path}: each agreed id must be there once. Found {len(ids)}, {len(set(ids))} different.")
    return ids


def read_site_table(site: SiteFile) -> SiteTable:
    """Read the table that a site's file names, and hold it against the agreed ids."""
    problems: list[str] = []
    own = read_table(site.path.resolve().parent, site.party, dict(site.table), problems)
    raise_all(problems, DataError, str(site.path))
    assert own is not None
    agreed = agreed_ids(site.aligned)
    numbers = own.whole and all(text.lstrip("-").isdigit() for text in agreed)
    ids: Any = np.array([int(i) for i in own.frame.index] if numbers else list(map(str, own.frame.index)))
    frame = own.frame.set_axis(ids)
    own = OwnTable(frame, own.label, own.categorical, own.whole)
    columns = frame.drop(columns=own.label) if own.label else frame
    view = as_view(columns, site.party, own.categorical, problems) if len(columns.columns) else None
    raise_all(problems, DataError, str(site.path))
    aligned = np.array([int(i) for i in agreed] if numbers else agreed)
    missing = aligned[locate(ids if view is None else view.ids, aligned) < 0]
    if len(missing):
        raise DataError(
            f"party {site.party!r}: {len(missing)} of the {len(aligned)} agreed ids are not in its table. Agree again."
        )
    return SiteTable(own, view, aligned)
