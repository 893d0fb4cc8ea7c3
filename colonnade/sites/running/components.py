"""The two objects that a FLARE job builds: the passive party's, which publishes one operation, and the active's main.

Both are part of this package, installed at each site by its owner. A job names them and brings no code.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nvflare.collab import CollabCallError, collab

from colonnade.engines.absent import LostSiteError
from colonnade.engines.remote import Call, Link
from colonnade.errors import ColonnadeError, ConfigError, WireError, raise_all
from colonnade.sites.files.names import check_name, id_of
from colonnade.sites.files.parts import write_json
from colonnade.sites.files.say import say
from colonnade.sites.provisioning.channel import Ask, relay
from colonnade.sites.provisioning.pinned import pin_types
from colonnade.sites.recovery.past import Past
from colonnade.sites.recovery.resume import Memory
from colonnade.sites.settings.description import FederationFile, SiteFile, read_federation, read_site
from colonnade.sites.settings.table import read_site_table
from colonnade.sites.training.active_site import ActiveSite
from colonnade.sites.training.offers import Offers
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.envelope import Reply, run_in, run_of, seal_reply

SITE, FEDERATION = "COLONNADE_SITE", "COLONNADE_FEDERATION"  # where the site's process finds its two files
SERVER = "server"  # FLARE's name of the site where the active party is


def files() -> tuple[SiteFile, FederationFile]:
    """The site's own file and the federation's."""
    missing = [name for name in (SITE, FEDERATION) if name not in os.environ]
    if missing:
        raise ConfigError(f"{' and '.join(missing)} are not set. Start the site by `colonnade federate join`.")
    return read_site(Path(os.environ[SITE])), read_federation(Path(os.environ[FEDERATION]))


class Passive:
    """The passive party's object at its site: one `PassiveSite` for each run of a job.

    Args:
        runs: those of a training; one that is known here goes on. None: the job is one run of another sort.
    """

    def __init__(self, runs: list[str] | None = None) -> None:
        self.runs = {id_of(name): name for name in map(check_name, runs or [])}  # names become file names here
        self.site: PassiveSite | None = None
        self._make: Callable[[bytes], PassiveSite] | None = None
        self._turn = threading.Lock()

    @collab.init
    def open(self) -> None:
        """Read the site's own files; what is wrong with them is said here, and to others only that something is."""
        pin_types()
        trains = bool(self.runs)
        self.runs = self.runs or {run_of(f"{collab.fl_ctx.get_job_id()}/1"): ""}
        try:
            file, federation = files()
            if file.party != collab.site_name:
                raise ConfigError(f"{file.path} is for {file.party!r}, and this kit for {collab.site_name!r}.")
            table = read_site_table(file)
            if table.view is None:
                raise ConfigError(f"{file.path}: [table] has no column besides the id. Name a table with columns.")
        except ColonnadeError as error:
            say(f"this site cannot take part: {error}", warn=True)
        else:
            party, active, policy, out = file.party, federation.active, file.policy, file.out
            self._make = lambda run: PassiveSite(
                party, active, table, policy, run, out, None if trains else Offers(file, table, active, run),
                past=Past(out, f"{self.runs[run]}-{party}") if trains else None, title=self.runs[run],
            )  # fmt: skip

    @collab.publish
    def perform(self, frame: bytes) -> bytes:
        """The one thing that others may call: a request in, a reply out."""
        if collab.caller != SERVER:
            say(f"refused a call of {collab.caller!r}, because: it is not the active party's site", warn=True)
            return _refused(b"only the active party may ask.")
        if self._make is None:
            return _refused(b"the site's files have a problem; its log says which.")
        with self._turn:
            run = run_in(frame)
            if (self.site is None or run != self.site.run) and run in self.runs:
                try:
                    self.site = self._make(run)
                except (ColonnadeError, OSError) as error:
                    say(f"run {self.runs[run]} cannot go on: {error}", warn=True)
                    return _refused(b"what it remembers of the run cannot be read; its log says why.")
            if self.site is None:
                return _refused(b"a request of another run came. Start the training again.")
            return self.site.answer(frame)


def _refused(reason: bytes) -> bytes:
    return seal_reply(Reply(bytes(16), 0, "refused", reason))


class Active:
    """The active party's object at FLARE's server side: one run after another.

    Args:
        runs: name, method and options of each; one that was cut goes on.
        absent: sites that are gone on without.
    """

    def __init__(self, runs: list[dict[str, Any]], absent: list[str] | None = None) -> None:
        self.runs, self.absent = runs, absent or []

    @collab.main
    def train(self) -> None:
        """Run the methods; each one's record, or what went wrong, is in the site's `out`."""
        pin_types()
        file, federation = files()
        problems: list[str] = []
        calls = {p.name: call_of(p, federation.timeout) for p in collab.clients if p.name not in self.absent}
        table = read_site_table(file, federation.passive)
        for wanted in self.runs:
            run = wanted["run"]
            memory = Memory(file.out, run, file.party)
            link = Link(calls, id_of(run), largest=file.policy.bytes, memory=memory.replies, absent=self.absent)
            options = {k: tuple(v) if isinstance(v, list) else v for k, v in wanted["options"].items()}
            say(f"run {run} started: {wanted['method']} with {', '.join(calls)}")
            try:
                progress = progress_to(file.out / f"{run}-progress.json")
                site = ActiveSite(federation, file, table, link, memory, run)
                record = site.train(wanted["method"], options, progress)
                say(f"run {run} ended: {record['metric']} {record['score']:.4f}; records are in {file.out}")
            except LostSiteError as error:
                say(f"run {run} was cut: {error}", warn=True)
                write_json(file.out / f"{run}-lost.json", {"error": str(error), "sites": error.sites})
                problems.append(f"{wanted['method']}: {error}")
            except ColonnadeError as error:
                say(f"run {run} failed: {error}", warn=True)
                write_json(file.out / f"{run}-failed.json", {"error": str(error)})
                memory.remove()
                problems.append(f"{wanted['method']}: {error}")
            finally:
                link.close()
        raise_all(problems, WireError, "training")


class Relay:
    """The active party's object in a job of alignment or predictions: passes a command's requests on to the sites."""

    @collab.main
    def pass_on(self) -> None:
        """Until the command goes away; where it is reached is told in the site's `out`."""
        pin_types()
        file, _ = files()
        asks: dict[str, Ask] = {
            proxy.name: lambda request, seconds, proxy=proxy: call_of(proxy, seconds)(request)  # type: ignore[misc]
            for proxy in collab.clients
        }
        note = file.out / f"{run_of(f'{collab.fl_ctx.get_job_id()}/1').hex()}-relay.json"

        def ready(path: Path) -> None:
            write_json(note, {"socket": str(path), "sites": list(asks)})

        try:
            relay(asks, ready, lambda: bool(collab.is_aborted))
        finally:
            note.unlink(missing_ok=True)


def call_of(proxy: Any, timeout: float) -> Call:
    """How a passive site is called."""
    name, target = proxy.name, proxy(timeout=timeout)

    def call(request: bytes) -> object:
        try:
            return target.perform(frame=request)
        except CollabCallError as error:
            kind = getattr(error, "cause_type", None) or type(error).__name__
            text = f"site {name!r} did not answer ({kind}). Look whether it runs, and at its log."
            raise LostSiteError(text, (name,)) from None

    return call


def progress_to(path: Path) -> Callable[[str, int, int], None]:
    """Writes how far training is, at most once a second."""
    last = 0.0

    def progress(phase: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            write_json(path, {"phase": phase, "done": done, "total": total})

    return progress
