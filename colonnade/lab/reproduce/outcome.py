"""The result of a recipe as JSON: each number beside the paper's, each claim with its verdict, what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from colonnade.lab.reproduce.claims import claims_of
from colonnade.lab.reproduce.form import PAPERS, Data, Recipe, data_named, text
from colonnade.lab.reproduce.plan import Place, Planned, values_along
from colonnade.lab.reproduce.prints import beside_print
from colonnade.lab.reproduce.spots import Measured, Spot, lower_is_better, mean, std, values

Result = dict[str, Any]


def measured_of(planned: Sequence[Planned], records: Mapping[str, Mapping[str, Any]]) -> Measured:
    """The finished runs by their places; `records` by the keys of cells."""
    found: dict[Place, dict[int, Mapping[str, Any]]] = {}
    runs: dict[Place, str] = {}
    for item in planned:
        record = records.get(item.cell.key)
        if record is not None:
            found.setdefault(item.place, {})[item.cell.seed] = record
            runs[item.place] = item.cell.method
    return {place: Spot(place, runs[place], by_seed) for place, by_seed in found.items()}


def result_of(
    made: Recipe,
    planned: Sequence[Planned],
    measured: Measured,
    *,
    skipped: Mapping[str, str],
    failed: Sequence[str],
    stamp: Mapping[str, Any],
    digests: Mapping[str, str] | None = None,
) -> Result:
    """What is kept of a recipe's runs; verdicts on claims are for `verdicts.settled`.

    Args:
        made: the recipe.
        planned: its runs.
        measured: those that are finished.
        skipped: data that are left out, and why.
        failed: runs that failed, one line each.
        stamp: when, where and with what the runs were made.
        digests: of the code that the runs of each data set depend on.
    """
    here = {item.place: _here(item) for item in planned}
    ran = {place.data for place in measured}
    options = {item.place: item.cell.options for item in planned}
    numbers = [
        _number(made, spot, measure, here[spot.place], options[spot.place]) for spot, measure in _asked(made, measured)
    ]
    result = {
        "paper": made.paper, "table": made.table, "title": made.title, "of": PAPERS[made.paper][1],
        "protocol": made.protocol, "labels_drawn": made.labels_drawn, "labelled_rows": made.labelled_rows,
        "differs": list(made.differs),
        "data": [_data(d, measured, {**stamp, **_digest(digests, d)}) for d in made.data if d.name in ran],
        "skipped": [{"name": name, "why": why} for name, why in skipped.items()],
        "failed": list(failed),
        "numbers": numbers,
        "claims": claims_of(made, measured),
    }  # fmt: skip
    found: Result = plain({**result, "numbers": judged_numbers(made, result, measured)})
    return found


def judged_numbers(made: Recipe, result: Result, measured: Measured) -> list[dict[str, Any]]:
    """The numbers of a result, each with its verdict beside the print."""
    found = []
    for line in result["numbers"]:
        spot = measured[Place(line["data"], line["method"], tuple(line["at"].items()))]
        lower = lower_is_better(made, spot, line["measure"])
        found.append({**line, **beside_print(line, result, made.tolerance, lower)})
    return found


def _digest(digests: Mapping[str, str] | None, data: Data) -> dict[str, str]:
    return {"digest": digests[data.name]} if digests else {}


def _data(data: Data, measured: Measured, stamp: Mapping[str, Any]) -> dict[str, Any]:
    """A data set, and how its runs were made."""
    records = [r for place, spot in measured.items() if place.data == data.name for r in spot.records.values()]
    return {
        "name": data.name, "paper": data.paper, "same": data.same, "why": data.why, **stamp,
        "runs": len(records), "core_seconds": round(sum(record["seconds"] for record in records)),
    }  # fmt: skip


def _asked(made: Recipe, measured: Measured) -> list[tuple[Spot, str]]:
    """Spots, with the measure that the paper prints of them, or their score."""
    asked = []
    for spot in measured.values():
        printed = [p.measure for p in made.printed if p.data == spot.place.data and spot.place.method in p.values]
        claimed = [c.measure for c in made.claim if spot.place.method in (*c.of, *c.than)]
        wanted = dict.fromkeys([*printed, *claimed, "epsilon" if made.loss else "score"])
        asked += [(spot, measure) for measure in wanted if measure != "score" or not made.loss]
    return asked


def _here(item: Planned) -> dict[str, str]:
    """Values that are others here than the paper's."""
    cell = item.cell
    found = {"labels": cell.labels, "aligned": cell.aligned, "parties": cell.parties, "active": cell.active}
    said = {axis: item.place.value(axis) for axis in found}
    return {
        axis: text(value)
        for axis, value in found.items()
        if said[axis] not in (None, text(value), _percent(value), "all")
    }


def _percent(value: object) -> str:
    return f"{100 * value:g}%" if isinstance(value, float) else ""


def _number(made: Recipe, spot: Spot, measure: str, here: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    found = values(made, spot, measure)
    data = data_named(made, spot.place.data)
    entry = next(m for m in made.method if m.name == spot.place.method)
    claimed = _claimed(made, spot.place, measure)
    first = next(iter(spot.records.values()))
    average = mean(found)
    line = {
        "data": data.name, "paper_data": data.paper, "method": entry.name, "run": spot.run, "ours": entry.ours,
        "at": dict(spot.place.at), "here": here, "measure": measure,
        "metric": data.metric or first.get("metric", measure), "claimed": claimed,
        "mean": average if found else None, "std": std(found), "n": len(found), "of": len(spot.records),
        "seeds": sorted(spot.records), "values": [found.get(seed) for seed in sorted(spot.records)],
        "options": options,
    }  # fmt: skip
    if not made.loss:
        line["bytes"] = round(mean(values(made, spot, "bytes")))
        line["seconds"] = mean(values(made, spot, "seconds"))
    if claimed is not None and found:
        line["difference"] = average - claimed
    return line


def _claimed(made: Recipe, place: Place, measure: str) -> float | None:
    """The paper's number at a place."""
    for printed in made.printed:
        if (printed.data, printed.measure) != (place.data, measure) or place.method not in printed.values:
            continue
        if any(place.value(axis) not in (None, name) for axis, name in printed.at.items()):
            continue
        row = printed.values[place.method]
        if printed.along is None:
            return _figure(row[0])
        names = values_along(made, place.data, place.method, printed.along)
        if (name := place.value(printed.along)) in names:
            return _figure(row[names.index(name)])
        if printed.along in next(m for m in made.method if m.name == place.method).fixed:
            return _figure(row[0])
    return None


def _figure(value: float | str) -> float | None:
    return None if isinstance(value, str) else float(value)


def plain(value: Any) -> Any:
    """Infinite numbers as text, which JSON can hold."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
