"""The answer in large figures: alone, federated, pooled; and for one run what stands beside it."""

from __future__ import annotations

from html import escape
from typing import Any

from colonnade.lab.report.kinds import kind_of
from colonnade.lab.report.summary import Row, best_of, settings
from colonnade.lab.report.text import bytes_text, score_text
from colonnade.lab.report.verdict import REFERENCES, cost_of, of_kind, references_of, span

Tile = tuple[str, str, str, str]  # class, heading, figure, note


def comparison_tiles(rows: list[Row], metric: str) -> str:
    """The setting with the fewest labels in three figures."""
    setting = settings(rows)[0]
    here = [row for row in rows if row.setting == setting]
    tiles: list[Tile] = []
    if alone := best_of(of_kind(here, "alone", metric), metric):
        tiles.append(("alone", "alone", score_text(alone.mean), f"{alone.method}: sends nothing"))
    if federated := of_kind(here, "federated", metric):
        tiles.append(("federated", "federated", span(federated, metric), f"sending {_bytes(federated)}"))
    if pooled := best_of(of_kind(here, "pooled", metric), metric):
        note = f"{pooled.method}: all columns in one place"
        tiles.append(("pooled", "pooled, not federated", score_text(pooled.mean), note))
    return _tiles(tiles) if len(tiles) > 1 else ""


def run_tiles(record: dict[str, Any], row: Row) -> str:
    """The score of a run between its references, in the order in which they ought to rise."""
    references = references_of(record)
    tiles: list[Tile] = [
        (name, _heading(name), score_text(references[name]), "") for name in ("guess", "alone") if name in references
    ]
    heading = f"this run, {record['metric']}"
    tiles.append((kind_of(record), heading, score_text(row.mean), f"{record['method']}: sends {cost_of(row)}"))
    if "pooled" in references:
        tiles.append(("pooled", "pooled, not federated", score_text(references["pooled"]), "all columns in one place"))
    return _tiles(tiles)


def _heading(name: str) -> str:
    return REFERENCES[name].removeprefix("the ").removeprefix("a ")


def _bytes(rows: list[Row]) -> str:
    counts = sorted(row.bytes for row in rows)
    return " to ".join(dict.fromkeys(bytes_text(count) for count in (counts[0], counts[-1])))


def _tiles(tiles: list[Tile]) -> str:
    drawn = "".join(
        f'<div class="{escape(name)}"><dt>{escape(heading)}</dt><dd>{escape(figure)}</dd>'
        f'<dd class="note">{escape(note)}</dd></div>'
        for name, heading, figure, note in tiles
    )
    return f'<dl class="tiles">{drawn}</dl>'
