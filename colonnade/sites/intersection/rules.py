"""Normalisation: what makes ids of two parties equal. Both name the same rule; nobody can compare the ids themselves.

Numbers, UUIDs and dates are first written as text: 7 and 7.0 as "7", a UUID in small letters with hyphens, a date as
2024-01-31, a time as 2024-01-31T08:30:00 (in UTC, with +00:00, where it has a zone), midnight without a zone as a date.
So the integer 7 equals the text "7" under every rule. The text "007" equals neither: no rule drops zeros. Bytes equal
nothing but bytes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, Literal
from uuid import UUID

import numpy as np

from colonnade.data.ids import is_missing
from colonnade.errors import ConfigError, did_you_mean

Rule = Literal["exact", "text", "casefold", "digits", "email"]

_EXACT = 2.0**53  # from here on floats skip whole numbers


class UnusableIdError(ValueError):
    """An id that the rule cannot take; the text says why without showing the id."""


def _tidy(text: str) -> str:
    """NFC, without white space at either end."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _casefold(text: str) -> str:
    return _tidy(_tidy(text).casefold())


def _digits(text: str) -> str:
    """The decimal digits of any script, as 0-9; zeros in front stay."""
    kept = text if text.isdecimal() and text.isascii() else "".join(str(int(c)) for c in text if c.isdecimal())
    if not kept and text.strip():
        raise UnusableIdError("have no digit")
    return kept


def _email(text: str) -> str:
    text = _casefold(text)
    name, at, domain = text.partition("@")
    if text and (not name or not at or not domain or "@" in domain or any(c.isspace() for c in text)):
        raise UnusableIdError("are no e-mail addresses")
    return text


RULES: dict[str, Callable[[str], str]] = {
    "exact": lambda text: text,
    "text": _tidy,
    "casefold": _casefold,
    "digits": _digits,
    "email": _email,
}
MEANING = {
    "exact": "as it is",
    "text": "without white space at either end, Unicode in its composed form (NFC)",
    "casefold": "text, and capital letters equal small ones",
    "digits": "its decimal digits alone; zeros and country codes stay",
    "email": "casefold; must be NAME@DOMAIN",
}


def check_rule(rule: str) -> None:
    """Refuse a rule that does not exist."""
    if rule not in RULES:
        raise ConfigError(f"normalise={rule!r} is no rule. {did_you_mean(str(rule), RULES)}")


def listed(ids: Any) -> list[Any]:
    """Python values of a list, array, Index or Series."""
    if not isinstance(ids, np.ndarray):
        return list(ids.tolist()) if hasattr(ids, "tolist") else list(ids)
    if ids.dtype.kind != "M":
        return list(ids.tolist())
    times = ids.astype("datetime64[us]")
    fits = (times.astype(ids.dtype) == ids) | np.isnat(ids)
    return [t if fit else ids.dtype for t, fit in zip(times.tolist(), fits.tolist(), strict=True)]


def canonical(value: Any, rule: str) -> bytes:
    """The bytes that stand for an id; empty when it is missing or blank."""
    if isinstance(value, bytes):
        if rule != "exact":
            raise UnusableIdError("are bytes, which only normalise='exact' takes")
        return b"b" + value if value else b""
    if not isinstance(value, str) and is_missing(value):
        return b""
    text = RULES[rule](value if isinstance(value, str) else as_text(value))
    return b"t" + text.encode(errors="surrogatepass") if text else b""


def as_text(value: Any) -> str:
    """A number, UUID, date or time as text, the same at every party."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float | np.floating):
        if not float(value).is_integer() or abs(float(value)) >= _EXACT:
            raise UnusableIdError("are no whole numbers")
        return str(int(value))
    if isinstance(value, UUID | str):
        return str(value)
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.dtype):
        raise UnusableIdError("are times finer than a microsecond")
    raise UnusableIdError(f"have the type {type(value).__name__}")


def _time(value: datetime) -> str:
    if getattr(value, "nanosecond", 0):
        raise UnusableIdError("are times finer than a microsecond")
    moment = datetime(*value.timetuple()[:6], value.microsecond, value.tzinfo, fold=value.fold)
    if moment.tzinfo is not None:
        return moment.astimezone(UTC).isoformat()
    at_midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    return moment.date().isoformat() if at_midnight else moment.isoformat()
