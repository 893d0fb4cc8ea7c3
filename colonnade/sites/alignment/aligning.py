"""Private set intersection between sites: the messages of `colonnade.sites.intersection` over the link of training.

The active party's `Seeker` and each site's `Holder` speak in frames of their own, checked by themselves; each travels
as bytes in one message (`seeking` down, `holding` up), so that ids go in chunks. A site's owner says what may be
revealed, to how many ids and how often. When all parties know their rows, each writes a file of its own.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.engines.remote import Link
from colonnade.errors import ConfigError, WireError
from colonnade.parties.skills.skill import offer_of
from colonnade.sites.files.agreed import ENDING, Agreed, write_agreed
from colonnade.sites.files.parts import write_json
from colonnade.sites.files.say import say
from colonnade.sites.intersection import Holder, IdSet, Seeker, aligned
from colonnade.sites.intersection.frames import decode
from colonnade.sites.intersection.holder import Progress, silent
from colonnade.sites.policy.policy import RefusedError
from colonnade.sites.settings.description import FederationFile, SiteFile
from colonnade.sites.settings.table import SiteTable, ids_to_align
from colonnade.sites.skills.align import ALIGNMENT, SEEKING, Aligning, as_bytes, as_tensor
from colonnade.sites.skills.train import FINISH, Assigning
from colonnade.wire.message import Message, Value
from colonnade.wire.wire import Wire

DAY = 24 * 3600.0
KINDS = offer_of(Aligning, Assigning).kinds  # of messages in an alignment
_REVEALED = {"size": "how many of them both parties hold", "both": "which of them both parties hold"}


class AligningSite:
    """A passive party's side of one alignment, within what its owner allows."""

    def __init__(self, file: SiteFile, table: SiteTable) -> None:
        self.file, self.table = file, table
        self.holder: Holder | None = None

    def align(self, frame: bytes) -> bytes:
        """Answer one part of the intersection."""
        if self.holder is None:
            self.holder = self._begin(decode(frame).reveal)
        return self.holder.reply(frame)

    def _begin(self, reveal: str) -> Holder:
        file = self.file
        diary = file.out / "alignments.json"
        earlier = _read_diary(diary)
        lately = [entry for entry in earlier if entry["time"] > time.time() - DAY]
        file.policy.check_alignment(reveal, len(lately) + 1)
        if reveal == "both":
            refuse_list(file)
        ids = IdSet(ids_to_align(file, self.table), file.party, normalise=file.normalise)
        write_json(diary, [*earlier, {"time": time.time(), "reveal": reveal}])
        say(f"an alignment of {len(ids)} ids began; it reveals {_REVEALED[reveal]}")
        return Holder(ids, reveal="both" if reveal == "both" else "size", most=file.policy.ids)

    def agree(self, name: str, rows: int) -> None:
        """Keep what was agreed on, now that it is known to all parties."""
        if self.holder is None or rows != len(self.holder.agreed):
            raise WireError("an alignment is to be kept that did not take place, or of another number of rows.")
        places = self.holder.listed  # the row of each place
        at = np.empty(len(places), dtype=np.int64)
        at[places] = np.arange(len(places))
        texts = list(map(str, self.table.ids.tolist()))
        agreed = Agreed(
            name, [texts[row] for row in places], at[self.holder.agreed], normalise=self.holder.ids.normalise
        )
        write_agreed(self.file.aligned, agreed)
        say(f"{rows} rows are aligned; kept in {self.file.aligned}")


def refuse_list(file: SiteFile) -> None:
    """An alignment does not replace a list of ids that was agreed on by other means."""
    if file.aligned.suffix != ENDING:
        raise RefusedError(
            f"party {file.party!r} keeps to a list of agreed ids, which an alignment does not replace. Its owner may "
            f"take aligned out of [site]."
        )


def _read_diary(path: Path) -> list[dict[str, Any]]:
    """When alignments were begun here; a file that cannot be read must not make room for more of them."""
    if not path.exists():
        return []
    try:
        begun = json.loads(path.read_text())
        return [{"time": float(entry["time"]), "reveal": str(entry["reveal"])} for entry in begun]
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError(f"{path.name} of the site cannot be read. Its owner may remove it.") from None


def align_sites(
    file: SiteFile, federation: FederationFile, table: SiteTable, link: Link, progress: Progress = silent
) -> dict[str, Any]:
    """Find the rows that all parties hold, agree on them with every site, and write them here; the record."""
    refuse_list(file)
    started, wire = time.perf_counter(), Wire(KINDS, active=file.party)
    ids = IdSet(ids_to_align(file, table), file.party, normalise=file.normalise)
    pairs = _seekers(ids, federation, link, wire, progress)
    found = aligned(ids, pairs)
    name = secrets.token_hex(16)
    told: dict[str, Value] = {"alignment": name, "rows": len(found.rows)}
    requests = {party: Message(ALIGNMENT.name, file.party, party, "align", {}, dict(told)) for party in pairs}
    link.exchange(wire, Aligning.operations["agree"], requests, wait=True)
    places = {party: pair.places for party, pair in pairs.items()}
    texts = list(map(str, table.ids.tolist()))
    write_agreed(file.aligned, Agreed(name, texts, found.rows, places, file.normalise))
    common = {party: int(mask.sum()) for party, mask in found.held.items()}
    return _end(file, link, wire, started, ids, pairs) | {"common": common, "aligned": len(found.rows)}


def count_sites(
    file: SiteFile, federation: FederationFile, table: SiteTable, link: Link, progress: Progress = silent
) -> dict[str, Any]:
    """Only how many ids each site has in common with this party; nothing is kept. The record."""
    started, wire = time.perf_counter(), Wire(KINDS, active=file.party)
    ids = IdSet(ids_to_align(file, table), file.party, normalise=file.normalise)
    pairs = _seekers(ids, federation, link, wire, progress)
    common = {party: pair.count() for party, pair in pairs.items()}
    return _end(file, link, wire, started, ids, pairs) | {"common": common}


def _seekers(ids: IdSet, federation: FederationFile, link: Link, wire: Wire, progress: Progress) -> dict[str, Seeker]:
    def heard(party: str) -> Progress:
        return lambda phase, done, total: progress(f"{party}: {phase}", done, total)

    return {
        party: Seeker(ids, channel(link, wire, ids.party, party), progress=heard(party)) for party in federation.passive
    }


def channel(link: Link, wire: Wire, active: str, party: str) -> Callable[[bytes], bytes]:
    """What brings a frame to a site's `Holder`, and its answer back."""

    def carry(frame: bytes) -> bytes:
        request = Message(SEEKING.name, active, party, "align", {"frame": as_tensor(frame)})
        answer = link.exchange(wire, Aligning.operations["align"], {party: request}).get(party)
        if answer is None:
            raise WireError(f"site {party!r} gave no answer to a part of the alignment.")
        return as_bytes(answer)

    return carry


def _end(
    file: SiteFile, link: Link, wire: Wire, started: float, ids: IdSet, pairs: dict[str, Seeker]
) -> dict[str, Any]:
    requests = {party: Message(FINISH.asks.name, file.party, party, "align") for party in pairs}
    link.exchange(wire, FINISH, requests, wait=True)
    numbers = {file.party: len(ids), **{party: pair.other for party, pair in pairs.items()}}
    return {
        "party": file.party, "normalise": file.normalise, "ids": numbers, "traffic": wire.traffic.to_json(),
        "seconds": time.perf_counter() - started,
    }  # fmt: skip
