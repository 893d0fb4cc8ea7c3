"""The record: results of recipes as files under results/reproduce, judged anew whenever one of them changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError, DataError, raise_all
from colonnade.lab.report.page import write_whole
from colonnade.lab.report.reproduction import markdown
from colonnade.lab.reproduce.again import judged_again
from colonnade.lab.reproduce.outcome import Result
from colonnade.lab.reproduce.recipe import names, recipe
from colonnade.lab.reproduce.verdicts import settled
from colonnade.lab.run.files import write_json

RESULTS = Path("results/reproduce")


def keep(results: Sequence[Result], folder: Path) -> list[Path]:
    """Put results among those kept: data sets that were run replace what was kept of them, the others stay."""
    quick = [
        f"{_name(r)} was a quick run, which measures nothing." for r in results if any(d["quick"] for d in r["data"])
    ]
    raise_all(quick, ConfigError, "record")
    written = []
    for result in results:
        path = folder / f"{_name(result)}.json"
        merged = merge(json.loads(path.read_text()), result) if path.exists() else dict(result)
        write_json(path, merged)
        written.append(path)
    judge_record(folder)
    return written


def judge_record(folder: Path) -> list[Path]:
    """Judge all that is kept again, from the values of its seeds, and write what has changed, with its tables.

    A verdict depends on the other claims of its paper, so a new result can change those of others.
    """
    changed = []
    for old, new in zip(kept := read_kept(folder), judged(kept), strict=True):
        path = folder / f"{_name(new)}.json"
        if new != old:
            write_json(path, new)
            changed.append(path)
        if (table := table_of(new)) != _text(path.with_suffix(".md")):
            write_whole(path.with_suffix(".md"), table)
            changed.append(path.with_suffix(".md"))
    return changed


def judged(results: Sequence[Result]) -> list[Result]:
    """Recorded results with the verdicts that the values of their seeds give today."""
    return settled([judged_again(recipe(_name(result)), result) for result in results])


def table_of(result: Result) -> str:
    """The table of a recorded result as markdown, with the remarks of its recipe."""
    return markdown(result, [claim.remark for claim in recipe(_name(result)).claim if claim.remark])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def merge(old: Result, new: Result) -> Result:
    """The new result, with what the old one has of data sets that were not run again."""
    ran = {d["name"] for d in new["data"]}
    stays = {d["name"] for d in old["data"]} - ran
    order = {name: place for place, name in enumerate(_order(new))}

    def both(key: str, name: str) -> list[dict[str, Any]]:
        found = [entry for entry in old[key] if entry[name] in stays] + list(new[key])
        return sorted(found, key=lambda entry: order.get(entry[name], len(order)))

    return {
        **new,
        "data": both("data", "name"),
        "numbers": both("numbers", "data"),
        "claims": sorted(both("claims", "data"), key=lambda c: _place(new, c["says"])),
        "skipped": [s for s in new["skipped"] if s["name"] not in stays],
        "failed": [text for text in old["failed"] if any(f" on {name}," in text for name in stays)] + new["failed"],
    }


def _order(result: Result) -> list[str]:
    return [data.name for data in recipe(_name(result)).data]


def _place(result: Result, says: str) -> int:
    claims = [claim.says for claim in recipe(_name(result)).claim]
    return claims.index(says) if says in claims else len(claims)


def _name(result: Mapping[str, Any]) -> str:
    return f"{result['paper']}-{result['table']}"


def read_kept(folder: Path) -> list[Result]:
    """The results that are kept, in the order of the recipes."""
    known = names()
    files = sorted(folder.glob("*.json"), key=lambda f: known.index(f.stem) if f.stem in known else len(known))
    unknown = [f"{file} belongs to no recipe." for file in files if file.stem not in known]
    raise_all(unknown, DataError, "results")
    return [json.loads(file.read_text()) for file in files]
