"""`colonnade reproduce --check`: run a random tenth of recorded tables again, and say what differs."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from colonnade.cli.terminal import console, progress
from colonnade.errors import ConfigError, raise_all
from colonnade.lab.reproduce.form import PAPERS
from colonnade.lab.reproduce.kept import RESULTS, read_kept
from colonnade.lab.reproduce.recipe import chosen, recipe
from colonnade.lab.reproduce.reproduce import hardware
from colonnade.lab.reproduce.rerun import check_again, other_versions, report
from colonnade.lab.run.cell import versions
from colonnade.lab.run.files import write_json


def check_record(papers: list[str], table: str | None, jobs: int, json_: Path | None, others: Iterable[str]) -> None:
    """Check the record of papers; an error lists every difference."""
    raise_all(
        [f"{name} goes with running a table, not with --check. Leave it out." for name in sorted(others)],
        ConfigError,
        "--check",
    )
    every = list(PAPERS) if papers in ([], ["all"]) else papers
    asked = [name for paper in every for name in chosen(paper, table)]
    kept = {f"{result['paper']}-{result['table']}": result for result in read_kept(RESULTS)}
    mine = [name for name in asked if name in kept]
    if not mine:
        raise ConfigError(f"{', '.join(asked)} has no record in {RESULTS}. Record it: colonnade reproduce --record.")
    number = random.SystemRandom().randrange(10**6)
    differs, written = [], []
    today = {**versions(), "hardware": hardware()}
    for name in mine:
        with progress() as bars:
            task = bars.add_task(f"{name} again", total=None)
            checked = check_again(
                recipe(name),
                kept[name],
                jobs=jobs or os.cpu_count() or 1,
                done=lambda outcome, bars=bars, task=task: bars.advance(task),  # type: ignore[misc]
                draw=random.Random(number),
            )
        console.print(f"{name}: {report(checked, other_versions(kept[name], today))}", soft_wrap=True, markup=False)
        differs += [f"{name}: {line}" for one in checked for line in one.differences]
        written += [{"table": name, **asdict(one), "differences": one.differences} for one in checked]
    if json_ is not None:
        write_json(json_, {"cells": written})
    raise_all(differs, ConfigError, "the record is not what the code gives")
