"""What is typed after a command, as the commands take it; all problems at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from colonnade.data.labelling import LABELLED_ROWS, LABELS_DRAWN
from colonnade.errors import ConfigError, one_of


class Arrangement(NamedTuple):
    """The options that say who holds what, and which rows have labels."""

    parties: int | None = None
    active: str | None = None
    rows: int | None = None
    bias: str | None = None
    labels_drawn: str | None = None
    labelled_rows: str | None = None


def check_out(folder: Path, ours: str) -> None:
    """Refuse to write into a folder that holds something else."""
    if folder.is_file():
        raise ConfigError(f"--out {folder} is a file. Name a folder.")
    if folder.exists() and any(folder.iterdir()) and not (folder / ours).exists():
        raise ConfigError(f"--out {folder} holds other files. Name a new or empty folder.")


def method_names(methods: str, problems: list[str]) -> list[str]:
    """`a,b:hidden=[64,32]` as names with their options."""
    names = [m.strip() for m in re.split(r",(?![^\[]*\])", methods) if m.strip()]  # no cut inside hidden=[64,32]
    if not names:
        problems.append("--methods is empty. Name some, e.g. local,splitnn.")
    return names


def number_of(text: str | None, option: str, problems: list[str]) -> float | None:
    """A number of rows or a fraction of them; None: all."""
    if text is None or text.strip().lower() == "all":
        return None
    try:
        value = float(text)
    except ValueError:
        problems.append(f"{option} must be a number or a fraction. Got {text!r}. Use e.g. 100 or 0.05.")
        return None
    return int(value) if value > 1 and value.is_integer() else value


def fraction_of(text: str, problems: list[str]) -> float:
    """The fraction of aligned rows."""
    value = number_of(text, "--aligned", problems)
    return 1.0 if value is None else value


def arranged(given: Arrangement, problems: list[str]) -> dict[str, Any]:
    """How the data are arranged, as a cell takes it."""
    found: dict[str, Any] = given._asdict()
    if given.bias is not None:
        share, _, dominant = given.bias.partition(":")
        try:
            found["bias"] = float(share), int(dominant)
        except ValueError:
            problems.append(f"--bias must be SHARE:DOMINANT, e.g. 0.5:30. Got {given.bias!r}.")
    if given.labels_drawn is not None:
        one_of(problems, "--labels-drawn", given.labels_drawn, LABELS_DRAWN)
    if given.labelled_rows is not None:
        one_of(problems, "--labelled-rows", given.labelled_rows, LABELLED_ROWS)
    return found


def check_json(path: Path | None, problems: list[str]) -> None:
    """The record is written to a file."""
    if path is not None and path.is_dir():
        problems.append(f"--json {path} is a folder. Name a file.")
