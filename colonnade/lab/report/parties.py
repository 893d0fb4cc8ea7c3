"""Who the parties are and what each holds, for somebody who has never heard of vertical federated learning."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from colonnade.data.datasets import DATASETS
from colonnade.data.vertical import VerticalData
from colonnade.lab.report.palette import COLOURS
from colonnade.lab.report.summary import aligned_of
from colonnade.lab.report.text import draw_in_words, listed

_PIXEL = re.compile(r"r(\d+)c(\d+)")  # how a column is named that is a pixel
_SIZE, _GAP = 12, 14  # of a pixel, and between the pieces of two parties

Pixels = dict[tuple[int, int], float]  # row and column of an image, and its value


def parties_in_words(records: list[dict[str, Any]]) -> str:
    """Who the parties of these runs are, in a sentence; nothing where the records do not say it."""
    names, active = _parties(records)
    if len(names) < 2:
        return ""
    rows = "partly the same rows" if any(_is_partly_aligned(record) for record in records) else "the same rows"
    drawn = "".join(f" {words.capitalize()}." for words in draw_in_words(records[0]["config"]))
    return f'<p class="verdict">{_holders(names, active, rows)}{drawn}</p>'


def parties_picture(records: list[dict[str, Any]]) -> str:
    """One row of the data as a picture cut among the parties; nothing where the columns are no pixels."""
    names, active = _parties(records)
    pieces = _pieces(records[0]["data"], names)
    if not pieces:
        return ""
    data = escape(str(records[0]["data"]))
    drawn, width, height = _drawn(pieces, active)
    alt = f"One picture of {data}, cut into a piece for each of the parties {escape(listed(names))}."
    return (
        f'<figure class="cut"><svg role="img" aria-label="{alt}" viewBox="-2 -16 {width + 4} {height + 20}">'
        f"{drawn}</svg><figcaption>One row of {data}: {escape(_title(records))}</figcaption></figure>"
    )


def explained(records: list[dict[str, Any]]) -> str:
    """What vertical federated learning is, and how to read the scores."""
    names, active = _parties(records)
    if len(names) < 2:
        return ""
    who = _name(active)
    return (
        "<p><b>Vertical federated learning</b> trains one model over the columns of all parties without putting these "
        "columns in one place. In most methods each party turns its own columns into numbers (a "
        "<i>representation</i>) with a network of its own; the active party predicts from them and sends back how to "
        "change them (<i>gradients</i>). Such messages are what is sent; their bytes are counted here. They can still "
        "tell something about the columns and labels behind them.</p>"
        f"<p>A method is worth its messages where it beats what {who} reaches <b>alone</b>. <b>Pooled</b> means that "
        "all columns are in one place, as if the parties had given their data away: a reference, not federated.</p>"
    )


def _parties(records: list[dict[str, Any]]) -> tuple[list[str], Any]:
    """The names of the parties with columns, and the active party."""
    config = records[0]["config"]
    return [str(name) for name in config.get("parties") or []], config.get("active")


def _name(active: Any) -> str:
    return f"<b>{escape(str(active))}</b>" if active else "the active party"


def _is_partly_aligned(record: dict[str, Any]) -> bool:
    """Whether some party has training rows that others lack."""
    rows = record["config"].get("rows") or {}
    own = [rows.get(f"train_{name}", 0) for name in record["config"]["parties"]]
    return max(own) > rows.get("train_aligned", 0) or (aligned_of(record) or 1.0) < 1.0


def _holders(names: list[str], active: Any, rows: str) -> str:
    shown = names if len(names) <= 6 else [*names[:5], f"{len(names) - 5} more"]
    parties = listed([f"<b>{escape(name)}</b>" for name in shown])
    labels = f"{_name(active)} also has the labels"
    if active is not None and active not in names:
        labels = f"{_name(active)} has the labels and no columns"
    if active is None:
        labels = "one of them has the labels"
    return f"{len(names)} parties hold different columns about {rows}: {parties}; {labels}."


def _title(records: list[dict[str, Any]]) -> str:
    """What the rows are, in one line."""
    return DATASETS[records[0]["data"]].title


def _pieces(data: str, names: list[str]) -> dict[str, Pixels]:
    """The pixels of each party in one row of a data set that needs no file."""
    source = DATASETS.get(data)
    if source is None or source.files:
        return {}
    rows = source.load()
    found = {name: _pixels(rows, name) for name in names if name in rows.views}
    return found if len(found) == len(names) and all(found.values()) else {}


def _pixels(rows: VerticalData, party: str) -> Pixels:
    view = rows.views[party]
    places = [_PIXEL.fullmatch(column) for column in view.columns]
    return {
        (int(place[1]), int(place[2])): float(value)
        for place, value in zip(places, view.x[0], strict=True)
        if place is not None
    }


def _drawn(pieces: dict[str, Pixels], active: Any) -> tuple[str, float, float]:
    """The pieces, pulled apart; their width and height."""
    top = max(value for pixels in pieces.values() for value in pixels.values()) or 1.0
    corners = {name: (min(r for r, _ in pixels), min(c for _, c in pixels)) for name, pixels in pieces.items()}
    downs, rights = (sorted({corner[axis] for corner in corners.values()}) for axis in (0, 1))
    parts, width, height = [], 0.0, 0.0
    for i, (name, pixels) in enumerate(pieces.items()):
        rows, columns = (max(place[axis] for place in pixels) - corners[name][axis] + 1 for axis in (0, 1))
        x = corners[name][1] * _SIZE + rights.index(corners[name][1]) * _GAP
        y = corners[name][0] * _SIZE + downs.index(corners[name][0]) * (_GAP + 8)
        colour = COLOURS[i % len(COLOURS)]
        words = f"{name}: columns and labels" if name == active else name
        parts.append(
            f'<g transform="translate({x},{y})"><title>{escape(words)}</title>'
            f'<text y="-5">{escape(words if name != active else f"{name} + labels")}</text>'
            f'<rect class="frame" width="{columns * _SIZE}" height="{rows * _SIZE}" stroke="{colour}"/>'
            f"{_squares(pixels, corners[name], top, colour)}</g>"
        )
        width, height = max(width, x + columns * _SIZE), max(height, y + rows * _SIZE)
    return "".join(parts), width, height


def _squares(pixels: Pixels, corner: tuple[int, int], top: float, colour: str) -> str:
    """The pixels with ink, the darker the more."""
    return "".join(
        f'<rect x="{(c - corner[1]) * _SIZE}" y="{(r - corner[0]) * _SIZE}" width="{_SIZE}" height="{_SIZE}" '
        f'fill="{colour}" fill-opacity="{value / top:.2f}"/>'
        for (r, c), value in pixels.items()
        if value > 0
    )
