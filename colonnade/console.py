"""What the commands do, and how it looks in a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from colonnade.arguments import Arrangement, arranged, check_json, check_out, fraction_of, method_names, number_of
from colonnade.bench.cell import Cell, run_cell
from colonnade.bench.compare import Outcome, grid, run_grid
from colonnade.bench.files import write_json
from colonnade.bench.tuning import best_of_tries, tries_of
from colonnade.errors import ConfigError, raise_all
from colonnade.methods.base import MARKER
from colonnade.methods.folder import check_replaceable
from colonnade.methods.options import describe_options, one_of, own_settings, parse_settings
from colonnade.methods.store import method_named
from colonnade.report.privacy import privacy_line
from colonnade.report.summary import Row, higher_is_better, marks, summarise
from colonnade.report.tables import target_text
from colonnade.report.text import aligned_text, bytes_text, labels_text, score_text

console = Console(highlight=False)


def show_list(json_: Path | None) -> None:
    """Print methods, datasets and objectives."""
    from colonnade import DATASETS, METHODS, OBJECTIVES

    table = Table(title="Methods", title_justify="left", box=None, padding=(0, 2))
    table.add_column("method", min_width=max(map(len, METHODS)))
    for heading in ("what it does", "source"):
        table.add_column(heading)
    for name, method in METHODS.items():
        table.add_row(f"[bold]{name}[/bold]", method.summary, method.paper)
    console.print(table, "")
    table = Table(title="Datasets", title_justify="left", box=None, padding=(0, 2))
    table.add_column("dataset", min_width=max(map(len, DATASETS)))
    for heading in ("parties", "task", "metric", "here"):
        table.add_column(heading)
    for name, data in DATASETS.items():
        table.add_row(f"[bold]{name}[/bold]", data.parties, data.task, data.metric, "yes" if data.available() else "no")
    console.print(table, "")
    console.print("[italic]Objectives (what a party can learn alone)[/italic]\n  " + ", ".join(OBJECTIVES), "")
    if any(not data.available() for data in DATASETS.values()):
        console.print("Datasets that are not here are looked up in the folder that COLONNADE_DATA names.", style="dim")
    if json_ is not None:
        methods = {n: {"summary": m.summary, "paper": m.paper, "tasks": list(m.tasks)} for n, m in METHODS.items()}
        fields = ("title", "parties", "task", "metric", "source", "terms")
        datasets = {n: {**{f: getattr(d, f) for f in fields}, "available": d.available()} for n, d in DATASETS.items()}
        write_json(json_, {"methods": methods, "datasets": datasets, "objectives": list(OBJECTIVES)})


def show_options(method: str, json_: Path | None) -> None:
    """Print the options of one method: what `--set` takes."""
    options = describe_options(method_named(method))
    table = Table(title=f"Options of {method} (--set name=value)", title_justify="left", box=None, padding=(0, 2))
    for heading in ("option", "default", "meaning"):
        table.add_column(heading)
    for option in options:
        table.add_row(f"[bold]{option.name}[/bold]", option.default, option.meaning)
    console.print(table)
    if json_ is not None:
        write_json(json_, [asdict(option) for option in options])


def run_once(
    method: str, data: str, labels: str | None, aligned: str, seed: int, arrangement: Arrangement,
    settings: list[str], out: Path | None, json_: Path | None, verbose: bool = False,
) -> None:  # fmt: skip
    """Train one method once; print its scores and its traffic; write what was asked for."""
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
        told = bars.console.print if verbose else None
        record, model = run_cell(cell, _bar(bars, method), told=told)
    _print_run(record)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        model.save(out / "model")
        wire = getattr(getattr(model, "federation_", None), "wire", None)
        write_json(out / "audit.json", [] if wire is None else wire.audit_json())
        write_json(out / "record.json", record)
        write_page(out, None)
    if json_ is not None:
        write_json(json_, record)


def _print_run(record: dict[str, Any]) -> None:
    rows = record["config"]["rows"]
    console.print(
        f"[bold]{record['method']}[/bold] on {record['data']}: {rows['train_labelled']} labelled and "
        f"{rows['train_aligned']} aligned training rows, {rows['test']} test rows"
    )
    table = Table(box=None, padding=(0, 2), show_header=False)
    for name, value in record["scores"].items():
        mark = "[bold]" if name == record["metric"] else ""
        table.add_row(f"{mark}{name}", f"{mark}{value:.4f}")
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
    """One table per comparison: mean and standard deviation over seeds, the best of each setting in bold."""
    metric = records[0]["metric"]
    rows = summarise(records, target)
    marked = marks(rows, metric)
    better = "higher" if higher_is_better(metric) else "lower"
    columns: dict[str, Callable[[Row], str]] = {
        "labels": lambda row: labels_text(row.labels),
        "aligned": lambda row: aligned_text(row.aligned),
        "method": lambda row: row.method,
        "mean ± std": lambda row: _score(row, marked.get(row, "")),
        "seeds": lambda row: str(row.n),
        "sent": lambda row: bytes_text(row.bytes) if row.bytes else "nothing",
        "seconds": lambda row: f"{row.seconds:.1f}",
    }
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
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    for heading in columns:
        table.add_column(
            heading, no_wrap=True, justify="left" if heading in ("labels", "aligned", "method") else "right"
        )
    for row, before in zip(rows, [None, *rows], strict=False):
        same = before is not None and row.setting == before.setting
        if before is not None and not same:
            table.add_section()
        table.add_row(*("" if same and name in ("labels", "aligned") else text(row) for name, text in columns.items()))
    console.print(table)
    console.print("[bold]bold[/bold]: best; •: within one standard deviation of it", style="dim")


def _score(row: Row, mark: str) -> str:
    text = score_text(row.mean, row.std)
    return f"[bold]{text}[/bold]" if mark == "best" else f"• {text}" if mark == "close" else text


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
