"""`colonnade data …`: which data sets are here, and how to get the others. Heavy imports wait until a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import TaskID

    from colonnade.data.datasets.download import Entry

data = typer.Typer(
    no_args_is_help=True,
    help="List data sets, and get them from their sources.",
    epilog="Start with: [bold]colonnade data list[/bold]",
)


@data.command()
def get(
    names: Annotated[list[str], typer.Argument(help="Data sets of `colonnade data list`.")],
    yes: Annotated[bool, typer.Option("--yes", help="Accept the terms of use, where they must be accepted.")] = False,
) -> None:
    """Fetch data sets from their sources into the data folder: checked, and continued after an interruption.

    The folder is the one that COLONNADE_DATA names, by default ~/.cache/colonnade/data.

    Example: colonnade data get mfeat phishing
    """
    from colonnade.data.datasets import dataset
    from colonnade.errors import ColonnadeError, DataError, raise_all

    wanted = {dataset(name).files or (name,): dataset(name) for name in names}
    problems = []
    for one in wanted.values():
        try:
            _get(one, yes)
        except ColonnadeError as error:
            if len(wanted) == 1:
                raise
            problems.append(str(error))
    raise_all(problems, DataError, "colonnade data get")


def _get(one: Any, accept: bool) -> None:
    """One data set, with a bar for each file."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from colonnade.data.datasets.download import get as fetch

    console = Console(highlight=False, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(name: str, there: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=there, total=total)

        fetch(one, accept=accept, say=lambda line: bars.console.print(line, soft_wrap=True), progress=progress)


@data.command("list")
def list_(
    json_: Annotated[Path | None, typer.Option("--json", help="Write the list to this file.")] = None,
) -> None:
    """Which data sets are here, with their sizes and licences; the file of --json has their sources too.

    Example: colonnade data list
    """
    from dataclasses import asdict

    from rich.markup import escape
    from rich.table import Table

    from colonnade.cli.terminal import console, print_table
    from colonnade.data.datasets.download import inventory
    from colonnade.data.datasets.place import data_folder
    from colonnade.lab.run.files import write_json

    entries = inventory()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading, kept in (("data set", True), ("here", True), ("size", True), ("licence", False)):
        table.add_column(heading, no_wrap=kept, overflow="fold")
    for entry in entries:
        table.add_row(entry.name, _here(entry), _size(entry), escape(entry.terms))
    print_table("Data sets", table)
    console.print("get: `colonnade data get NAME` fetches it. by hand: the same command says why and where from.")
    console.print(f"The data folder is {data_folder()}", soft_wrap=True)
    if json_ is not None:
        write_json(json_, {"folder": str(data_folder()), "datasets": [asdict(entry) for entry in entries]})


def _here(entry: Entry) -> str:
    return "yes" if entry.here else "get" if entry.how == "download" else "by hand"


def _size(entry: Entry) -> str:
    from colonnade.lab.report.text import bytes_text

    return bytes_text(entry.size) if entry.size else ""


@data.command()
def path() -> None:
    """Print the data folder.

    Example: ls $(colonnade data path)
    """
    from colonnade.data.datasets.place import data_folder

    typer.echo(data_folder())
