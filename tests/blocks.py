"""Run the fenced blocks of a page from top to bottom, as a reader would, in one folder.

`python` blocks share their names. `bash` blocks hold `colonnade` commands, one a line. A `toml` block is written to the
file that its first line names. A `text` block right after a `python` block is what that block prints. A block below a
comment `<!-- not run: REASON -->` is skipped.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import pytest

from colonnade.cli import main

KINDS = ("python", "bash", "toml", "text")
BLOCK = re.compile(r"(?P<skip><!-- not run: [^\n]+ -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
ALIKE = 0.2  # how far a printed number may be from the page's, as a share: machines round differently


@dataclass(frozen=True)
class Block:
    kind: str
    body: str
    line: int  # of its first line in the page
    skipped: bool
    follows: bool  # nothing but blank lines stands between it and the block before


def blocks(page: str) -> list[Block]:
    found, end = [], -1
    for match in BLOCK.finditer(page):
        between = page[end : match.start()] if end >= 0 else "text"
        line = page[: match.start("body")].count("\n") + 1
        found.append(Block(match["kind"], match["body"], line, bool(match["skip"]), not between.strip()))
        end = match.end()
    return found


def problems(page: str, folder: Path) -> list[str]:
    """What went wrong in each block; empty when the whole page runs. The current folder has to be `folder`."""
    assert Path.cwd() == folder
    names: dict[str, Any] = {"__name__": "__main__"}
    wrong, printed = [], ""
    with joblib.parallel_config(backend="sequential"):  # no worker processes: they take longer to start than to run
        for block in blocks(page):
            if block.skipped:
                continue
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(said):
                    _run(block, names, folder, printed)
            except (Exception, SystemExit) as error:
                wrong.append(f"line {block.line} ({block.kind}): {_told(error)}")
            printed = said.getvalue() if block.kind == "python" else ""
    return wrong


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def _run(block: Block, names: dict[str, Any], folder: Path, printed: str) -> None:
    if block.kind == "python":
        exec(compile(block.body, f"line {block.line}", "exec"), names)
    elif block.kind == "bash":
        for command in commands(block.body):
            _command(command)
    elif block.kind == "toml":
        name = re.match(r"# (\S+\.toml)\n", block.body)
        assert name, "A toml block starts with a comment that names its file."
        (folder / name[1]).write_text(block.body, encoding="utf-8")
    else:
        assert block.kind == "text", f"A block is one of {', '.join(KINDS)}, not {block.kind!r}."
        if block.follows:
            assert_alike(printed, block.body)


def commands(body: str) -> Iterator[list[str]]:
    for line in body.splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "colonnade", f"A bash block that runs holds colonnade commands, not {line!r}."
            yield words[1:]


def _command(words: Sequence[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert not end.value.code, f"colonnade {shlex.join(words)} exited with {end.value.code}"


def assert_alike(printed: str, shown: str) -> None:
    """The same words, and numbers that differ by no more than `ALIKE`."""
    words = [" ".join(NUMBER.sub("N", text).split()) for text in (printed, shown)]
    assert words[0] == words[1], f"It prints {printed!r}; the page shows {shown!r}."
    for here, there in zip(*(NUMBER.findall(text) for text in (printed, shown)), strict=True):
        near = pytest.approx(float(there.replace(",", "")), rel=ALIKE)
        assert float(here.replace(",", "")) == near, f"It prints {here}; the page shows {there}."
