"""The command line: what a case of `Command` leaves in its folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from . import digest
from .cases import Command
from .data import write_phishing

HELP = {"meaning", "help"}  # texts for people, which may be improved
SECONDS = re.compile(r"about [\d.,]+ (s|min|h)\b")
COMMIT = re.compile(r"\b[0-9a-f]{7,40}(-changed)?(?=-quick/)")


def run(case: Command, folder: Path) -> dict[str, Any]:
    """Run the commands in a new folder; every JSON and safetensors file and page that they left there."""
    folder.mkdir(parents=True)
    data = {}
    if case.phishing:
        write_phishing(folder / "data")
        data = {"COLONNADE_DATA": str(folder / "data")}
    with contextlib.chdir(folder), patch.dict(os.environ, data):
        for line in case.lines:
            if line[0] == "report":
                stop_clocks(folder)
            call(line)
    found = digest.of_json(digest.of_folder(folder), {*digest.IGNORED, *HELP})
    pages = {path.name: digest.of_bytes(path.read_bytes()) for path in sorted(folder.glob("*.html"))}
    return {"record": _without_origin(found), "pages": pages}


def _without_origin(content: Any) -> Any:
    """Without times and commits in texts and in names of files."""
    if isinstance(content, list):
        return [_without_origin(value) for value in content]
    if isinstance(content, dict):
        return {_without_origin(key): _without_origin(value) for key, value in content.items()}
    return SECONDS.sub("about a time", COMMIT.sub("COMMIT", content)) if isinstance(content, str) else content


def call(line: tuple[str, ...]) -> None:
    """`python -m colonnade` with these arguments, in this process; it must end well."""
    said = io.StringIO()
    argv, sys.argv = sys.argv, ["colonnade", *line]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            runpy.run_module("colonnade", run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"colonnade {' '.join(line)} ended with {end.code}: {said.getvalue()}") from None
    finally:
        sys.argv = argv


def stop_clocks(folder: Path) -> None:
    """Put a constant in the place of every time and version in the records, so that a page of them can be compared."""
    for path in sorted(folder.rglob("*.json")):
        path.write_text(json.dumps(_stopped(json.loads(path.read_text())), indent=1))


def _stopped(content: Any) -> Any:
    if isinstance(content, list):
        return [_stopped(value) for value in content]
    if not isinstance(content, dict):
        return content
    return {key: 1.0 if key in digest.TIMES else _stopped(value) for key, value in content.items()}
