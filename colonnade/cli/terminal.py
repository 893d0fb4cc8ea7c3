"""What all commands print with: the console, tables that fit it, and bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

console = Console(highlight=False)
FOLDED = 16  # letters that a column of text keeps in a narrow terminal


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


def bar(bars: Progress, method: str) -> Callable[[str, int, int], None]:
    """One bar for each phase of a method's training."""
    tasks: dict[str, Any] = {}

    def update(phase: str, done: int, total: int) -> None:
        if phase not in tasks:
            tasks[phase] = bars.add_task(f"{method}: {phase}", total=total)
        bars.update(tasks[phase], completed=done, total=total)

    return update
