"""Numbers and settings as people read them; shared by the page and the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def bytes_text(count: float, *, exact: bool = True) -> str:
    """Bytes in decimal units, with three digits or, when not `exact`, as few as will do.

    >>> bytes_text(0), bytes_text(950), bytes_text(12_400_000)
    ('0 B', '950 B', '12.4 MB')
    """
    size = float(count)
    if size < 999.5:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5 or unit == "TB":
            break
    return f"{three_digits(size) if exact else format(size, '.3g')} {unit}"


def seconds_text(seconds: float) -> str:
    """A duration.

    >>> seconds_text(0.042), seconds_text(75.2), seconds_text(7384)
    ('0.042 s', '75.2 s', '2 h 3 min')
    """
    if seconds < 120:
        return f"{three_digits(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def three_digits(value: float) -> str:
    """`value` with at least three significant digits and no exponent for everyday sizes."""
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if 0 < size < 0.001 or size >= 1e7:
        return f"{value:.3g}"
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}"


def score_text(value: float, std: float | None = None) -> str:
    """A score, with its spread where there is one.

    >>> score_text(0.9312, 0.0041), score_text(12.345)
    ('0.931 ± 0.004', '12.3')
    """
    if not math.isfinite(value):
        return "not finite"
    digits = 3 if abs(value) < 10 else 1
    spread = "" if std is None or not math.isfinite(std) else f" ± {std:.{digits}f}"
    return f"{value:.{digits}f}{spread}"


def labels_text(labels: float | None) -> str:
    """How many labels: `all`, a percentage for a fraction below one, or a count."""
    if labels is None:
        return "all"
    return percent_text(labels) if labels < 1 else f"{labels:,.0f}"


def aligned_text(aligned: float | None) -> str:
    """How many rows are aligned; None means that the data were used as they are."""
    return "as given" if aligned is None else percent_text(aligned)


def percent_text(fraction: float) -> str:
    """A fraction as a percentage without needless zeros."""
    return f"{100 * fraction:.4g}%"


def setting_text(labels: float | None, aligned: float | None) -> str:
    """One setting in words, e.g. `5% of the labels, 40% of the rows aligned`."""
    if labels is None:
        first = "all labels"
    elif labels < 1:
        first = f"{percent_text(labels)} of the labels"
    else:
        first = f"{labels:,.0f} label{'' if labels == 1 else 's'}"
    if aligned is None:
        return first
    return f"{first}, {'all rows' if aligned == 1 else percent_text(aligned) + ' of the rows'} aligned"


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def draw_in_words(config: Mapping[str, Any]) -> list[str]:
    """How labels were drawn, of a run's configuration or a recipe's result, where it is not the default."""
    words = ["labels drawn at random"] if config.get("labels_drawn") == "random" else []
    return words + (["labels on aligned rows alone"] if config.get("labelled_rows") == "aligned" else [])
