"""The one sentence at the top: what came out, and what it cost."""

from __future__ import annotations

from typing import Any

from colonnade.report.summary import Row, best_of, marks, setting_of, settings
from colonnade.report.text import bytes_text, listed, score_text, seconds_text, setting_text


def title(records: list[dict[str, Any]], rows: list[Row]) -> str:
    """The heading of the page."""
    methods = sorted({row.method for row in rows})
    data = records[0]["data"]
    if len(methods) == 1:
        return f"{methods[0]} on {data}"
    return f"{data}: {len(methods)} methods compared"


def verdict(records: list[dict[str, Any]], rows: list[Row]) -> str:
    """One plain sentence about a run, or about the setting with the fewest labels."""
    if len(records) == 1:
        return _run_verdict(records[0], rows[0])
    setting = settings(rows)[0]
    here = [row for row in rows if row.setting == setting]
    metric = records[0]["metric"]
    place = f"On {records[0]['data']} with {setting_text(*setting)}"
    best = best_of(here, metric)
    if best is None:
        return f"{place}, no method reached a finite score."
    over = "1 seed" if best.n == 1 else f"mean of {best.n} seeds"
    lead = f"{best.method} scores best" if len(here) > 1 else f"{best.method} scores"
    head = f"{place}, {lead}: {metric} {score_text(best.mean, best.std)} ({over}), {_cost(best)}"
    return f"{head}{_remark(here, best, metric)}."


def _run_verdict(record: dict[str, Any], row: Row) -> str:
    traffic = record["traffic"]
    place = f"on {record['data']} with {setting_text(*setting_of(record))}"
    how = ""
    if row.bytes:
        counts = [f"{traffic[key]:,} {key}" for key in ("messages", "rounds") if isinstance(traffic.get(key), int)]
        how = f" in {listed(counts)}" if counts else ""
    score = f"{record['metric']} {score_text(row.mean)}"
    return f"{record['method']} reached {score} {place}, {_cost(row)}{how}, in {seconds_text(row.seconds)}."


def _cost(row: Row) -> str:
    return f"sending {bytes_text(row.bytes)}" if row.bytes else "sending nothing"


def _remark(here: list[Row], best: Row, metric: str) -> str:
    """A second half: a tie that costs less, or the best method that communicates."""
    marked = marks(here, metric)
    close = [row for row in here if marked.get(row) == "close"]
    if not best.bytes:
        talking = best_of([row for row in here if row.bytes], metric)
        if talking is None:
            return ""
        score = score_text(talking.mean, talking.std)
        return f"; of the methods that communicate, {talking.method} is best ({score}, {_cost(talking)})"
    cheaper = [row for row in close if row.bytes < best.bytes]
    if cheaper:
        row = min(cheaper, key=lambda row: row.bytes)
        return f"; {row.method} comes within one standard deviation of it, {_cost(row)}"
    if close:
        return f"; {listed([row.method for row in close])} within one standard deviation of it"
    second = best_of([row for row in here if row is not best], metric)
    if second is None:
        return ""
    return f"; next comes {second.method} ({score_text(second.mean, second.std)}, {_cost(second)})"
