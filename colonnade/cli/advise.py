"""What `colonnade advise` and `colonnade appraise` do, and how it looks in a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from colonnade.cli.arguments import Arrangement, arranged, check_json, fraction_of, number_of
from colonnade.cli.terminal import console, print_table, progress
from colonnade.errors import ConfigError, raise_all
from colonnade.lab.advisor.advice import Advice
from colonnade.lab.advisor.advise import advise
from colonnade.lab.advisor.appraise import Appraisal, appraise
from colonnade.lab.advisor.realised import Realised, realised
from colonnade.lab.advisor.words import candidate_words
from colonnade.lab.report.text import bytes_text, score_text, seconds_text
from colonnade.lab.run.cell import Cell
from colonnade.lab.run.files import write_json

SHOWN = 3  # candidates that are printed, unless all are asked for
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def advise_on(
    data: str, labels: str | None, aligned: str, arrangement: Arrangement, max_bytes: str | None,
    max_seconds: float | None, epsilon: float | None, delta: float, seed: int, seeds: int, every: bool,
    json_: Path | None,
) -> None:  # fmt: skip
    """Advise a method; print it, why, and what else was considered."""
    problems: list[str] = []
    cell = _cell(data, labels, aligned, arrangement, seed, problems)
    budget = None if max_bytes is None else bytes_of(max_bytes, problems)
    check_json(json_, problems)
    raise_all(problems, ConfigError, "advise")
    with console.status("Reading the data"):
        parts, metric = cell.split()
    with _told("probes") as tell:
        found = advise(
            parts, metric=metric, max_bytes=budget, max_seconds=max_seconds, epsilon=epsilon, delta=delta, seeds=seeds,
            progress=tell,
        )  # fmt: skip
    print_advice(data, found, every=every)
    if json_ is not None:
        write_json(json_, {"data": data, **found.to_json()})


def print_advice(data: str, found: Advice, *, every: bool = False) -> None:
    """The advice in words, and a table of the best candidates, or of all."""
    shown = found.candidates if every else found.candidates[:SHOWN]
    title = f"{data}: candidates, best expected {found.setting.metric} first"
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for heading in ("method", "expected", "nine runs of ten", "probe", "chance", "sends", "takes"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "method" else "right")
    for one in shown:
        probe = found.probes.get(one.method)
        mark = "[bold]" if one.method == found.method else ""
        table.add_row(
            f"{mark}{one.method}",
            f"{mark}{score_text(one.score)}",
            f"{score_text(one.low)} to {score_text(one.high)}",
            "" if probe is None else score_text(probe.score),
            f"{one.chance:.0%}",
            "unknown" if one.bytes is None else bytes_text(one.bytes) if one.bytes else "nothing",
            "unknown" if one.seconds is None else seconds_text(one.seconds),
        )
    print_table(title, table)
    how = "short training" if found.epsilon is None else "training within the budget"
    of = len(found.candidates)
    console.print(
        f"probe: score of a {how} on validation rows; chance: to be the best of the {of} candidates", style="dim"
    )
    if of > len(shown):
        console.print(f"--all shows the other {of - len(shown)} candidates", style="dim", markup=False)
    console.print()
    console.print(f"[bold]{found.sentence}[/bold]", soft_wrap=True)
    _print_texts("Why", found.why)
    _print_texts("Candidates", candidate_words(found.setting, found.probes, shown))
    _print_texts("What would change it", found.changes)
    if found.left_out and not every:
        names = ", ".join(found.left_out)
        console.print(f"Left out: {names}. --all says why.", style="dim", soft_wrap=True, markup=False)
        return
    for why in dict.fromkeys(found.left_out.values()):
        names = ", ".join(method for method, reason in found.left_out.items() if reason == why)
        console.print(f"Left out: {names}: {why}", style="dim", soft_wrap=True, markup=False)


def _print_texts(heading: str, texts: Iterable[str]) -> None:
    console.print(f"[bold]{heading}[/bold]")
    for text in texts:
        console.print(text, soft_wrap=True, markup=False)


def appraise_party(
    data: str, party: str | None, labels: str | None, aligned: str, arrangement: Arrangement, epsilon: float | None,
    delta: float, seed: int, seeds: int, check: bool, json_: Path | None,
) -> None:  # fmt: skip
    """Appraise one partner, or all of them one by one; print the gains, and those of full training where asked."""
    problems: list[str] = []
    cell = _cell(data, labels, aligned, arrangement, seed, problems)
    check_json(json_, problems)
    raise_all(problems, ConfigError, "appraise")
    with console.status("Reading the data"):
        parts, metric = cell.split()
    known = [name for name in parts.train.views if name != parts.train.active]
    found: list[tuple[Appraisal, Realised | None]] = []
    for name in known if party is None else [party]:
        with _told(name) as tell:
            one = appraise(
                parts, name, metric=metric, epsilon=epsilon, delta=delta, seed=seed, seeds=seeds, progress=tell
            )
            checked = realised(lambda s: replace(cell, seed=seed + s).split()[0], one, seeds, tell) if check else None
        found.append((one, checked))
    print_appraisals(data, found)
    if json_ is not None:
        listed = [{**one.to_json(), "realised": full and full.to_json()} for one, full in found]
        write_json(json_, {"data": data, "appraisals": listed})


def print_appraisals(data: str, found: list[tuple[Appraisal, Realised | None]]) -> None:
    """A table, and each appraisal in words."""
    first, full = found[0]
    alone = f"{score_text(first.alone)} {first.setting.metric} of the active party alone"
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    headings = ["partner", "gain", "nine of ten", "rows", "sent"] + ["full training"] * (full is not None)
    for heading in headings:
        table.add_column(heading, no_wrap=True, justify="left" if heading == "partner" else "right")
    for one, checked in sorted(found, key=lambda pair: -pair[0].gain):
        row = [one.party, f"{one.gain:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", f"{one.rows:,}"]
        table.add_row(*row, bytes_text(one.bytes), *([] if checked is None else [checked.text]))
    print_table(f"{data}: what partners add to {alone}", table)
    console.print()
    for one, checked in found:
        console.print(one.sentence, soft_wrap=True, markup=False)
        if checked is not None:
            console.print(checked.sentence, soft_wrap=True, markup=False)


def bytes_of(text: str, problems: list[str]) -> float | None:
    """`5MB`, `200 kB` or `1000000` as a number of bytes."""
    match = re.fullmatch(r"([\d.]+(?:e\d+)?)\s*([a-z]*)", text.strip().lower())
    try:
        value = float(match[1]) * UNITS[match[2]] if match else 0.0
    except (KeyError, ValueError):
        value = 0.0
    if value <= 0:
        problems.append(f"--bytes must be a number of bytes, e.g. 5MB, 200kB or 1000000. Got {text!r}.")
        return None
    return value


def _cell(
    data: str, labels: str | None, aligned: str, arrangement: Arrangement, seed: int, problems: list[str]
) -> Cell:
    count, share = number_of(labels, "--labels", problems), fraction_of(aligned, problems)
    return Cell("", data, count, share, seed, **arranged(arrangement, problems))


@contextmanager
def _told(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar that hears of what is done."""
    with progress() as bars:
        task: Any = bars.add_task(what, total=None)

        def tell(name: str, done: int, total: int) -> None:
            bars.update(task, description=f"{what}: {name}", completed=done, total=total)

        yield tell
