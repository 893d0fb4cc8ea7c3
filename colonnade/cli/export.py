"""`colonnade export`."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from colonnade.deploy.export.folder import export_onnx
from colonnade.deploy.export.stored import stored_model


def export_model(folder: Path, out: Path, categories: str, atol: float) -> None:
    """Export a stored model; print the files, and what they do not do."""
    console = Console(highlight=False)
    with console.status("Exporting"):
        index = export_onnx(stored_model(folder), out, categories=categories, atol=atol)
    table = Table(title=f"{index['method']} in {out}", title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    for heading in ("file", "of", "gives", "largest difference"):
        table.add_column(heading, justify="right" if heading == "largest difference" else "left")
    entries = [(f"encoder of {name}", one) for name, one in index["encoders"].items()]
    for what, one in [*entries, (f"head of {index['active']}", index["head"])]:
        shape = ", ".join(map(str, one["output"]["shape"]))
        table.add_row(one["file"], what, f"{one['output']['name']} ({shape})", f"{one['largest_difference']:.1e}")
    console.print(table)
    console.print("Each file has a JSON file beside it that says what goes in.", style="dim")
    for note in index["notes"]:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)
