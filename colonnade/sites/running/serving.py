"""The service over the sites: HTTP in the process of the command, representations through a job that comes and goes.

When a site leaves, the others are asked and zero takes its place. When it is heard of again, another job is started
with it, and takes over once its sites have opened their parts; the service answers all the while.
"""

from __future__ import annotations

import logging
import threading
import time

from colonnade.errors import ColonnadeError
from colonnade.sites.provisioning.processes import Kit
from colonnade.sites.provisioning.reach import Reach, heard_of, open_reach
from colonnade.sites.running.gathering import Missing, SitesSource
from colonnade.sites.settings.description import SiteFile

LOOK = 5.0  # seconds between two looks at who is there
PAUSE, LONGEST = 10.0, 600.0  # seconds before another job is tried; doubled while it does not bring all sites back
log = logging.getLogger("colonnade.deploy.serve")


class Keeper:
    """Keeps the sites reached, in a thread of its own."""

    def __init__(self, kit: Kit, site: SiteFile, source: SitesSource, wait: float) -> None:
        self.kit, self.site, self.source, self.wait = kit, site, source, wait
        self.reach: Reach | None = None
        self._next, self._pause = 0.0, PAUSE
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> Missing:
        """Reach the sites once, then keep looking; who cannot be asked, and why."""
        missing = self._renew()
        self._thread.start()
        return missing

    def stop(self) -> None:
        """Let the job end."""
        self._end.set()
        if self.reach is not None:
            self.reach.close()

    def _keep(self) -> None:
        while not self._end.wait(LOOK):
            if time.monotonic() < self._next:
                continue
            try:
                if self._wanting():
                    missing = self._renew()
                    for name, why in {**missing.absent, **missing.refused}.items():
                        log.warning("without %s: %s", name, why)
            except Exception as error:  # ours or FLARE's: the service goes on
                said = str(error) if isinstance(error, ColonnadeError) else type(error).__name__
                log.warning("the sites cannot be reached: %s", said)
                self._wait_longer()

    def _wanting(self) -> bool:
        """Whether a site that is not asked at present was heard of."""
        absent = set(self.source.unreachable()) - {*self.source.refusing, *self.source.left}
        return bool(absent) and bool(absent & set(heard_of(self.kit)))

    def _renew(self) -> Missing:
        """Start a job with the sites that are there; the one before ends when the new one has taken over."""
        before, reach = self.reach, open_reach(self.kit, self.site, wait=self.wait, every=False)
        missing = self.source.connect(reach.calls, reach.run)
        self.reach = reach
        if before is not None:
            before.close()
        self._pause = PAUSE
        if missing.absent.keys() - self.source.left:
            self._wait_longer()
        return missing

    def _wait_longer(self) -> None:
        self._next = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST)
