"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str, typer.Option("--data", "-d", help="A dataset of `colonnade list`, or a TOML file about your own.")
]
Labels = Annotated[
    str | None, typer.Option(help="Labelled training rows: a number (100) or a fraction (0.05). All by default.")
]
Aligned = Annotated[str, typer.Option(help="Fraction of the training rows that all parties share.")]
Parties = Annotated[int | None, typer.Option(help="Divide the dataset's columns among this many parties.")]
Active = Annotated[str | None, typer.Option(help="The party that holds the labels; `server`: one without columns.")]
Rows = Annotated[int | None, typer.Option(min=10, help="Use at most so many rows, drawn at random.")]
Bias = Annotated[
    str | None,
    typer.Option(help="SHARE:DOMINANT: two parties of as many columns; a share of the dominant ones is the host's."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="An option of the method, key=value; may be repeated.")
]
Tune = Annotated[
    int, typer.Option(min=1, help="Tries for each run: options drawn from a small grid, chosen on validation rows.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the record to this file.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Also say how many threads a run takes, and why.")]
