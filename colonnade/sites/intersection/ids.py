"""One party's ids, ready for private set intersection.

Each id is normalised and hashed to 15 bytes *at home*, so that ids of any length and type cost the same, and no file
that a protocol needs holds one in clear. The hashes are never sent: without a key, ids that can be guessed can be found
again from their hashes.

N ids.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Positions
from colonnade.errors import DataError, raise_all
from colonnade.sites.intersection.rules import RULES, Rule, UnusableIdError, canonical, check_rule, listed

Keys = npt.NDArray[np.bytes_]  # (N,) of 15 bytes each

WIDTH = 15  # bytes: among a thousand million ids, two share a hash with probability 2^-61
_SHOWN = 3


class IdSet:
    """The ids of one party under one rule: unique, none missing. Rows are counted from 0 in the order given.

    Args:
        ids: list, array, Index or Series of integers, text, UUIDs, dates, times or bytes.
        party: whose they are, for error texts.
        normalise: "exact", "text", "casefold", "digits" or "email"; the same at every party.
    """

    def __init__(self, ids: Any, party: str, *, normalise: Rule = "text") -> None:
        check_rule(normalise)
        self.party, self.normalise = party, normalise
        self._given = ids
        values = listed(ids)
        if not values:
            raise DataError(f"party {party!r} has no ids. Give at least one row, or leave the party out.")
        problems: list[str] = []
        self.keys: Keys = _hashed(values, normalise, f"party {party!r}", problems)
        raise_all(problems, DataError, "The ids cannot be used")
        self._by_key: Positions = np.argsort(self.keys, kind="stable").astype(np.int64, copy=False)
        _refuse_duplicates(self.keys, self._by_key, normalise, f"party {party!r}")

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"IdSet({len(self)} ids of party {self.party!r}, normalise={self.normalise!r})"

    def find(self, keys: Keys) -> Positions:
        """The rows of these keys, by key; keys that are not here are left out."""
        wanted, own = np.sort(keys), self.keys[self._by_key]
        at = np.searchsorted(own, wanted).clip(max=len(own) - 1)
        rows: Positions = self._by_key[at[own[at] == wanted]]
        return rows

    def sorted(self, rows: Positions) -> Positions:
        """These rows in the order of their ids as given: numbers by size, everything else as text."""
        values = listed(self._given)
        keys = [values[row] for row in rows.tolist()]
        types = set(map(type, keys))
        if types != {str} and not all(issubclass(t, int | float | np.number) for t in types):
            keys = [canonical(key, "exact") for key in keys]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return rows[np.array(order, dtype=np.int64)]

    def first(self, rows: Positions) -> Positions:
        """All rows in the agreed order of a table: these first, then the others by id."""
        others = np.setdiff1d(np.arange(len(self), dtype=np.int64), rows)
        return np.concatenate([rows, self.sorted(others)])


def _hashed(values: list[Any], rule: Rule, where: str, problems: list[str]) -> Keys:
    """The keys of all values; what stands in the way goes to `problems`, by row and never by id."""
    unusable: dict[str, list[int]] = {}
    plain = _plain(values, rule)
    parts = _one_by_one(values, rule, unusable) if plain is None else plain
    missing = [row for row, part in enumerate(parts) if len(part) < 2] if min(map(len, parts)) < 2 else []
    if missing:
        problems.append(
            f"{where}: {len(missing)} ids are missing or blank ({rows_shown(missing)}). "
            "Give every row an id or leave the row out."
        )
    for fault, rows in unusable.items():
        problems.append(f"{where}: {len(rows)} ids {fault} ({rows_shown(rows)}); normalise={rule!r}.")
    return np.frombuffer(b"".join([blake2b(part, digest_size=WIDTH).digest() for part in parts]), dtype=f"S{WIDTH}")


def _plain(values: list[Any], rule: Rule) -> list[bytes] | None:
    """What `canonical` makes of text alone or integers alone, quickly; None where a value needs a closer look."""
    types, fold = set(map(type, values)), RULES[rule]
    if types not in ({str}, {int}):
        return None
    texts = values if types == {str} else list(map(str, values))
    whole = "".join(texts)
    if rule in ("exact", "text") and whole.isascii() and whole.isprintable() and " " not in whole:
        return ("t" + "\nt".join(texts)).encode().split(b"\n")  # nothing to tidy up: all at once
    try:
        return [b"t" + fold(text).encode() for text in texts]
    except (UnusableIdError, UnicodeEncodeError):
        return None


def _one_by_one(values: list[Any], rule: Rule, unusable: dict[str, list[int]]) -> list[bytes]:
    parts = []
    for row, value in enumerate(values):
        try:
            parts.append(canonical(value, rule))
        except UnusableIdError as reason:
            unusable.setdefault(str(reason), []).append(row)
            parts.append(b"unusable")
    return parts


def _refuse_duplicates(keys: Keys, order: Positions, rule: Rule, where: str) -> None:
    ordered = keys[order]
    repeats = order[1:][ordered[1:] == ordered[:-1]]
    if len(repeats):
        rows = rows_shown(sorted(repeats.tolist()))
        raise DataError(
            f"{where}: {len(repeats)} ids are duplicates of earlier ones under normalise={rule!r} ({rows}). "
            f"Keep one row per id, or use a rule that tells them apart."
        )


def rows_shown(rows: list[int]) -> str:
    """The first few rows for an error text; the ids themselves stay out of every log."""
    listed_rows = ", ".join(map(str, rows[:_SHOWN])) + (", …" if len(rows) > _SHOWN else "")
    return f"row{'s' if len(rows) > 1 else ''} {listed_rows}, counted from 0"


def match(left: Keys, right: Keys) -> tuple[Positions, Positions]:
    """Where the two hold the same key: positions in both, by key. Neither may hold a key twice."""
    if not len(left) or not len(right):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    a, b = np.argsort(left), np.argsort(right)
    found = np.searchsorted(right[b], left[a]).clip(max=len(right) - 1)
    same = right[b[found]] == left[a]
    return a[same].astype(np.int64), b[found[same]].astype(np.int64)
