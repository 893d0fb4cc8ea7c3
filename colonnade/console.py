"""What the commands do, and how it looks in a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from colonnade.bench.cell import Cell, run_cell
from colonnade.bench.compare import Outcome, grid, run_grid
from colonnade.bench.files import write_json
from colonnade.bench.tuning import best_of_tries, variants
from colonnade.errors import ConfigError, raise_all
from colonnade.methods.options import describe_options, one_of, parse_settings
from colonnade.methods.store import method_named
from colonnade.report.leakage import by_threat, headlines, points, spots
from colonnade.report.privacy import privacy_line
from colonnade.report.summary import Row, higher_is_better, marks, summarise
from colonnade.report.tables import target_text
from colonnade.report.text import aligned_text, bytes_text, labels_text, score_text
from colonnade.report.tradeoff import figures

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
    settings: list[str], out: Path | None, json_: Path | None,
) -> None:  # fmt: skip
    """Train one method once; print its scores and its traffic; write what was asked for."""
    problems: list[str] = []
    cell = Cell(
        method, data, _number(labels, "--labels", problems), _fraction(aligned, problems), seed,
        options=parse_settings(settings), with_map=out is not None, **arranged(arrangement, problems),
    )  # fmt: skip
    _check_json(json_, problems)
    raise_all(problems, ConfigError, "run")
    cell.build()
    if out is not None:
        check_out(out, "record.json")
    with progress() as bars:
        record, model = run_cell(cell, _bar(bars, method))
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
    names = _method_names(methods, problems)
    counts = [_number(v, "--labels", problems) for v in labels.split(",")] if labels else [None]
    fractions = [_fraction(v, problems) for v in aligned.split(",")]
    _check_json(json_, problems)
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
    tries = {cell.key: variants(cell, tune) for cell in cells} if tune > 1 else {}
    cells = [one for group in tries.values() for one in group] or cells
    folder = out or Path("colonnade-out") / f"compare-{Path(data).stem}"
    check_out(folder, "comparison.json")
    jobs = jobs or min(os.cpu_count() or 1, len(cells))
    with progress() as bars:
        task = bars.add_task("runs", total=len(cells))

        def done(outcome: Outcome) -> None:
            bars.update(task, advance=1, description=outcome.cell.method)

        outcomes = run_grid(cells, folder, jobs=jobs, done=done, target=target)
    outcomes = best_of_tries(tries, outcomes, folder) if tries else outcomes
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


def attack_run(
    folder: Path, attacks: list[str] | None, adversary: str | None, auxiliary: int | None, seeds: int,
    json_: Path | None,
) -> None:  # fmt: skip
    """Attack a finished run; print what was found, and which attacks do not fit."""
    from colonnade.attacks import judge, lines, load_run

    problems: list[str] = []
    _check_json(json_, problems)
    raise_all(problems, ConfigError, "attack")
    with console.status("Reading the run") as status:
        run = load_run(folder)
        run.tell = status.update
        found = judge(run, attacks=attacks, adversary=adversary, auxiliary=auxiliary, seeds=seeds)
    title = f"{run.model.name} in {folder}: attacks, {seeds} seed{'s' if seeds > 1 else ''}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    for heading in ("attack", "adversary", "target", "score", "baseline", "prior", "advantage", "error"):
        left = heading in ("attack", "adversary", "target")
        table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=heading != "target")
    every = lines(found.findings)
    for line in every:
        one = line.finding
        score = f"{line.score:.3f}" + (f" ± {line.spread:.3f}" if seeds > 1 else "")
        figures = (score, f"{line.baseline:.3f}", f"{line.prior:.3f}", f"{line.advantage:+.3f}", f"{line.error:.3f}")
        table.add_row(one.attack, one.adversary, f"{one.target} ({one.metric})", *figures)
    console.print(table, "")
    for line in every:
        console.print(f"{line.sentence()} It used {line.finding.used}.", soft_wrap=True)
    for refusal in found.refused:
        who = f"{refusal['attack']} by {refusal['adversary']}"
        console.print(f"Not performed: {who}: {refusal['reason']}", style="dim", soft_wrap=True, markup=False)
    if json_ is not None:
        write_json(json_, {"run": str(folder), **found.to_json()})


def trade_off(
    data: str, methods: str, protect: list[str], attacks: list[str], adversary: str | None, auxiliary: int | None,
    labels: str | None, aligned: str, seeds: int, jobs: int, parties: int | None, settings: list[str],
    out: Path | None, json_: Path | None,
) -> None:  # fmt: skip
    """Train and attack every method with every protection; print tables and a summary, and write the page."""
    from colonnade.bench.tradeoff import run_trials
    from colonnade.bench.trials import Asked, trials

    problems: list[str] = []
    names = _method_names(methods, problems)
    setting = Cell("", data, _number(labels, "--labels", problems), _fraction(aligned, problems), parties=parties)
    _check_json(json_, problems)
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
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False)
        for heading in ("protection", point.metric, "attack", "baseline", "advantage"):
            left = heading == "protection"
            table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=not left)
        for spot, before in zip(mine, [None, *mine], strict=False):
            if before is None or spot.method != before.method:
                table.add_section()
                table.add_row(f"[bold]{spot.method}[/bold]")
            _, protection, main, attack, baseline, _, advantage = figures(spot)
            table.add_row(re.sub(r"\+(?!\d)", "\n+", protection), main, attack, baseline, advantage)
        console.print(table, "")
    console.print(
        "± of scores: standard deviation over seeds; of the advantage: standard error; *: beyond two", style="dim"
    )
    summary = headlines(every)
    for text in summary:
        console.print(text, soft_wrap=True, markup=False)
    return summary


def check_out(folder: Path, ours: str) -> None:
    """Refuse to write into a folder that holds something else."""
    if folder.is_file():
        raise ConfigError(f"--out {folder} is a file. Name a folder.")
    if folder.exists() and any(folder.iterdir()) and not (folder / ours).exists():
        raise ConfigError(f"--out {folder} holds other files. Name a new or empty folder.")


def _method_names(methods: str, problems: list[str]) -> list[str]:
    names = [m.strip() for m in re.split(r",(?![^\[]*\])", methods) if m.strip()]  # no cut inside hidden=[64,32]
    if not names:
        problems.append("--methods is empty. Name some, e.g. local,splitnn.")
    return names


def _number(text: str | None, option: str, problems: list[str]) -> float | None:
    if text is None or text.strip().lower() == "all":
        return None
    try:
        value = float(text)
    except ValueError:
        problems.append(f"{option} must be a number or a fraction. Got {text!r}. Use e.g. 100 or 0.05.")
        return None
    return int(value) if value > 1 and value.is_integer() else value


def _fraction(text: str, problems: list[str]) -> float:
    value = _number(text, "--aligned", problems)
    return 1.0 if value is None else value


Arrangement = tuple[int | None, str | None, int | None, str | None]  # --parties, --active, --rows, --bias


def arranged(given: Arrangement, problems: list[str]) -> dict[str, Any]:
    """How the data are arranged, as a cell takes it."""
    parties, active, rows, bias = given
    share, _, dominant = (bias or "").partition(":")
    found: dict[str, Any] = {"parties": parties, "active": active, "rows": rows, "bias": None}
    if bias is not None:
        try:
            found["bias"] = float(share), int(dominant)
        except ValueError:
            problems.append(f"--bias must be SHARE:DOMINANT, e.g. 0.5:30. Got {bias!r}.")
    return found


def _check_json(path: Path | None, problems: list[str]) -> None:
    if path is not None and path.is_dir():
        problems.append(f"--json {path} is a folder. Name a file.")


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
