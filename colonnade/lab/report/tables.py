"""The parts of the page that are text: summary table, figures of one run, configuration, versions."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any

from colonnade.lab.report.kinds import KINDS
from colonnade.lab.report.palette import Style
from colonnade.lab.report.records import seed_of
from colonnade.lab.report.summary import Row, higher_is_better, setting_of, setting_order
from colonnade.lab.report.text import aligned_text, bytes_text, labels_text, score_text, seconds_text, setting_text

_NUMBER = ' class="number"'


def summary_table(rows: list[Row], metric: str, look: dict[str, Style], target: float | None = None) -> str:
    """Every number: method by setting, sortable."""
    heads = ["method", "kind", "labels", "aligned", metric, "seeds", "bytes sent", "seconds"]
    if target is not None:
        heads.append(f"bytes to {target:g}")
    head = "".join(
        f'<th scope="col"{"" if i == 0 else _NUMBER}><button type="button">{escape(name)}</button></th>'
        for i, name in enumerate(heads)
    )
    body = []
    for i, row in enumerate(rows):
        first = i > 0 and row.setting != rows[i - 1].setting
        body.append(_summary_row(row, look[row.method], first, target is not None))
    direction = "Higher" if higher_is_better(metric) else "Lower"
    caption = (
        f"Mean ± standard deviation of {escape(metric)} on the test split over seeds; {direction.lower()} is better. "
        "Bytes and seconds are means. Click a heading to sort."
    )
    if target is not None:
        caption += (
            f" The last column has the bytes sent until the validation score first reached {target:g}, "
            "mean over the seeds that did."
        )
    return (
        '<div class="scroll" role="region" aria-label="Summary table" tabindex="0">'
        f'<table class="sortable"><caption><span>{caption}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def target_text(row: Row) -> str:
    """The bytes to the target, and how many seeds reached it where some did not."""
    if row.to_target is None:
        return "not reached"
    size = bytes_text(row.to_target) if row.to_target else "nothing"
    return size if row.reached == row.n else f"{size} ({row.reached}/{row.n})"


def _summary_row(row: Row, style: Style, starts_setting: bool, with_target: bool = False) -> str:
    """One row; `data-value` is what sorting goes by."""
    classes = "starts" if starts_setting else ""
    swatch = f'<span class="swatch" style="background:{style.colour}"></span>'
    worst = "" if math.isfinite(row.mean) else "nan"
    cells = [
        (row.kind, KINDS[row.kind]),
        (setting_order((row.labels, None)), labels_text(row.labels)),
        (setting_order((None, row.aligned))[2:], aligned_text(row.aligned)),
        (worst or row.mean, score_text(row.mean, row.std)),
        (row.n, str(row.n)),
        (row.bytes, bytes_text(row.bytes) if row.bytes else "nothing"),
        (row.seconds, seconds_text(row.seconds)),
    ]
    if with_target:
        cells.append((math.inf if row.to_target is None else row.to_target, target_text(row)))
    inner = "".join(f'<td{_NUMBER} data-value="{_sort_value(value)}">{text}</td>' for value, text in cells)
    method = escape(row.method)
    name = f'<th scope="row" title="{method}" data-value="{method}">{swatch}{method}</th>'
    return f'<tr class="{classes}">{name}{inner}</tr>'


def _sort_value(value: Any) -> str:
    """A number that sorts like `value`; of a tuple (kind, size, …), kinds stay apart."""
    if isinstance(value, tuple):
        value = value[0] * 1e15 + value[1] if len(value) > 1 else value[0]
    return "1e300" if value == math.inf else str(value)


def run_figures(record: dict[str, Any]) -> str:
    """The numbers of one run besides its score: other scores, and what it cost."""
    traffic = record["traffic"]
    pairs = []
    for name, value in (record.get("scores") or {}).items():
        if name != record["metric"] and isinstance(value, int | float):
            pairs.append((name, score_text(float(value))))
    pairs.append(("sent", bytes_text(traffic["bytes"])))
    pairs += [(key, f"{traffic[key]:,}") for key in ("messages", "rounds") if isinstance(traffic.get(key), int)]
    pairs.append(("time", seconds_text(record["seconds"])))
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs)
    return f'<dl class="facts">{facts}</dl>'


def configuration(records: list[dict[str, Any]]) -> str:
    """The configuration of each run, folded away; the runs of one method lie together."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: (record["method"], setting_order(setting_of(record)))):
        by_method.setdefault(record["method"], []).append(record)
    if len(records) == 1:
        return _run_details(records[0])
    return "".join(
        f"<details><summary>{escape(method)} <small>{len(group)} runs</small></summary>"
        f"{''.join(_run_details(record) for record in group)}</details>"
        for method, group in by_method.items()
    )


def _run_details(record: dict[str, Any]) -> str:
    score = score_text(float(record["score"]))
    name = f"{setting_text(*setting_of(record))}, seed {seed_of(record)}"
    summary = f"{escape(name)} <small>{escape(record['metric'])} {score}</small>"
    pairs = {key: _value_text(value) for key, value in record["config"].items()}
    for key, value in (record.get("scores") or {}).items():
        pairs[f"score: {key}"] = _value_text(value)
    return f"<details><summary>{summary}</summary>{_pairs_table('Configuration of this run', pairs)}</details>"


def versions(records: list[dict[str, Any]]) -> str:
    """Each package with the version, or versions, that the runs used."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for name, version in (record.get("versions") or {}).items():
            found.setdefault(str(name), {})[_value_text(version)] = None
    if not found:
        return "<p>The records name no versions.</p>"
    return _pairs_table("Versions the runs used", {name: ", ".join(seen) for name, seen in found.items()})


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _pairs_table(caption: str, pairs: dict[str, str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(str(key))}</th><td>{escape(value)}</td></tr>' for key, value in pairs.items()
    )
    return f'<table class="pairs"><caption class="unseen">{escape(caption)}</caption><tbody>{rows}</tbody></table>'
