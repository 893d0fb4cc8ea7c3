"""What `colonnade list` prints: what can run here, all there is, or the options of a method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colonnade.cli.terminal import console
from colonnade.data.datasets import DATASETS
from colonnade.lab.run.files import write_json
from colonnade.methods._base.families import FAMILIES
from colonnade.methods._base.method import Method
from colonnade.methods._base.options.text import describe_options
from colonnade.methods.registry import METHODS, method_named
from colonnade.objectives import OBJECTIVES


def show_here(json_: Path | None) -> None:
    """Print the methods that are installed, one line each, and the data sets that are here."""
    here = {name: method for name, method in METHODS.items() if method.installed()}
    for heading, methods in _by_family(here):
        table = _table()
        table.add_column(no_wrap=True, min_width=max(map(len, here)))
        for name, method in methods.items():
            table.add_row(f"[bold]{name}[/bold]", method.summary)
        _print(heading, table)
    _show_not_installed()
    table = _table("data set", "parties", "task")
    found = {name: data for name, data in DATASETS.items() if data.available()}
    for name, data in found.items():
        table.add_row(f"[bold]{name}[/bold]", str(data.default_parties), data.task)
    _print("Data sets that are here", table)
    _show_the_way_on(len(DATASETS) - len(found))
    _write(json_)


def show_all(json_: Path | None) -> None:
    """Print all methods with their papers, all data sets, and the objectives."""
    for heading, methods in _by_family(METHODS):
        table = _table()
        table.add_column(no_wrap=True, min_width=max(map(len, METHODS)))
        table.add_column(overflow="fold")
        for name, method in methods.items():
            table.add_row(f"[bold]{name}[/bold]", f"{method.summary}. [dim]{method.paper}[/dim]")
        _print(heading, table)
    _show_not_installed()
    table = _table()
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, data in DATASETS.items():
        place = "" if data.available() else ", not here"
        about = f"{data.title}; {data.parties}. [dim]{data.task}, {data.metric}{place}[/dim]"
        table.add_row(f"[bold]{name}[/bold]", about)
    _print("Data sets", table)
    console.print("[bold]Objectives[/bold]: what a party can learn alone")
    console.print(Padding(", ".join(OBJECTIVES), (0, 0, 1, 2)))
    _show_the_way_on(sum(not data.available() for data in DATASETS.values()))
    _write(json_)


def show_options(method: str, json_: Path | None) -> None:
    """Print the options of one method, with what each does and what its value must be: what `--set` takes."""
    options = describe_options(method_named(method))
    table = _table("option", "default", "meaning")
    for option in options:
        must = f" [dim]Must be {escape(option.allowed)}.[/dim]" if option.allowed else ""
        table.add_row(f"[bold]{option.name}[/bold]", escape(option.default), escape(option.meaning) + must)
    _print(f"Options of {method} (--set name=value)", table)
    if json_ is not None:
        write_json(json_, [asdict(option) for option in options])


def _by_family(methods: dict[str, type[Method]]) -> Iterator[tuple[str, dict[str, type[Method]]]]:
    for family, heading in FAMILIES.items():
        found = {name: method for name, method in methods.items() if method.family == family}
        if found:
            yield heading, found


def _table(*headings: str) -> Table:
    """A table whose cells are folded, not cut off, where the terminal is narrow."""
    table = Table(box=None, padding=(0, 2), collapse_padding=True, pad_edge=False, show_header=bool(headings))
    for heading in headings:
        table.add_column(heading, header_style="dim", overflow="fold")
    return table


def _print(title: str, table: Table) -> None:
    console.print(Text(title, style="bold"))
    console.print(Padding(table, (0, 0, 1, 2)))


def _show_not_installed() -> None:
    for name, method in METHODS.items():
        if not method.installed():
            console.print(
                f"Not installed: [bold]{name}[/bold], by pip install 'colonnade\\[{method.extra}]'", soft_wrap=True
            )


def _show_the_way_on(absent: int) -> None:
    if absent:
        console.print(f"{absent} data sets are not here. [bold]colonnade data get NAME[/bold] fetches one.")
    console.print("[bold]colonnade list METHOD[/bold] shows a method's options, [bold]list --all[/bold] everything.")


def _write(json_: Path | None) -> None:
    if json_ is None:
        return
    methods: dict[str, Any] = {}
    for name, method in METHODS.items():
        texts = {"summary": method.summary, "paper": method.paper, "family": method.family}
        methods[name] = {**texts, "tasks": list(method.tasks), "installed": method.installed()}
    fields = ("title", "parties", "task", "metric", "source", "terms")
    datasets = {n: {**{f: getattr(d, f) for f in fields}, "available": d.available()} for n, d in DATASETS.items()}
    write_json(json_, {"methods": methods, "datasets": datasets, "objectives": list(OBJECTIVES)})
