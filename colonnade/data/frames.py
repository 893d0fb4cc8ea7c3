"""From DataFrames with a column of ids and one of labels to views and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from colonnade.data.joining import is_frame
from colonnade.errors import DataError, did_you_mean, raise_all


@dataclass(frozen=True)
class Parts:
    """What `VerticalData` takes."""

    views: dict[str, Any]
    labels: Any
    active: str
    label_only: bool


def parts_of(frames: Any, id: Any, label: str, active: str | None) -> Parts:
    """Tables indexed by their ids, without the label column; the label as a Series by id.

    Args:
        frames: party name to DataFrame.
        id: the column of ids, or the index of that name; one name for all parties, or one by party.
        label: the column of labels.
        active: the party that has it; found when left out.
    """
    if not isinstance(frames, Mapping) or not frames:
        raise DataError("from_frames: give a DataFrame by party, e.g. {'bank': bank_df, 'shop': shop_df}.")
    tables = {str(name): frame for name, frame in frames.items()}
    problems: list[str] = []
    indexed = {}
    for name, column in _id_columns(tables, id, problems).items():
        if is_frame(tables[name]):
            indexed[name] = _indexed(tables[name], column, f"party {name!r}", problems)
        else:
            kind = type(tables[name]).__name__
            problems.append(f"party {name!r}: {kind} is no DataFrame. Use VerticalData(views=…, labels=…) for arrays.")
    raise_all(problems, DataError, "from_frames")
    active = _holder(indexed, label, None if active is None else str(active))
    labels, own = indexed[active][label], indexed[active].drop(columns=label)
    if len(own.columns):
        return Parts({**indexed, active: own}, labels, active, False)
    return Parts({name: frame for name, frame in indexed.items() if name != active}, labels, active, True)


def _id_columns(tables: Mapping[str, Any], id: Any, problems: list[str]) -> dict[str, Any]:
    """The name of each party's ids, for the parties where there is one."""
    if not isinstance(id, Mapping):
        return dict.fromkeys(tables, id)
    by_party = {str(name): column for name, column in id.items()}
    for name in by_party:
        if name not in tables:
            problems.append(f"id names the party {name!r}, which has no table. {did_you_mean(name, tables)}")
    for name in tables:
        if name not in by_party:
            problems.append(f"id names no column of party {name!r}. Add {{{name!r}: COLUMN}}.")
    return {name: by_party[name] for name in tables if name in by_party}


def _indexed(frame: Any, column: Any, where: str, problems: list[str]) -> Any:
    """The table by its ids, which are a column or already the index."""
    if column in frame.columns:
        return frame.set_index(column)
    if frame.index.name != column or column is None:
        problems.append(
            f"{where}: there is no column {column!r} for the ids. {did_you_mean(str(column), map(str, frame.columns))}"
        )
    return frame


def _holder(tables: Mapping[str, Any], label: str, active: str | None) -> str:
    """The party with the label; no other party may have a column of that name."""
    holders = [name for name, frame in tables.items() if label in frame.columns]
    if active is not None and active not in tables:
        raise DataError(f"from_frames: active={active!r} has no table. {did_you_mean(active, tables)}")
    if not holders or (active is not None and active not in holders):
        looked = [active] if active is not None else list(tables)
        hint = did_you_mean(str(label), {str(c) for name in looked for c in tables[name].columns})
        where = f"Party {holders[0]!r} has it. Make that party active" if holders else hint
        parties = " and ".join(map(repr, looked))
        raise DataError(f"from_frames: label={label!r} is no column of {parties}. {where.rstrip('.')}.")
    if len(holders) > 1:
        listed = " and ".join(map(repr, holders))
        raise DataError(
            f"from_frames: {listed} have a column {label!r} each. The active party alone has the label: "
            f"drop or rename the column of the other, e.g. df.drop(columns={label!r})."
        )
    return holders[0]
