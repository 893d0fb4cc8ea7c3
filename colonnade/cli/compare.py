"""`colonnade compare`: what it does, and how it looks in a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from colonnade.cli.arguments import Arrangement, arranged, check_json, check_out, fraction_of, method_names, number_of
from colonnade.cli.report import write_page
from colonnade.cli.terminal import console, print_table, progress
from colonnade.errors import ConfigError, one_of, raise_all
from colonnade.lab.compare.compare import Outcome, grid, run_grid
from colonnade.lab.compare.tuning import best_of_tries, tries_of
from colonnade.lab.report.kinds import KINDS, too_little
from colonnade.lab.report.summary import Row, higher_is_better, marks, summarise
from colonnade.lab.report.tables import target_text
from colonnade.lab.report.text import aligned_text, bytes_text, draw_in_words, labels_text, score_text
from colonnade.lab.run.files import write_json
from colonnade.methods._base.options.text import parse_settings
from colonnade.methods._base.threads import Rule

BEST, CLOSE = "*", "•"  # seen without bold too: in a file, a pipe, a terminal without styles


def compare_methods(
    data: str, methods: str, labels: str | None, aligned: str, seeds: int, jobs: int, arrangement: Arrangement,
    settings: list[str], target: float | None, protocol: str, tune: int, out: Path | None, json_: Path | None,
    verbose: bool = False,
) -> None:  # fmt: skip
    """Run a comparison, print its table, and write its page."""
    problems: list[str] = []
    names = method_names(methods, problems)
    counts = [number_of(v, "--labels", problems) for v in labels.split(",")] if labels else [None]
    fractions = [fraction_of(v, problems) for v in aligned.split(",")]
    check_json(json_, problems)
    one_of(problems, "--protocol", protocol, ("inductive", "transductive"))
    given = arranged(arrangement, problems)
    raise_all(problems, ConfigError, "compare")
    with console.status("Reading the data"):
        cells = grid(
            names,
            data,
            labels=counts,
            aligned=fractions,
            seeds=seeds,
            settings=parse_settings(settings),
            protocol=protocol,
            **given,
        )
    tries = tries_of(cells, tune)
    cells = [one for group in tries.values() for one in group]
    folder = out or Path("colonnade-out") / f"compare-{Path(data).stem}"
    check_out(folder, "comparison.json")
    jobs = jobs or min(os.cpu_count() or 1, len(cells))
    if verbose:
        threads = Rule.here(jobs).of(cells[0].split()[0].train)
        console.print(f"{jobs} at a time, each with threads: {threads.number} ({threads.why})")
    with progress() as bars:
        task = bars.add_task("runs", total=len(cells))

        def done(outcome: Outcome) -> None:
            bars.update(task, advance=1, description=outcome.cell.method)

        outcomes = run_grid(cells, folder, jobs=jobs, done=done, target=target)
    outcomes = best_of_tries(tries, outcomes, folder)
    records = [o.record for o in outcomes if o.record is not None]
    if records:
        print_summary(records, target)
        write_page(folder, None)
    if json_ is not None:
        write_json(json_, {"runs": records})
    failed = [f"{o.cell.method}, labels {o.cell.labels}, seed {o.cell.seed}: {o.error}" for o in outcomes if o.error]
    raise_all(failed, ConfigError, f"{len(failed)} of {len(cells)} runs failed")


def print_summary(records: list[dict[str, Any]], target: float | None = None) -> None:
    """One table per comparison: mean and standard deviation over seeds, federated methods before references."""
    metric = records[0]["metric"]
    rows = summarise(records, target)
    few = too_little(records)
    marked = {} if few else marks(rows, metric)
    better = "higher" if higher_is_better(metric) else "lower"
    columns: dict[str, Callable[[Row], str]] = {
        "labels": lambda row: labels_text(row.labels),
        "aligned": lambda row: aligned_text(row.aligned),
        "method": lambda row: row.method,
        "mean ± std": lambda row: _score(row, marked.get(row, "")),
        "seeds": lambda row: str(row.n),
        "sent": lambda row: bytes_text(row.bytes) if row.bytes else "nothing",
        "seconds": lambda row: f"{row.seconds:.1f}",
        "reference": lambda row: "" if row.kind == "federated" else row.kind,
    }
    if all(row.kind == "federated" for row in rows):
        del columns["reference"]
    if target is not None:
        columns[f"to {target:g}"] = target_text
    seeds = ""
    if len({row.aligned for row in rows}) == 1:
        del columns["aligned"]
    if len({row.n for row in rows}) == 1:
        del columns["seeds"]
        seeds = f", {rows[0].n} seed{'s' if rows[0].n > 1 else ''}"
    protocol = records[0]["config"].get("protocol", "inductive")
    rows_text = "test rows" if protocol == "inductive" else "unlabelled training rows, transductive protocol"
    drawn = "".join(f", {words}" for words in draw_in_words(records[0]["config"]))
    title = f"{records[0]['data']}: {metric} on {rows_text} ({better} is better){seeds}{drawn}"
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for heading in columns:
        table.add_column(heading, no_wrap=True, justify="left" if heading in _WORDS else "right")
    for row, before in zip(rows, [None, *rows], strict=False):
        same = before is not None and row.setting == before.setting
        if before is not None and not same:
            table.add_section()
        cells = ("" if same and name in ("labels", "aligned") else text(row) for name, text in columns.items())
        table.add_row(*cells, style="" if row.kind == "federated" else "dim")
    print_table(title, table)
    _print_legend(set(marked.values()) | {row.kind for row in rows}, few)


_WORDS = ("labels", "aligned", "method", "reference")  # columns of text


def _print_legend(found: set[str], few: str) -> None:
    """What the marks and kinds that occur mean, or why nothing is marked."""
    if "pooled" in found:
        console.print(f"{KINDS['pooled']}: all columns in one place, a reference", style="dim")
    if few:
        console.print(f"Too little to judge by ({few}): no method is called best.", style="dim")
    elif "best" in found:
        near = f"; {CLOSE}: within one standard deviation of it" if "close" in found else ""
        console.print(f"{BEST}: best federated method{near}", style="dim")


def _score(row: Row, mark: str) -> str:
    text = score_text(row.mean, row.std)
    return f"[bold]{BEST} {text}[/bold]" if mark == "best" else f"{CLOSE} {text}" if mark == "close" else text
