"""What the commands do, and how it looks in a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from colonnade.arguments import Arrangement, arranged, check_json, check_out, fraction_of, method_names, number_of
from colonnade.bench.cell import Cell, run_cell
from colonnade.bench.compare import Outcome, grid, run_grid
from colonnade.bench.files import write_json
from colonnade.bench.references import references
from colonnade.bench.tuning import best_of_tries, tries_of
from colonnade.errors import ConfigError, raise_all
from colonnade.methods.base import MARKER, Method
from colonnade.methods.folder import check_replaceable
from colonnade.methods.options import one_of, own_settings, parse_settings
from colonnade.methods.threads import Rule
from colonnade.report.kinds import KINDS, too_little
from colonnade.report.privacy import privacy_line
from colonnade.report.summary import Row, higher_is_better, marks, summarise
from colonnade.report.tables import target_text
from colonnade.report.text import aligned_text, bytes_text, labels_text, score_text

console = Console(highlight=False)
FOLDED = 16  # letters that a column of text keeps in a narrow terminal
BEST, CLOSE = "*", "•"  # seen without bold too: in a file, a pipe, a terminal without styles


def run_once(
    method: str, data: str, labels: str | None, aligned: str, seed: int, arrangement: Arrangement,
    settings: list[str], alone: bool, out: Path | None, json_: Path | None, verbose: bool = False,
) -> None:  # fmt: skip
    """Train one method once; print its scores, what to hold them against, and its traffic; write what was asked for."""
    problems: list[str] = []
    options = own_settings(method.partition(":")[0].strip(), parse_settings(settings))
    cell = Cell(
        method, data, number_of(labels, "--labels", problems), fraction_of(aligned, problems), seed,
        options=options, with_map=out is not None, **arranged(arrangement, problems),
    )  # fmt: skip
    check_json(json_, problems)
    raise_all(problems, ConfigError, "run")
    cell.build()
    if out is not None:
        check_out(out, "record.json")
        check_replaceable(out / "model", MARKER)
    with progress() as bars:
        parts, metric = cell.split()
        told = bars.console.print if verbose else None
        record, model = run_cell(cell, _bar(bars, method), (parts, metric), told=told)
        if out is not None:  # before anything else is trained, so that an interruption does not lose the run
            _save_run(out, record, model)
        found, reason = references(cell, parts, metric, train=alone, progress=_bar(bars, "active party alone"))
    record["references"] = found.to_json()
    _print_run(record, reason)
    if out is not None:
        write_json(out / "record.json", record)
        write_page(out, None)
    if json_ is not None:
        write_json(json_, record)


def _save_run(out: Path, record: dict[str, Any], model: Method) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.save(out / "model")
    wire = getattr(getattr(model, "federation_", None), "wire", None)
    write_json(out / "audit.json", [] if wire is None else wire.audit_json())
    write_json(out / "record.json", record)


def _print_run(record: dict[str, Any], reason: str) -> None:
    """The scores of a run; `reason` says why the active party was not trained alone."""
    rows = record["config"]["rows"]
    console.print(
        f"[bold]{record['method']}[/bold] on {record['data']}: {rows['train_labelled']} labelled and "
        f"{rows['train_aligned']} aligned training rows, {rows['test']} test rows"
    )
    metric, alone, guess = record["metric"], record["references"]["alone"], record["references"]["guess"]
    table = Table(box=None, padding=(0, 2), collapse_padding=True, show_header=False)
    direction = "" if higher_is_better(metric) else " (lower is better)"
    table.add_row(f"[bold]{metric}{direction}", f"[bold]{record['score']:.4f}")
    if alone is not None or reason:
        table.add_row("active party alone", f"not trained: {escape(reason)}" if alone is None else f"{alone:.4f}")
    table.add_row("constant guess", f"{guess:.4f}")
    for name, value in record["scores"].items():
        if name != metric:
            table.add_row(name, f"{value:.4f}")
    traffic = record["traffic"]
    table.add_row(
        "sent", f"{bytes_text(traffic['bytes'])} in {traffic['messages']:,} messages, {traffic['rounds']:,} rounds"
    )
    table.add_row("time", f"{record['seconds']:.1f} s")
    if record.get("privacy"):
        table.add_row("privacy", privacy_line(record["privacy"]))
    console.print(table)


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
    title = f"{records[0]['data']}: {metric} on {rows_text} ({better} is better){seeds}"
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


def print_table(title: str, table: Table) -> None:
    """Print a table under its title; where the terminal is too narrow for it, print each row as lines."""
    console.print(Text(title, style="italic"))
    if _least_width(table) <= console.width:
        console.print(table)
        return
    for row in zip(*(column.cells for column in table.columns), strict=True):
        filled = [(column.header, cell) for column, cell in zip(table.columns, row, strict=True) if cell]
        if len(filled) == 1:  # a heading of rows
            console.print(filled[0][1])
            continue
        for header, cell in filled:
            console.print(f"  [dim]{header}:[/dim] {cell}")
        console.print()


def _least_width(table: Table) -> int:
    """The columns that a table needs so that nothing is cut off and no text is folded to a few letters."""
    between = 0 if table.box is None else 1
    total = between * (len(table.columns) - 1)
    for column in table.columns:
        longest = max(Text.from_markup(str(cell)).cell_len for cell in (column.header, *column.cells))
        total += longest if column.no_wrap else min(longest, FOLDED)
    return total + 2 * len(table.columns)  # a blank on each side of a cell


def write_page(folder: Path, out: Path | None) -> None:
    """Write the HTML page and say where it is."""
    from colonnade.report import write_report

    console.print(f"Report: [bold]{write_report(folder, out)}[/bold]", soft_wrap=True)


def progress() -> Progress:
    """Bars that vanish when the work is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True)


def _bar(bars: Progress, method: str) -> Callable[[str, int, int], None]:
    tasks: dict[str, Any] = {}

    def update(phase: str, done: int, total: int) -> None:
        if phase not in tasks:
            tasks[phase] = bars.add_task(f"{method}: {phase}", total=total)
        bars.update(tasks[phase], completed=done, total=total)

    return update
