"""A training between sites from its start to its end, over as many jobs as crashes make of it.

A run that was cut goes on: the active party has each reply, and each site each request, that was given before
(`replies.py`, `past.py`). What happens while a site is lost is the user's to say.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from colonnade.errors import ConfigError, one_of, raise_all
from colonnade.sites.files.names import new_name
from colonnade.sites.files.parts import write_json
from colonnade.sites.provisioning.jobs import CutError, Progress, Run, TrainingError, attempt
from colonnade.sites.provisioning.processes import Kit
from colonnade.sites.provisioning.reach import heard_of
from colonnade.sites.settings.description import SiteFile

Lost = Literal["wait", "without", "stop"]
_EVERY = 2.0  # seconds between two looks at who is there
_SETTLE = 3.0  # seconds that a job gets to end at all sites before the next one


@dataclass(frozen=True)
class Faults:
    """What happens when a site is lost.

    Args:
        lost: "wait" for it, go on "without" it, or "stop"; a stopped run goes on when it is trained again.
        patience: seconds for which it is waited.
        most: how often a run may be cut before it is given up.
    """

    lost: Lost = "wait"
    patience: float = 600.0
    most: int = 100

    def __post_init__(self) -> None:
        problems: list[str] = []
        one_of(problems, "lost", self.lost, ("wait", "without", "stop"))
        if not self.patience > 0:
            problems.append(f"patience must be a number of seconds above 0. Got {self.patience}.")
        raise_all(problems, ConfigError, "train")


def train(
    kit: Kit, site: SiteFile, method: str, options: dict[str, Any], progress: Progress | None = None, *,
    faults: Faults | None = None, fresh: bool = False, told: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:  # fmt: skip
    """Train a method with all sites, or go on with a training of the same that was cut; the record.

    Args:
        kit: the active party's.
        site: its site's file.
        method: a method.
        options: of it.
        progress: hears how far it is.
        faults: what happens when a site is lost.
        fresh: start anew, even if the same was cut before.
        told: hears what happens to the run.
    """
    faults = faults or Faults()
    run = _open_run(site.out, method, options, fresh, told)
    absent: tuple[str, ...] = ()
    for cuts in range(faults.most):
        try:
            outcome = attempt(kit, site, [run], progress, absent)[0]
        except ConfigError as error:
            if cuts == 0:
                raise
            outcome = CutError(str(error))
        if isinstance(outcome, dict):
            _closed(site.out, run)
            return outcome
        if isinstance(outcome, TrainingError):
            _closed(site.out, run)
            raise outcome
        absent = _after(outcome, faults, kit, absent, told)
    raise TrainingError(f"the run was cut {faults.most} times. Train again to go on with it.")


def _after(
    cut: CutError, faults: Faults, kit: Kit, absent: tuple[str, ...], told: Callable[[str], None]
) -> tuple[str, ...]:
    """What is done after a cut; the sites that the run goes on without."""
    if faults.lost == "stop":
        raise TrainingError(f"{cut} The run is kept: train again to go on with it.")
    if faults.lost == "without" and cut.sites:
        told(f"{cut} Going on without {', '.join(cut.sites)}.")
        absent = tuple(dict.fromkeys((*absent, *cut.sites)))
    else:
        told(f"{cut} Waiting.")
    time.sleep(_SETTLE)
    until = time.monotonic() + faults.patience
    needed = [name for name in kit.federation.passive if name not in absent]
    while True:
        missing = _missing(kit, needed)
        if not missing:
            return absent
        if time.monotonic() > until:
            raise TrainingError(
                f"{', '.join(missing)} did not come back in {faults.patience:g} s. The run is kept: train again to go "
                f"on with it, or with --lost without."
            )
        time.sleep(_EVERY)


def _missing(kit: Kit, needed: list[str]) -> list[str]:
    try:
        here = heard_of(kit)
    except ConfigError:
        return ["the server"]
    return [name for name in needed if name not in here]


def _open_run(out: Path, method: str, options: dict[str, Any], fresh: bool, told: Callable[[str], None]) -> Run:
    """The run of the same method and options that was cut last, or a new one."""
    for path in sorted(out.glob("*-run.json"), key=lambda p: p.stat().st_mtime, reverse=True):
        found = Run(**json.loads(path.read_text()))
        if (found.method, found.options) == (method, json.loads(json.dumps(options))) and not fresh:
            told(f"Going on with run {found.name}, which was cut.")
            return found
    run = Run(new_name(method, out), method, options)
    write_json(out / f"{run.name}-run.json", asdict(run))
    return run


def _closed(out: Path, run: Run) -> None:
    (out / f"{run.name}-run.json").unlink(missing_ok=True)
