"""Run recipes through the ordinary comparison and keep what they gave, by paper and commit.

`python -m colonnade.lab.reproduce.reproduce PAPER` needs neither rich nor typer.
`colonnade reproduce` is the same in colour.
Runs of all tables of a paper lie in one folder, OUT/PAPER/COMMIT/cells: what two tables share is run once, and what is
there already is not run again.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from colonnade.data.datasets import DATASETS
from colonnade.data.datasets.place import VARIABLE
from colonnade.errors import ColonnadeError, ConfigError, at_least, did_you_mean, raise_all
from colonnade.lab.compare.compare import Outcome, run_grid
from colonnade.lab.compare.tuning import best_of_tries, tries_of
from colonnade.lab.report.page import write_whole
from colonnade.lab.report.reproduction import markdown
from colonnade.lab.report.reproduction_page import page
from colonnade.lab.reproduce.attacked import run_attacked
from colonnade.lab.reproduce.digest import digest_of
from colonnade.lab.reproduce.form import PAPERS, Recipe
from colonnade.lab.reproduce.outcome import Result, measured_of, result_of
from colonnade.lab.reproduce.plan import Planned, plan
from colonnade.lab.reproduce.privacy_loss import losses
from colonnade.lab.reproduce.recipe import chosen, recipe
from colonnade.lab.reproduce.spots import Measured
from colonnade.lab.reproduce.verdicts import settled
from colonnade.lab.run.cell import versions
from colonnade.lab.run.files import write_json
from colonnade.methods._base.options.text import parse_settings

EXAMPLE = "colonnade reproduce digits --quick"  # runs wherever Colonnade is installed
NOT_ASKED = "not asked for."
Done = Callable[[Outcome], None]


@dataclass(frozen=True)
class Asked:
    """How recipes are run."""

    out: Path
    quick: bool = False
    seeds: int | None = None  # the recipes' own by default
    jobs: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    commit: str | None = None  # that of the working tree by default
    data: tuple[str, ...] = ()  # only these; all by default
    tune: int = 1  # tries for every run, of which validation rows choose

    def folder(self, made: Recipe) -> Path:
        """Where the runs of a recipe are kept."""
        how = ("-quick" if self.quick else "") + (f"-tune{self.tune}" if self.tune > 1 else "")
        return self.out / made.paper / (commit_of(self.commit) + how)


@dataclass(frozen=True)
class Job:
    """A recipe with its runs and the reasons why some data are left out."""

    made: Recipe
    planned: list[Planned]
    skipped: dict[str, str]
    folder: Path


def jobs_of(made: Sequence[Recipe], asked: Asked) -> list[Job]:
    """The recipes, planned before the first of them runs."""
    known = {data.name for one in made for data in one.data}
    raise_all(
        [
            f"--data {name!r} is in none of these recipes. {did_you_mean(name, known)}"
            for name in asked.data
            if name not in known
        ],
        ConfigError,
        "reproduce",
    )
    problems = _untunable(made) if asked.tune > 1 else []
    at_least(problems, "tune", asked.tune, 1, hint="1 is no tuning.")
    raise_all(problems, ConfigError, "--tune")
    found = []
    for one in made:
        skipped = {a.name: a.get for a in one.absent}
        for data in one.data:
            if not DATASETS[data.name].available():
                skipped[data.name] = how_to_get(data.name)
            elif asked.data and data.name not in asked.data:
                skipped[data.name] = NOT_ASKED
        planned = plan(one, quick=asked.quick, seeds=asked.seeds, settings=asked.settings, skip=tuple(skipped))
        found.append(Job(one, planned, skipped, asked.folder(one)))
    raise_all(_nothing_to_run(found), ConfigError, "reproduce")
    return found


def _nothing_to_run(jobs: Sequence[Job]) -> list[str]:
    """Which data are missing and how to get them, where no recipe has a run."""
    if any(job.planned for job in jobs):
        return []
    asked = [d.name for job in jobs for d in job.made.data if job.skipped.get(d.name) != NOT_ASKED]
    missing = list(dict.fromkeys(name for name in asked if not DATASETS[name].available()))
    if not missing:
        left_out = {name: why for job in jobs for name, why in job.skipped.items()}
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items()) or "--quick takes none of these data"
        return [f"nothing can be run. {reasons}"]
    return [
        f"nothing can be run: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not at hand. Get the data by "
        f"`colonnade data get {' '.join(missing)}`, and run this command again. With bundled data: `{EXAMPLE}`."
    ]


def _untunable(made: Sequence[Recipe]) -> list[str]:
    """Why tables cannot be tuned."""
    problems = []
    for one in made:
        why = None
        if one.protocol == "transductive":
            why = "the transductive protocol has no validation rows to choose on"
        elif one.attack:
            why = "attacks are made on runs as they are"
        elif one.loss:
            why = "nothing is trained"
        problems += [f"{one.name}: {why}. Leave it out, or leave --tune out."] if why else []
    return problems


def how_to_get(name: str) -> str:
    """Where a data set that is not at hand comes from, and where to put it."""
    data = DATASETS[name]
    return (
        f"not at hand. It comes from {data.source}. `colonnade data get {name}` fetches it or says how; or put "
        f"{', '.join(data.files)} into the folder that {VARIABLE} names."
    )


def runs_of(jobs: Sequence[Job], asked: Asked) -> int:
    """How many runs there are at most; what two tables share is run once."""
    cells = {item.cell.key: item.cell for job in jobs if not job.made.loss for item in job.planned}
    return sum(len(group) for group in tries_of(list(cells.values()), asked.tune).values())


def run_jobs(jobs: Sequence[Job], asked: Asked, done: Done) -> list[tuple[Job, Result, Measured]]:
    """Run everything, shared runs once; each recipe's result is written beside its runs as JSON."""
    ran = outcomes_of(jobs, asked, done)
    found = [_result(job, outcomes, asked) for job, outcomes in zip(jobs, ran, strict=True)]
    results = settled([result for result, _ in found])
    finished = [(job, result, seen) for job, result, (_, seen) in zip(jobs, results, found, strict=True)]
    for job, result, measured in finished:
        write(job, result, measured)
    return finished


def outcomes_of(jobs: Sequence[Job], asked: Asked, done: Done) -> list[dict[str, Outcome]]:
    """For each recipe what became of its runs, by the keys of cells; shared runs are run once."""
    ran = _train(jobs, asked, done)
    found = []
    for job in jobs:
        outcomes = losses(job.planned, job.made.loss) if job.made.loss else ran[job.folder, _group(job.made)]
        mine = {item.cell.key for item in job.planned}
        found.append({key: outcome for key, outcome in outcomes.items() if key in mine})
    return found


def _result(job: Job, outcomes: Mapping[str, Outcome], asked: Asked) -> tuple[Result, Measured]:
    records = {key: o.record for key, o in outcomes.items() if o.record is not None}
    failed = [failure(o) for o in outcomes.values() if o.error]
    measured = measured_of(job.planned, records)
    digests = {place.data: digest_of(job.made, place.data) for place in measured}
    stamp = {**stamp_of(asked), "command": command_of(job.made, asked)}
    result = result_of(
        job.made, job.planned, measured, skipped=job.skipped, failed=failed, stamp=stamp, digests=digests
    )
    return result, measured


def command_of(made: Recipe, asked: Asked) -> str:
    """The command that makes the runs of a table again."""
    words = ["colonnade reproduce", made.paper, f"--table {made.table}"]
    words += ["--quick"] if asked.quick else []
    words += [f"--seeds {asked.seeds}"] if asked.seeds else []
    words += [f"--tune {asked.tune}"] if asked.tune > 1 else []
    words += [f"--data {','.join(asked.data)}"] if asked.data else []
    return " ".join([*words, *(f"--set {shlex.quote(f'{k}={v}')}" for k, v in asked.settings.items())])


def write(job: Job, result: Result, measured: Measured) -> None:
    """The result beside its runs: as JSON, as markdown and as a page."""
    place = job.folder / job.made.name
    write_json(place.with_suffix(".json"), result)
    write_whole(place.with_suffix(".md"), markdown(result))
    mapped = [record for spot in measured.values() for record in spot.records.values() if "map" in record]
    write_whole(place.with_suffix(".html"), page(result, heat=job.made.heat, mapped=mapped))


def _group(made: Recipe) -> str:
    """Runs that are made alike: plain ones, those that keep a map, those that are attacked."""
    if made.attack:
        return f"attacked-{made.name}"
    return "mapped" if made.maps else "plain"


def _train(jobs: Sequence[Job], asked: Asked, done: Done) -> dict[tuple[Path, str], dict[str, Outcome]]:
    groups: dict[tuple[Path, str], list[Job]] = {}
    for job in jobs:
        if not job.made.loss:
            groups.setdefault((job.folder, _group(job.made)), []).append(job)
    ran = {}
    for (folder, name), mine in groups.items():
        cells = {item.cell.key: item.cell for job in mine for item in job.planned}
        place = folder if name == "plain" else folder / name
        if mine[0].made.attack:
            outcomes = run_attacked(mine[0].made, list(cells.values()), place, jobs=asked.jobs, done=done)
            ran[folder, name] = {outcome.cell.key: outcome for outcome in outcomes}
        else:
            tries = tries_of(list(cells.values()), asked.tune)
            outcomes = run_grid([one for group in tries.values() for one in group], place, jobs=asked.jobs, done=done)
            ran[folder, name] = dict(zip(tries, best_of_tries(tries, outcomes, place), strict=True))
    return ran


def failure(outcome: Outcome) -> str:
    """A run that failed, as one line."""
    cell = outcome.cell
    setting = f"labels {cell.labels}, aligned {cell.aligned:g}, seed {cell.seed}"
    return f"{cell.method} on {cell.data}, {setting}: {outcome.error}"


def stamp_of(asked: Asked) -> dict[str, Any]:
    """When, where and with what the runs were made."""
    return {
        "commit": commit_of(asked.commit),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "hardware": hardware(),
        "quick": asked.quick,
        "tune": asked.tune,
        "settings": dict(asked.settings),
        "versions": versions(),
    }


def commit_of(given: str | None = None) -> str:
    """The commit of the package's own tree, marked when files differ from it; `unknown` outside a repository."""
    if given:
        return given
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        head, changed = git("rev-parse", "--short", "HEAD"), git("status", "--porcelain", "--", "..")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-changed" if changed else "")


def hardware() -> str:
    """Processor and number of cores."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        named = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = named[0] if named else model
    return f"{model}, {os.cpu_count()} cores"


def main(arguments: list[str] | None = None) -> int:
    """The command without colours: for machines that have torch, numpy, pandas, scipy and scikit-learn alone."""
    parser = argparse.ArgumentParser(prog="python -m colonnade.lab.reproduce.reproduce", description=__doc__)
    parser.add_argument("papers", nargs="+", help=f"{', '.join(PAPERS)}, or all")
    parser.add_argument("--table", help="one table or figure: 2, table-2, fig-5")
    parser.add_argument("--quick", action="store_true", help="prove that the recipes run")
    parser.add_argument("--seeds", type=int, help="seeds 0, 1, …; the recipes' own number by default")
    parser.add_argument("--tune", type=int, default=1, help="tries for every run, chosen on validation rows")
    parser.add_argument("--data", help="only these data sets, comma-separated")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--out", type=Path, default=Path("colonnade-out/reproduce"))
    parser.add_argument("--set", action="append", default=[], dest="settings", help="an option of methods, key=value")
    parser.add_argument("--commit", help="name of the tree, where it is no repository")
    given = parser.parse_args(arguments)
    papers = list(PAPERS) if given.papers == ["all"] else given.papers
    data = tuple(given.data.split(",")) if given.data else ()
    asked = Asked(
        given.out, given.quick, given.seeds, given.jobs, parse_settings(given.settings), given.commit, data, given.tune
    )
    try:
        jobs = jobs_of([recipe(name) for paper in papers for name in chosen(paper, given.table)], asked)
    except ColonnadeError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    finished = run_jobs(jobs, asked, _reporter(runs_of(jobs, asked)))
    for _, result, _ in finished:
        print(markdown(result))
    return 1 if any(result["failed"] for _, result, _ in finished) else 0


def _reporter(total: int) -> Done:
    """Say how far it is after every twentieth run, and each failure."""
    state = {"done": 0, "seconds": 0.0, "started": time.time()}

    def done(outcome: Outcome) -> None:
        state["done"] += 1
        if outcome.record is not None and not outcome.reused:
            state["seconds"] += outcome.record["seconds"]
        note = f": {failure(outcome)}" if outcome.error else ""
        if note or int(state["done"]) % 20 == 0:
            spent = time.time() - state["started"]
            print(
                f"[{spent:6.0f} s] {state['done']:.0f} of at most {total} runs, {state['seconds']:.0f} core-s{note}",
                flush=True,
            )

    return done


if __name__ == "__main__":
    sys.exit(main())
