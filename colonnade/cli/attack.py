"""`colonnade attack`: what it does, and how it looks in a terminal."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from colonnade.cli.arguments import check_json
from colonnade.cli.terminal import console, print_table
from colonnade.errors import ConfigError, raise_all
from colonnade.lab.attacks import judge, lines, load_run
from colonnade.lab.run.files import write_json


def attack_run(
    folder: Path, attacks: list[str] | None, adversary: str | None, auxiliary: int | None, seeds: int,
    json_: Path | None,
) -> None:  # fmt: skip
    """Attack a finished run; print what was found, which attacks failed, and which do not fit."""
    problems: list[str] = []
    check_json(json_, problems)
    raise_all(problems, ConfigError, "attack")
    with console.status("Reading the run") as status:
        run = load_run(folder)
        run.tell = status.update
        found = judge(run, attacks=attacks, adversary=adversary, auxiliary=auxiliary, seeds=seeds)
    title = f"{run.model.name} in {folder}: attacks, {seeds} seed{'s' if seeds > 1 else ''}"
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for heading in ("attack", "adversary", "target", "score", "baseline", "prior", "advantage", "error"):
        left = heading in ("attack", "adversary", "target")
        table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=heading != "target")
    every = lines(found.findings)
    for line in every:
        one = line.finding
        score = f"{line.score:.3f}" + (f" ± {line.spread:.3f}" if seeds > 1 else "")
        figures = (score, f"{line.baseline:.3f}", f"{line.prior:.3f}", f"{line.advantage:+.3f}", f"{line.error:.3f}")
        table.add_row(one.attack, one.adversary, f"{one.target} ({one.metric})", *figures)
    for failure in found.failed:
        table.add_row(failure["attack"], failure["adversary"], escape(f"failed: {failure['reason']}"), *["-"] * 5)
    print_table(title, table)
    console.print()
    for line in every:
        console.print(f"{line.sentence()} It used {line.finding.used}.", soft_wrap=True)
    for refusal in found.refused:
        who = f"{refusal['attack']} by {refusal['adversary']}"
        console.print(f"Not performed: {who}: {refusal['reason']}", style="dim", soft_wrap=True, markup=False)
    if json_ is not None:
        write_json(json_, {"run": str(folder), **found.to_json()})
    if found.failed:
        raise typer.Exit(1)
