"""`colonnade run`: what it does, and how it looks in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from colonnade.cli.arguments import Arrangement, arranged, check_json, check_out, fraction_of, number_of
from colonnade.cli.report import write_page
from colonnade.cli.terminal import bar, console, progress
from colonnade.errors import ConfigError, raise_all
from colonnade.lab.report.privacy import privacy_line
from colonnade.lab.report.summary import higher_is_better
from colonnade.lab.report.text import bytes_text, draw_in_words
from colonnade.lab.run.cell import Cell, run_cell
from colonnade.lab.run.files import write_json
from colonnade.lab.run.references import references
from colonnade.methods._base.folder import check_replaceable
from colonnade.methods._base.method import Method
from colonnade.methods._base.options.text import own_settings, parse_settings
from colonnade.methods._base.store import MARKER


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
        record, model = run_cell(cell, bar(bars, method), (parts, metric), told=told)
        if out is not None:  # before anything else is trained, so that an interruption does not lose the run
            _save_run(out, record, model)
        found, reason = references(cell, parts, metric, train=alone, progress=bar(bars, "active party alone"))
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
    fed = model.trained().federation
    write_json(out / "audit.json", [] if fed is None else fed.wire.audit_json())
    write_json(out / "record.json", record)


def _print_run(record: dict[str, Any], reason: str) -> None:
    """The scores of a run; `reason` says why the active party was not trained alone."""
    rows = record["config"]["rows"]
    console.print(
        f"[bold]{record['method']}[/bold] on {record['data']}: {rows['train_labelled']} labelled and "
        f"{rows['train_aligned']} aligned training rows, {rows['test']} test rows"
        f"{''.join(f', {words}' for words in draw_in_words(record['config']))}"
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
