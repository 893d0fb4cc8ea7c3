"""`colonnade reproduce`: what it does, and how it looks in a terminal."""

from __future__ import annotations

import os
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from colonnade.cli.terminal import console, progress
from colonnade.errors import ConfigError, raise_all
from colonnade.lab.compare.compare import Outcome
from colonnade.lab.report.reproduction import CLAIM_HEADS, NUMBER_HEADS, about, claim_row, heading, number_row
from colonnade.lab.reproduce.evidence import HOLDS, NOT_TESTABLE, REFUTED
from colonnade.lab.reproduce.form import PAPERS
from colonnade.lab.reproduce.kept import RESULTS, keep, read_kept
from colonnade.lab.reproduce.outcome import Result
from colonnade.lab.reproduce.recipe import chosen, names, recipe
from colonnade.lab.reproduce.reproduce import EXAMPLE, Asked, jobs_of, run_jobs, runs_of
from colonnade.lab.reproduce.results_page import DOCS, write_docs
from colonnade.lab.reproduce.standing import read_marks, standing
from colonnade.lab.run.files import write_json
from colonnade.methods._base.options.text import parse_settings


def reproduce_tables(
    papers: list[str], table: str | None, data: str | None, quick: bool, seeds: int | None, tune: int, jobs: int,
    settings: list[str], out: Path | None, record: bool, docs: bool, json_: Path | None,
) -> None:  # fmt: skip
    """Run recipes, print what they gave, and write pages; without a paper, list the recipes."""
    if not papers and not docs:
        show_recipes()
        return
    if papers:
        results = _run(papers, table, data, quick, seeds, tune, jobs, settings, out)
        if json_ is not None:
            write_json(json_, {"results": results})
        if record:
            for path in keep(results, RESULTS):
                console.print(f"Kept: [bold]{path}[/bold]", soft_wrap=True)
    if docs:
        console.print(f"Written: [bold]{write_docs(RESULTS, DOCS)}[/bold]")
    if papers:
        failed = [text for result in results for text in result["failed"]]
        raise_all(failed, ConfigError, f"{len(failed)} runs failed")


def show_recipes() -> None:
    """The tables that can be reproduced."""
    listing = Table(title="Recipes", title_justify="left", box=None, padding=(0, 2))
    kept = {f"{result['paper']}-{result['table']}": result for result in read_kept(RESULTS)}
    for head in ("paper", "table", "what it shows", "data", *(["record"] if kept else [])):
        listing.add_column(head)
    marks = read_marks(RESULTS)
    for name in names():
        made = recipe(name)
        data = ", ".join(d.name for d in made.data)
        record = [standing(made, kept.get(name), marks)] if kept else []
        listing.add_row(
            f"{made.paper} {PAPERS[made.paper][0]}", f"[bold]{made.table}[/bold]", made.title, data, *record
        )
    console.print(listing, "")
    console.print(f"Start with: [bold]{EXAMPLE}[/bold]", soft_wrap=True)


def _run(
    papers: list[str], table: str | None, data: str | None, quick: bool, seeds: int | None, tune: int, jobs: int,
    settings: list[str], out: Path | None,
) -> list[Result]:  # fmt: skip
    asked = Asked(
        out or Path("colonnade-out") / "reproduce", quick, seeds, jobs or os.cpu_count() or 1,
        parse_settings(settings), None, tuple(d.strip() for d in data.split(",")) if data else (), tune,
    )  # fmt: skip
    every = list(PAPERS) if papers == ["all"] else papers
    planned = jobs_of([recipe(name) for paper in every for name in chosen(paper, table)], asked)
    with progress() as bars:
        task = bars.add_task("runs", total=runs_of(planned, asked))

        def done(outcome: Outcome) -> None:
            bars.update(task, advance=1, description=f"{outcome.cell.method} on {outcome.cell.data}")

        finished = run_jobs(planned, asked, done)
    for job, result, _ in finished:
        print_result(result)
        console.print(f"Page: [bold]{(job.folder / job.made.name).with_suffix('.html')}[/bold]\n", soft_wrap=True)
    return [result for _, result, _ in finished]


def print_result(result: Result) -> None:
    """Claims with their verdicts, and the numbers that the paper prints beside ours."""
    console.print(Text(heading(result), style="bold"))
    console.print(about(result), style="dim", soft_wrap=True, markup=False)
    for skipped in result["skipped"]:
        console.print(f"Left out: {skipped['name']}: {skipped['why']}", style="dim", soft_wrap=True, markup=False)
    if result["claims"]:
        claims = Table(box=SIMPLE_HEAD, show_edge=False)
        for head in CLAIM_HEADS:
            claims.add_column(head, overflow="fold", no_wrap=head == "data")
        for claim in result["claims"]:
            says, where, verdict, *rest = claim_row(claim)
            colour = _COLOURS.get(claim["verdict"], "yellow")
            claims.add_row(says, where, f"[{colour}]{escape(verdict)}[/]", *(escape(cell) for cell in rest))
        console.print(claims, "")
    lines = [line for line in result["numbers"] if line["claimed"] is not None]
    if lines:
        numbers = Table(box=SIMPLE_HEAD, show_edge=False)
        for head in NUMBER_HEADS[:7]:
            numbers.add_column(head, overflow="fold")
        for line in lines:
            row = [line["data"], line["method"], *number_row(line)[2:7]]
            numbers.add_row(*(cell.replace("[", "\\[") for cell in row))
        console.print(numbers, "")
    more = len(result["numbers"]) - len(lines)
    if more:
        console.print(f"{more} more numbers, which the paper does not print, are on the page.", style="dim")


_COLOURS = {HOLDS: "green", REFUTED: "red", NOT_TESTABLE: "dim"}
