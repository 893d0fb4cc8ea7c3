"""What differs between two trees: by case, by field, and where in the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SHOWN = 5  # differences of one field of a case that are printed
LENGTH = 160  # characters of a value that are printed
_NOTHING = object()

Found = Mapping[str, Mapping[str, Any]]  # by case, by field


@dataclass(frozen=True)
class Difference:
    """One value that is not the same."""

    case: str
    field: str  # weights, predictions, history, traffic, …
    where: str  # the path in it
    there: str
    here: str


def compare(there: Found, here: Found) -> list[Difference]:
    """All differences; a case that failed, even in both trees alike, is one."""
    found = []
    for case in dict.fromkeys([*there, *here]):
        old, new = dict(there.get(case, {})), dict(here.get(case, {}))
        for name in dict.fromkeys([*old, *new]):
            if name == "error":
                found.append(Difference(case, name, "", text(old.get(name, "fine")), text(new.get(name, "fine"))))
            else:
                walked = walk(old.get(name, _NOTHING), new.get(name, _NOTHING))
                found += [Difference(case, name, *difference) for difference in walked]
    return found


def walk(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Paths at which two pieces of JSON differ, with both values. Numbers are equal to the last bit, or differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from walk(old.get(key, _NOTHING), new.get(key, _NOTHING), f"{path}.{key}" if path else str(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, pair in enumerate(zip(old, new, strict=True)):
            yield from walk(*pair, f"{path}[{i}]")
    elif repr(old) != repr(new):  # == takes 1 for 1.0, and 0.0 for -0.0
        yield path, text(old), text(new)


def text(value: Any) -> str:
    """A value in one line; of an error, its last line."""
    if value is _NOTHING:
        return "nothing"
    shown = repr(value) if not isinstance(value, str) else value.strip().splitlines()[-1] if value.strip() else "''"
    return shown if len(shown) <= LENGTH else f"{shown[:LENGTH]}…"


def report(differences: list[Difference]) -> list[str]:
    """The differences as lines, by case and field."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for difference in differences:
        groups.setdefault((difference.case, difference.field), []).append(difference)
    lines = []
    for (case, name), group in groups.items():
        lines.append(f"{case}: {name}: {len(group)} {'difference' if len(group) == 1 else 'differences'}")
        lines += [f"    {d.where or 'all of it'}: {d.there} there, {d.here} here" for d in group[:SHOWN]]
        if len(group) > SHOWN:
            lines.append(f"    and {len(group) - SHOWN} more")
    return lines
