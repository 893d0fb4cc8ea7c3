"""Which rows trees learn from, are validated on and predict; a party's rows reach that party alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from colonnade.data.ids import Ids
from colonnade.data.view import as_view
from colonnade.errors import DataError, raise_all
from colonnade.methods._base.parts.rows import categorical_fields, count_absent, load_rows, no_rows
from colonnade.parties.federation import Federation


def load_given(
    fed: Federation, parties: Sequence[str], views: Mapping[str, Any], absent: str
) -> tuple[Ids, dict[str, int]]:
    """Load the rows to predict, in the order of the active party's table; how many of them each party lacks."""
    problems: list[str] = []
    given = {n: as_view(views[n], n, categorical_fields(fed, n), problems) for n in parties if n in views}
    missing = [name for name in parties if name not in given]
    if missing and absent == "error":
        problems.append(
            f"party {', '.join(map(repr, missing))} has no rows, but took part in training. Give its table, or use "
            f"absent='zero', which takes its columns as missing."
        )
    if not given:
        problems.append(f"no table was given. Give those of {', '.join(map(repr, parties))}.")
    raise_all(problems, DataError, "predict")
    ids = given[fed.active.name if fed.active.name in given else next(iter(given))].ids
    load_rows(fed, "predict", {n: given.get(n, no_rows(fed, n)) for n in parties}, ids)
    lacking = count_absent(fed, list(parties), len(ids))
    if lacking and absent == "error":
        listed = ", ".join(f"{n!r} lacks {k} of {len(ids)} rows" for n, k in lacking.items())
        raise DataError(f"predict: {listed}. Give these rows, or use absent='zero' to take them as missing.")
    return ids, lacking
