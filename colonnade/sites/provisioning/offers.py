"""What a passive site offers besides training: alignment and predictions, one of them in a run."""

from __future__ import annotations

from collections.abc import Callable

from colonnade.errors import WireError
from colonnade.parties.passive import AT_SITES, Reply
from colonnade.sites.alignment.aligning import AligningSite
from colonnade.sites.alignment.table import SiteTable
from colonnade.sites.prediction.predicting import PredictingSite
from colonnade.sites.provisioning.description import SiteFile
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire


class Offers:
    """The operations of `AT_SITES` in one run."""

    def __init__(self, file: SiteFile, table: SiteTable, active: str, run: bytes) -> None:
        self._aligning = AligningSite(file, table)
        self._predicting = PredictingSite(file, table, active, run)
        self._sort = ""

    @property
    def wire(self) -> Wire | None:
        """How answers travel, where an opened part says it."""
        return self._predicting.wire

    def perform(self, operation: str, message: Message) -> Reply | None:
        """Carry out an operation of `AT_SITES`."""
        if message.kind != AT_SITES[operation].request:
            raise WireError(f"{operation!r} came with a {message.kind!r}, not with a {AT_SITES[operation].request!r}.")
        sort = "alignment" if operation in ("align", "agree") else "predictions"
        if self._sort not in ("", sort):
            raise WireError(f"{operation!r} was asked in a run of {self._sort}. Start another.")
        self._sort = sort
        do: dict[str, Callable[[Message], Reply | None]] = {
            "align": self._aligning.align, "agree": self._aligning.agree,
            "open": self._predicting.open, "encode": self._predicting.encode,
        }  # fmt: skip
        return do[operation](message)
