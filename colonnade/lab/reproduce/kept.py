"""The record: results of recipes as files under results/reproduce, and docs/results.md made from them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError, DataError, raise_all
from colonnade.lab.report.page import write_whole
from colonnade.lab.report.reproduction import (
    CLAIM_HEADS,
    READ_CLAIMS,
    about,
    claim_row,
    differences,
    heading,
    left_out,
    markdown,
    pipes,
)
from colonnade.lab.reproduce.form import PAPERS
from colonnade.lab.reproduce.outcome import Result
from colonnade.lab.reproduce.recipe import names, recipe
from colonnade.lab.run.files import write_json

RESULTS, DOCS = Path("results/reproduce"), Path("docs/results.md")
INTRODUCTION = (
    "Made from [results/reproduce](../results/reproduce) by `make results`; do not edit. `colonnade reproduce PAPER` "
    "runs a paper's tables again ([reproduce.md](reproduce.md)). A claim is split into comparisons of means over the "
    "same seeds and rows; it holds where all of them do. Baselines get the same rows, scaling, encoders and early "
    "stopping as the paper's own method."
)


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
        write_whole(path.with_suffix(".md"), markdown(merged))
        written.append(path)
    return written


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


def write_docs(folder: Path = RESULTS, target: Path = DOCS) -> Path:
    """Make the page of results anew."""
    return write_whole(target, docs(read_kept(folder)))


def docs(results: Sequence[Result]) -> str:
    """docs/results.md: which claims of which paper hold, which do not, and why."""
    parts = [
        "# Results: the papers' claims, measured",
        "",
        INTRODUCTION,
        "",
        READ_CLAIMS,
        "",
        *pipes(
            ("paper", "tables", "hold", "hold in part", "do not hold", "refuted"),
            [_tally(results, paper) for paper in PAPERS if any(result["paper"] == paper for result in results)],
        ),
        "",
        "Refuted: of those that do not hold, or not everywhere, the ones with a difference against them beyond chance. "
        "The others are differences that as many seeds cannot tell from none.",
        "",
    ]
    for paper, (short, title) in PAPERS.items():
        mine = [result for result in results if result["paper"] == paper]
        if mine:
            parts += [f"## {paper}: {short}", "", f"{title}.", ""]
        for result in mine:
            parts += _section(result)
    return "\n".join(parts).rstrip() + "\n"


def _tally(results: Sequence[Result], paper: str) -> tuple[str, ...]:
    mine = [result for result in results if result["paper"] == paper]
    claims = [claim for result in mine for claim in result["claims"]]
    found = Counter(_sort(claim["holds"]) for claim in claims)
    refuted = sum(_sort(claim["holds"]) in ("part", "no") and claim["certain"][1] > 0 for claim in claims)
    counts = (len(mine), found["yes"], found["part"], found["no"], refuted)
    return f"{paper} {PAPERS[paper][0]}", *map(str, counts)


def _sort(holds: str) -> str:
    return "part" if holds.startswith("in ") else holds


def _section(result: Result) -> list[str]:
    name = _name(result)
    rows = [claim_row(claim) for claim in result["claims"]]
    parts = [f"### {heading(result)}", "", f"{about(result)} Numbers: [{name}.md](../results/reproduce/{name}.md).", ""]
    parts += differences(result)
    if rows:
        parts += [*pipes(CLAIM_HEADS, rows), ""]
    remarks = [claim.remark for claim in recipe(name).claim if claim.remark]
    parts += [f"- {text}" for text in remarks] + [""] * bool(remarks)
    return parts + left_out(result)
