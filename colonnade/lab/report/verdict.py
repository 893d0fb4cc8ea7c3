"""The words at the top: what the active party reaches alone, federated, and with pooled columns, and at what cost."""

from __future__ import annotations

from typing import Any

from colonnade.lab.report.kinds import kind_of, too_little
from colonnade.lab.report.summary import Row, best_of, higher_is_better, setting_of, settings
from colonnade.lab.report.text import bytes_text, listed, score_text, seconds_text, setting_text


def title(records: list[dict[str, Any]], rows: list[Row]) -> str:
    """The heading of the page."""
    methods = sorted({row.method for row in rows})
    data = records[0]["data"]
    if len(methods) == 1:
        return f"{methods[0]} on {data}"
    return f"{data}: what do the other parties' columns add?"


def verdict(records: list[dict[str, Any]], rows: list[Row]) -> str:
    """A few plain words about a run, or about the setting with the fewest labels."""
    if len(records) == 1:
        return _run_verdict(records[0], rows[0])
    setting = settings(rows)[0]
    here = [row for row in rows if row.setting == setting]
    metric = records[0]["metric"]
    place = f"With {setting_text(*setting)}"
    answers = [
        text for text in (_alone(here, records, metric), _federated(here, metric), _pooled(here, metric)) if text
    ]
    if not answers:
        return f"{place}, no method reached a finite score."
    over = f" Means over {here[0].n} seeds." if here[0].n > 1 else ""
    few = too_little(records)
    cost = f"{_range_of_bytes(here)}{_caution(few)}" if few else _cost(here, metric)
    return f"{place}, {metric} is {listed(answers)}.{cost}{over}"


def span(rows: list[Row], metric: str) -> str:
    """The scores of some rows from worst to best: one number where they read the same."""
    found = sorted((row.mean for row in rows), reverse=not higher_is_better(metric))
    ends = dict.fromkeys(score_text(value) for value in (found[0], found[-1]))
    return " to ".join(ends)


def of_kind(rows: list[Row], kind: str, metric: str) -> list[Row]:
    """The rows of a kind that have a score."""
    return [row for row in rows if row.kind == kind and best_of([row], metric)]


def cost_of(row: Row) -> str:
    """What a row sends."""
    return bytes_text(row.bytes) if row.bytes else "nothing"


def _alone(here: list[Row], records: list[dict[str, Any]], metric: str) -> str:
    best = best_of(of_kind(here, "alone", metric), metric)
    if best is None:
        return ""
    active = records[0]["config"].get("active")
    return f"{score_text(best.mean)} for {active or 'the active party'} alone"


def _federated(here: list[Row], metric: str) -> str:
    rows = of_kind(here, "federated", metric)
    return f"{span(rows, metric)} federated" if rows else ""


def _pooled(here: list[Row], metric: str) -> str:
    best = best_of(of_kind(here, "pooled", metric), metric)
    return f"{score_text(best.mean)} with all columns pooled in one place (not federated)" if best else ""


def _cost(here: list[Row], metric: str) -> str:
    """What the cheapest and the best federated method send."""
    rows = of_kind(here, "federated", metric)
    best = best_of(rows, metric)
    if best is None:
        return ""
    cheap = min(rows, key=lambda row: row.bytes)
    if len(rows) == 1 or cheap is best:
        return f" {best.method} sends {cost_of(best)} ({score_text(best.mean)})."
    return (
        f" The cheapest, {cheap.method}, sends {cost_of(cheap)} ({score_text(cheap.mean)}); "
        f"the best, {best.method}, sends {cost_of(best)} ({score_text(best.mean)})."
    )


def _range_of_bytes(here: list[Row]) -> str:
    """What federated methods send, from least to most."""
    found = sorted(row.bytes for row in here if row.kind == "federated")
    if not found:
        return ""
    ends = dict.fromkeys(bytes_text(count) for count in (found[0], found[-1]))
    return f" Federated methods send {' to '.join(ends)}."


def _caution(reason: str) -> str:
    return f" {reason[0].upper()}{reason[1:]}: too little to judge by. No method is called better than another."


def _run_verdict(record: dict[str, Any], row: Row) -> str:
    """What one run reached, beside what the same rows give without it."""
    traffic = record["traffic"]
    place = f"on {record['data']} with {setting_text(*setting_of(record))}"
    how = ""
    if row.bytes:
        counts = [f"{traffic[key]:,} {key}" for key in ("messages", "rounds") if isinstance(traffic.get(key), int)]
        how = f" in {listed(counts)}" if counts else ""
    pooled = ", with all columns pooled (not federated)" if kind_of(record) == "pooled" else ""
    score = f"{record['metric']} {score_text(row.mean)}"
    sent = f"sending {cost_of(row)}{how}, in {seconds_text(row.seconds)}"
    return f"{record['method']} reached {score} {place}{pooled}, {sent}.{_references(record)}"


REFERENCES = {
    "alone": "the active party alone",
    "guess": "a constant guess",
    "pooled": "all columns pooled (not federated)",
}


def references_of(record: dict[str, Any]) -> dict[str, float]:
    """The scores that a record gives for comparison, in this order."""
    given = record.get("references") or {}
    return {name: float(given[name]) for name in REFERENCES if isinstance(given.get(name), int | float)}


def _references(record: dict[str, Any]) -> str:
    found = [f"{REFERENCES[name]} {score_text(score)}" for name, score in references_of(record).items()]
    return f" For comparison: {listed(found)}." if found else ""
