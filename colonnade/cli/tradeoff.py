"""`colonnade tradeoff`: what it does, and how it looks in a terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from colonnade.cli.arguments import check_json, check_out, fraction_of, method_names, number_of
from colonnade.cli.report import write_page
from colonnade.cli.terminal import console, print_table, progress
from colonnade.errors import ConfigError, raise_all
from colonnade.lab.compare.compare import Outcome
from colonnade.lab.compare.tradeoff import run_trials
from colonnade.lab.compare.trials import Asked, trials
from colonnade.lab.report.leakage import Spot, by_threat, headlines, points, spots
from colonnade.lab.report.tradeoff import figures
from colonnade.lab.run.cell import Cell
from colonnade.lab.run.files import write_json
from colonnade.methods._base.options.text import parse_settings


def trade_off(
    data: str, methods: str, protect: list[str], attacks: list[str], adversary: str | None, auxiliary: int | None,
    labels: str | None, aligned: str, seeds: int, jobs: int, parties: int | None, settings: list[str],
    out: Path | None, json_: Path | None,
) -> None:  # fmt: skip
    """Train and attack every method with every protection; print tables and a summary, and write the page."""
    problems: list[str] = []
    names = method_names(methods, problems)
    setting = Cell("", data, number_of(labels, "--labels", problems), fraction_of(aligned, problems), parties=parties)
    check_json(json_, problems)
    raise_all(problems, ConfigError, "tradeoff")
    asked = Asked(tuple(attacks), adversary, auxiliary)
    with console.status("Reading the data"):
        every = trials(names, protect, asked, setting, seeds=seeds, settings=parse_settings(settings))
    folder = out or Path("colonnade-out") / f"tradeoff-{Path(data).stem}"
    check_out(folder, "comparison.json")
    with progress() as bars:
        task = bars.add_task("runs", total=len(every))

        def done(outcome: Outcome) -> None:
            bars.update(task, advance=1, description=outcome.cell.method)

        jobs = jobs or min(os.cpu_count() or 1, len(every))
        outcomes = run_trials(every, asked, folder, jobs=jobs, done=done)
    records = [o.record for o in outcomes if o.record is not None]
    if records:
        summary = print_tradeoff(records)
        write_page(folder, None)
        if json_ is not None:
            found = [point.to_json() for point in points(records)]
            write_json(json_, {"points": found, "summary": summary, "runs": records})
    failed = [f"{o.cell.method}, seed {o.cell.seed}: {o.error}" for o in outcomes if o.error]
    raise_all(failed, ConfigError, f"{len(failed)} of {len(every)} runs failed")


def print_tradeoff(records: list[dict[str, Any]]) -> list[str]:
    """One table for each attack, adversary and target; then, and as result, what it means."""
    every = spots(points(records))
    for threat, mine in by_threat(every).items():
        point = mine[0].points[0]
        title = f"{threat[0]} by {threat[1]}: {threat[2]} ({point.attack_metric}, prior {point.prior:.3f})"
        table = Table(box=SIMPLE_HEAD, show_edge=False)
        for heading in ("protection", point.metric, "attack", "baseline", "advantage"):
            left = heading == "protection"
            table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=not left)
        for spot, before in zip(mine, [None, *mine], strict=False):
            if before is None or spot.method != before.method:
                table.add_section()
                table.add_row(f"[bold]{spot.method}[/bold]")
            _, protection, main, attack, baseline, _, advantage = figures(spot)
            table.add_row(re.sub(r"\+(?!\d)", "\n+", protection), main, attack, baseline, advantage)
        print_table(title, table)
        console.print()
    console.print(_legend(every), style="dim")
    summary = headlines(every)
    for text in summary:
        console.print(text, soft_wrap=True, markup=False)
    return summary


def _legend(every: list[Spot]) -> str:
    """What the marks mean that occur."""
    meanings = ["± of an advantage: standard error"]
    if any(spot.std(name) is not None for spot in every for name in ("main", "score")):
        meanings.insert(0, "± of a score: standard deviation over seeds")
    if any(spot.leaks for spot in every):
        meanings.append("*: an advantage beyond two standard errors")
    return "; ".join(meanings)
