"""Read the records of a run or of a comparison from its folder, and say what is wrong with them.

A run is `DIR/record.json`; a comparison is `DIR/cells/*.json`, one record each, listed in `DIR/comparison.json`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from colonnade.errors import DataError, raise_all
from colonnade.lab.report.kinds import KINDS
from colonnade.lab.report.summary import aligned_of, labels_of
from colonnade.lab.report.text import setting_text

Record = dict[str, Any]

_REQUIRED = {
    "method": "text",
    "data": "text",
    "task": "text",
    "metric": "text",
    "score": "a number",
    "seconds": "a number",
    "traffic": "an object",
    "config": "an object",
}
_OPTIONAL = {
    "kind": "text",
    "references": "an object",
    "scores": "an object",
    "versions": "an object",
    "history": "a list",
    "map": "an object",
}
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "a number": (int, float),
    "an object": (dict,),
    "a list": (list,),
}


def read_records(folder: Path | str) -> list[Record]:
    """Every record under `folder`, in the order of the file names.

    Raises:
        DataError: nothing usable is there, or records do not belong in one report; all problems are listed.
    """
    folder = Path(folder)
    files = _record_files(folder)
    problems: list[str] = []
    records: list[Record] = []
    for file in files:
        name = file.relative_to(folder).as_posix()
        value = _load(file, name, problems)
        found = [] if value is None else check_record(value, name)
        problems += found
        if value is not None and not found:
            records.append(value)
    if not problems:
        problems = check_together(records, [file.relative_to(folder).as_posix() for file in files])
    raise_all(problems, DataError, f"No report can be made of {folder}")
    return records


def _record_files(folder: Path) -> list[Path]:
    """The files that hold the records of `folder`."""
    expected = f"{folder}/record.json (a run) or {folder}/cells/*.json (a comparison)"
    if not folder.is_dir():
        raise DataError(f"No report can be made of {folder}: it is not a folder. Expected {expected}.")
    run = folder / "record.json"
    cells = _cells(folder)
    if run.is_file() and cells:
        raise DataError(
            f"No report can be made of {folder}: it holds both a run (record.json) and a comparison "
            f"({len(cells)} files in cells/). Move one of them to a folder of its own."
        )
    if run.is_file():
        return [run]
    if not cells:
        raise DataError(
            f"No report can be made of {folder}: no record is there. Expected {expected}. "
            f"`colonnade run … --out DIR` and `colonnade compare … --out DIR` write them."
        )
    return cells


def _cells(folder: Path) -> list[Path]:
    """The files of a comparison: those its list names, or all of them where there is no list.

    The list matters when the same folder was used with other options before: finished runs of both are kept.
    """
    names = _comparison(folder).get("cells")
    if names is None:
        return sorted((folder / "cells").glob("*.json"))
    return [path for name in names if (path := folder / "cells" / f"{name}.json").is_file()]


def read_target(folder: Path | str) -> float | None:
    """The target score that a comparison was asked about, if it was."""
    target: float | None = _comparison(Path(folder)).get("target")
    return target


def _comparison(folder: Path) -> dict[str, Any]:
    """What `DIR/comparison.json` says; nothing when it is not there."""
    listed = folder / "comparison.json"
    if not listed.is_file():
        return {}
    try:
        found: dict[str, Any] = json.loads(listed.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{listed} is not readable JSON ({error}). Run the comparison again.") from None
    return found


def _load(file: Path, name: str, problems: list[str]) -> Record | None:
    """The object in `file`, or None with a line in `problems`."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problems.append(f"{name} is not readable JSON ({error}). Delete it, or run that cell again.")
        return None
    if not isinstance(value, dict):
        problems.append(f"{name} must hold one record (a JSON object). Got {type(value).__name__}.")
        return None
    return value


def check_record(record: Record, name: str) -> list[str]:
    """What keeps `record`, found in `name`, from being shown."""
    problems = [
        f"{name}: {key!r} must be {kind}. Got {_shown(record.get(key))}."
        for key, kind in _REQUIRED.items()
        if not _is(record.get(key), kind)
    ]
    problems += [
        f"{name}: {key!r} must be {kind} when it is there. Got {_shown(record[key])}."
        for key, kind in _OPTIONAL.items()
        if record.get(key) is not None and not _is(record[key], kind)
    ]
    return problems or _check_inside(record, name)


def _check_inside(record: Record, name: str) -> list[str]:
    """Problems one level down: traffic, the setting, history, map."""
    problems = []
    if record.get("kind", "federated") not in KINDS:
        problems.append(f"{name}: 'kind' must be one of {', '.join(KINDS)}. Got {_shown(record['kind'])}.")
    traffic = record["traffic"]
    if not _is(traffic.get("bytes"), "a number") or not 0 <= traffic["bytes"] < math.inf:
        problems.append(f"{name}: traffic 'bytes' must be a number, 0 or more. Got {_shown(traffic.get('bytes'))}.")
    for part in ("by_phase", "by_kind", "by_direction"):
        entries = traffic.get(part) or {}
        if not isinstance(entries, dict) or not all(
            isinstance(entry, dict) and _is(entry.get("bytes"), "a number") for entry in entries.values()
        ):
            problems.append(f"{name}: traffic {part!r} must map names to objects with 'bytes'. Got {_shown(entries)}.")
    for key in ("labels", "aligned"):
        value = record["config"].get(key)
        if value is not None and not _is(value, "a number"):
            problems.append(f"{name}: config {key!r} must be a number or null. Got {_shown(value)}.")
    if not all(isinstance(entry, dict) for entry in record.get("history") or []):
        problems.append(f"{name}: 'history' must be a list of objects, one per epoch.")
    return problems + _check_map(record.get("map"), name)


def _check_map(value: Any, name: str) -> list[str]:
    """Problems of the optional 2-D map."""
    if value is None:
        return []
    points, labels = value.get("points"), value.get("labels")
    if not isinstance(points, list) or not isinstance(labels, list) or len(points) != len(labels):
        return [f"{name}: 'map' must hold 'points' and 'labels' of equal length."]
    if not all(isinstance(p, list) and len(p) == 2 and all(_is(v, "a number") for v in p) for p in points):
        return [f"{name}: every point of 'map' must be [x, y]."]
    return []


def check_together(records: list[Record], names: list[str]) -> list[str]:
    """Problems of records that cannot stand in one table: other data or metric, or the same run twice."""
    problems = []
    protocols = sorted({str(record["config"].get("protocol", "inductive")) for record in records})
    if len(protocols) > 1:
        problems.append(f"one report has one protocol. Got {', '.join(protocols)}. Keep one per folder.")
    for key, default in (("labels_drawn", "stratified"), ("labelled_rows", "any")):
        found = sorted({str(record["config"].get(key, default)) for record in records})
        if len(found) > 1:
            problems.append(f"one report has one {key}. Got {', '.join(found)}. Keep one per folder.")
    for key in ("data", "metric"):
        found = sorted({record[key] for record in records})
        if len(found) > 1:
            problems.append(f"one report compares one {key}. Got {', '.join(found)}. Keep one per folder.")
    seen: dict[tuple[Any, ...], str] = {}
    for record, name in zip(records, names, strict=True):
        setting = (labels_of(record), aligned_of(record))
        key_of_run = (record["method"], *setting, seed_of(record))
        if key_of_run in seen:
            problems.append(
                f"{seen[key_of_run]} and {name} are the same run: {record['method']}, {setting_text(*setting)}, "
                f"seed {seed_of(record)}. Keep one."
            )
        seen[key_of_run] = name
    return problems


def seed_of(record: Record) -> Any:
    """The seed of a run, from the record or its config; the text of it when it is not a number."""
    seed = record.get("seed", record["config"].get("seed"))
    return seed if seed is None or isinstance(seed, int) else str(seed)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """A short form of `value` for an error."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
