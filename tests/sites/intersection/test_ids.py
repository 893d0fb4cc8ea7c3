"""Ids and rules: what equals what, what is refused, and that no error text shows an id."""

from __future__ import annotations

import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colonnade.errors import ConfigError, DataError
from colonnade.sites.intersection import MEANING, RULES, IdSet
from colonnade.sites.intersection.ids import match
from colonnade.sites.intersection.rules import canonical

EQUAL = [
    ("exact", 7, "7"),
    ("exact", 7.0, np.int64(7)),
    ("exact", UUID("12345678-1234-5678-1234-56781234567A"), "12345678-1234-5678-1234-56781234567a"),
    ("exact", date(2024, 1, 31), "2024-01-31"),
    ("exact", pd.Timestamp("2024-01-31"), date(2024, 1, 31)),
    ("exact", datetime(2024, 1, 31, 8, 30), pd.Timestamp("2024-01-31 08:30")),
    ("exact", datetime(2024, 1, 31, 8, tzinfo=UTC), datetime(2024, 1, 31, 9, tzinfo=timezone(timedelta(hours=1)))),
    ("text", "  Ann ", "Ann"),
    ("text", unicodedata.normalize("NFD", "Zoë"), unicodedata.normalize("NFC", "Zoë")),
    ("casefold", "STRASSE", "straße"),
    ("digits", "+49 (30) 12-34", 49301234),
    ("digits", "٣٤", "34"),
    ("email", " Ann@Shop.EXAMPLE", "ann@shop.example"),
]
DIFFERENT = [
    ("exact", "7 ", "7"),
    ("exact", b"7", "7"),
    ("text", "Ann", "ann"),
    ("text", "007", 7),
    ("digits", "0049 30", "49 30"),
    ("email", "a.b@c.example", "ab@c.example"),
    ("exact", datetime(2024, 1, 31, 8, tzinfo=UTC), datetime(2024, 1, 31, 8)),
]


@pytest.mark.parametrize(("rule", "one", "other"), EQUAL)
def test_equal_under_the_rule(rule: str, one: object, other: object) -> None:
    assert canonical(one, rule) == canonical(other, rule) != b""


@pytest.mark.parametrize(("rule", "one", "other"), DIFFERENT)
def test_different_under_the_rule(rule: str, one: object, other: object) -> None:
    assert canonical(one, rule) != canonical(other, rule)


@given(st.text(min_size=1), st.sampled_from(["text", "casefold"]))
def test_a_rule_changes_nothing_the_second_time(text: str, rule: str) -> None:
    once = RULES[rule](text)
    assert RULES[rule](once) == once


def test_every_rule_is_explained() -> None:
    assert set(MEANING) == set(RULES)


def test_the_kinds_of_column_agree() -> None:
    numbers = [3, 1, 2]
    expected = IdSet(numbers, "p").keys.tolist()
    for same in (
        np.array(numbers),
        np.array(numbers, float),
        pd.Index(numbers),
        pd.Series(["3", "1", "2"]),
        ("3", 1, 2.0),
    ):
        assert IdSet(same, "p").keys.tolist() == expected
    days = pd.to_datetime(["2024-01-31", "2024-02-01"])
    expected = IdSet(["2024-01-31", "2024-02-01"], "p").keys.tolist()
    for column in (days, days.to_numpy(), days.to_numpy().astype("datetime64[D]"), [d.date() for d in days]):
        assert IdSet(column, "p").keys.tolist() == expected


SECRET = "ann@secret.example"


@pytest.mark.parametrize(
    ("ids", "rule", "words"),
    [
        (
            [SECRET, "b@x.y", SECRET.upper(), SECRET],
            "email",
            ["'shop'", "2 ids are duplicates", "rows 2, 3", "one row"],
        ),
        (
            ["a", None, float("nan"), pd.NA, " "],
            "text",
            ["4 ids are missing or blank", "rows 1, 2, 3, …", "leave the row"],
        ),
        ([SECRET, "no address"], "email", ["1 ids are no e-mail addresses (row 1"]),
        ([SECRET, 1.5], "text", ["no whole numbers (row 1"]),
        ([SECRET, "x"], "digits", ["2 ids have no digit"]),
        ([SECRET, b"x"], "text", ["are bytes", "exact"]),
        ([SECRET, object()], "text", ["have the type object"]),
        ([SECRET, True], "text", ["have the type bool"]),
        (np.array(["2024-01-31T00:00:00.000000001"], "datetime64[ns]"), "text", ["finer than a microsecond"]),
        ([], "text", ["no ids"]),
    ],
)
def test_refused_by_row_and_never_by_id(ids: object, rule: str, words: list[str]) -> None:
    with pytest.raises(DataError) as error:
        IdSet(ids, "shop", normalise=rule)  # type: ignore[arg-type]
    text = str(error.value)
    assert all(word in text for word in words), text
    assert "secret" not in text.lower()


def test_an_unknown_rule() -> None:
    with pytest.raises(ConfigError, match=r"normalise='digit'.*Did you mean 'digits'"):
        IdSet([1], "p", normalise="digit")  # type: ignore[arg-type]


def test_repr_shows_no_id() -> None:
    assert repr(IdSet([SECRET], "shop")) == "IdSet(1 ids of party 'shop', normalise='text')"


def test_order_is_that_of_the_ids_as_given() -> None:
    rows = np.arange(3)
    assert IdSet([10, 9, 100], "p").sorted(rows).tolist() == [1, 0, 2]
    assert IdSet([np.int64(10), 9.0, 100], "p").sorted(rows).tolist() == [1, 0, 2]
    assert IdSet(["10", "9", "100"], "p").sorted(rows).tolist() == [0, 2, 1]
    assert IdSet(pd.to_datetime(["2024-03-01", "2023-01-01", "2024-01-01"]), "p").sorted(rows).tolist() == [1, 2, 0]
    assert IdSet([b"b", b"a", b"c"], "p", normalise="exact").sorted(rows).tolist() == [1, 0, 2]


def test_a_table_has_the_agreed_rows_first() -> None:
    assert IdSet(["d", "c", "b", "a"], "p").first(np.array([1, 3])).tolist() == [1, 3, 2, 0]


@given(st.sets(st.binary(min_size=15, max_size=15)), st.sets(st.binary(min_size=15, max_size=15)))
def test_match_equals_a_dictionary(left: set[bytes], right: set[bytes]) -> None:
    right |= set(list(left)[::2])
    a, b = list(left), list(right)
    rows, slots = match(np.array(a, dtype="S15"), np.array(b, dtype="S15"))
    assert dict(zip(rows.tolist(), slots.tolist(), strict=True)) == {
        i: b.index(x) for i, x in enumerate(a) if x in right
    }
