"""`colonnade report`, and the page at the end of other commands."""

from __future__ import annotations

from pathlib import Path

from colonnade.cli.terminal import console
from colonnade.lab.report import write_report


def write_page(folder: Path, out: Path | None) -> None:
    """Write the HTML page and say where it is."""
    console.print(f"Report: [bold]{write_report(folder, out)}[/bold]", soft_wrap=True)
