"""docs/results.md, made from the record: one page that says how many claims hold beyond chance, tables behind links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from colonnade.lab.report.page import write_whole
from colonnade.lab.report.reproduction import pipes
from colonnade.lab.reproduce.evidence import HOLDS, NOT_TESTABLE, REFUTED, VERDICTS
from colonnade.lab.reproduce.form import PAPERS
from colonnade.lab.reproduce.kept import RESULTS, judge_record, read_kept
from colonnade.lab.reproduce.outcome import Result
from colonnade.lab.reproduce.recipe import names, recipe
from colonnade.lab.reproduce.standing import Mark, few_seeds, read_marks

DOCS = Path("docs/results.md")
MADE = (
    "Made from [results/reproduce](../results/reproduce) by `colonnade reproduce --write-docs`; do not edit. "
    "`colonnade reproduce PAPER` runs a paper's tables again ([reproduce.md](reproduce.md))."
)
READ = (
    "A *test* is one claim on one data set. It speaks of one or more comparisons, each paired by seed.",
    "*holds*: the 95 % interval of every comparison lies above the margin that the claim asks for.",
    "*direction only*: all means are on the right side, but an interval reaches across the margin.",
    "*no difference*: every interval lies within ±.01. *refuted*: one lies wholly on the wrong side.",
    "*undecided*: everything else. *not testable here*: too few seeds, or something that was not recorded.",
    '"At most .02 worse" is non-inferiority: the whole interval must lie above -.02.',
    "A refutation by one of several comparisons is corrected for their number (Holm), and *holds* and *refuted* for "
    "the number of claims of the paper (Benjamini-Hochberg).",
    "Intervals are over seeds alone. Single test rows were not recorded, so rows cannot be drawn again.",
    '"Own data" are those of the paper. All others stand in for data that are not at hand: a verdict on them is none '
    "on the paper's numbers.",
)


def write_docs(folder: Path = RESULTS, target: Path = DOCS) -> Path:
    """Judge the record again, and make the page of results anew."""
    judge_record(folder)
    return write_whole(target, docs(read_kept(folder), read_marks(folder)))


def docs(results: Sequence[Result], marks: Sequence[Mark] = ()) -> str:
    """The page."""
    every = [claim for result in results for claim in result["claims"]]
    held = sum(claim["verdict"] == HOLDS for claim in every)
    tested = sum(claim["verdict"] != NOT_TESTABLE for claim in every)
    return "\n".join(
        [
            "# Results: the papers' claims, measured", "",
            f"**{held} of {len(every)} tests of claims hold beyond chance**; {tested} could be tested.", "",
            *_counts(results), MADE, "",
            "## How to read it", "", *(f"- {text}" for text in READ), "",
            *(line for paper in PAPERS for line in _section(paper, results)),
            *_stale(results, marks),
        ]
    ).rstrip() + "\n"  # fmt: skip


def _counts(results: Sequence[Result]) -> list[str]:
    """Tests of claims by paper and verdict, *holds* first."""
    rows = []
    for paper, (short, _) in PAPERS.items():
        mine = [result for result in results if result["paper"] == paper]
        if mine:
            rows.append((f"{paper} {short}", *_numbers(_claims(mine)), *_own(mine)))
    rows.append(("all", *_numbers(_claims(results)), *_own(results)))
    return [*pipes(("paper", "tests", *VERDICTS, "hold on own data"), rows), ""]


def _claims(results: Iterable[Result]) -> list[Mapping[str, Any]]:
    return [claim for result in results for claim in result["claims"]]


def _numbers(claims: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    found = Counter(claim["verdict"] for claim in claims)
    return str(len(claims)), *(str(found[verdict]) for verdict in VERDICTS)


def _own(results: Sequence[Result]) -> tuple[str]:
    """How many claims hold, of those tested on data of the paper."""
    own = []
    for result in results:
        same = {data["name"] for data in result["data"] if data["same"]}
        own += [claim for claim in result["claims"] if claim["data"] in same]
    return (f"{sum(claim['verdict'] == HOLDS for claim in own)} of {len(own)}",)


def _section(paper: str, results: Sequence[Result]) -> list[str]:
    mine = [result for result in results if result["paper"] == paper]
    if not mine:
        return []
    short, title = PAPERS[paper]
    parts = [f"## {paper}: {short}", "", f"{title}.", ""]
    parts += [*pipes(("table", "what it shows", "tests", "hold", "refuted"), [_row(result) for result in mine]), ""]
    for verdict, head in ((HOLDS, "Holds:"), (REFUTED, "Refuted:")):
        said: dict[str, list[str]] = {}
        for claim in _claims(mine):
            if claim["verdict"] == verdict:
                said.setdefault(claim["says"], []).append(claim["data"])
        lines = [f"- {says} ({', '.join(dict.fromkeys(data))})" for says, data in said.items()]
        parts += [head, "", *lines, ""] if lines else []
    return parts


def _row(result: Result) -> tuple[str, ...]:
    name = f"{result['paper']}-{result['table']}"
    verdicts = [claim["verdict"] for claim in result["claims"]]
    link = f"[{result['table']}](../results/reproduce/{name}.md)"
    return link, result["title"], str(len(verdicts)), str(verdicts.count(HOLDS)), str(verdicts.count(REFUTED))


def _stale(results: Sequence[Result], marks: Sequence[Mark]) -> list[str]:
    """What of the record does not stand, and why."""
    kept = {f"{result['paper']}-{result['table']}": result for result in results}
    few = sum(bool(few_seeds(recipe(name), result)) for name, result in kept.items())
    missing = [name for name in names() if name not in kept]
    without = sum("digest" not in data for result in results for data in result["data"])
    total = sum(len(result["data"]) for result in results)
    parts = ["## What does not stand as it is", ""]
    parts += [f"- {few} of {len(kept)} recorded tables have fewer seeds than their recipe names on some of their data."]
    parts += [f"- {len(missing)} of {len(names())} recipes have no record: {', '.join(missing)}."] if missing else []
    parts += (
        [
            f"- {without} of {total} recorded data sets have no digest of the code that they were made with, no "
            "command and no options: they were recorded before these were kept."
        ]
        if without
        else []
    )
    marked: dict[str, list[str]] = {}
    for mark in marks:
        marked.setdefault(mark.why, []).append(f"{mark.table} ({', '.join(mark.data)})" if mark.data else mark.table)
    return [*parts, *(f"- Stale: {', '.join(tables)}: {why}" for why, tables in marked.items()), ""]
