"""The active party's side of private set intersection: it asks, over any channel that carries bytes there and back.

It sends its ids under its key a, and gets them back under both keys: E_b(E_a(x)). The passive party's ids E_b(y) it
multiplies by a. Where the two are equal, x = y. It learns which of its ids are common (or only how many), and how many
ids the passive party has.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from colonnade.data.ids import Positions
from colonnade.errors import ConfigError, WireError
from colonnade.sites.intersection.cipher import Cipher, short
from colonnade.sites.intersection.frames import CHUNK, MAX_CHUNK, NO_SESSION, Frame, Kind, check, decode, encode
from colonnade.sites.intersection.holder import Progress, Reveal, limit, silent
from colonnade.sites.intersection.ids import IdSet, Keys, match

Channel = Callable[[bytes], bytes]


class Seeker:
    """Asks one passive party about `ids`. Good for one alignment.

    Args:
        ids: the active party's own.
        channel: brings a message to the passive party's `Holder.reply`, and its answer back.
        most: ids that the passive party may come with; ten times the own number by default, at least a million.
        chunk: ids a message.
        threads: for encryption; all cores by default.
        progress: called with the phase, how much is done, and of how much.
    """

    def __init__(
        self,
        ids: IdSet,
        channel: Channel,
        *,
        most: int | None = None,
        chunk: int = CHUNK,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> None:
        if not 1 <= chunk <= MAX_CHUNK:
            raise ConfigError(f"chunk must be between 1 and {MAX_CHUNK}. Got {chunk}.")
        self.ids, self.channel, self.chunk, self.progress = ids, channel, chunk, progress
        self.most = limit(ids, most)
        self.other = 0  # ids of the passive party
        self._cipher = Cipher(threads)
        self._session = NO_SESSION
        self._slots: Positions | None = None  # where the passive party's list holds each own id; -1 where it does not

    def meet(self, *, alone: bool = False) -> Positions:
        """Own rows whose ids the passive party holds, too. `alone` changes nothing here."""
        theirs = self._setup("both")
        rows, slots = match(self._double("both", Kind.RESPONSE), theirs)
        if len(np.unique(slots)) < len(slots):
            raise WireError(f"the passive party answers party {self.ids.party!r} with one id for two. It is at fault.")
        self._slots = np.full(len(self.ids), -1, dtype=np.int64)
        self._slots[rows] = slots
        return np.sort(rows)

    def count(self) -> int:
        """How many ids are common, and nothing else. The passive party must have been set to reveal="size"."""
        theirs = self._setup("size")
        self._double("size", Kind.WAIT)
        asks = (self._frame(Kind.ASK_RESPONSE, "size", part, len(self.ids)) for part in range(self._parts))
        keys = [short(answer.points()) for answer in self._talk(asks, Kind.RESPONSE)]
        return len(np.intersect1d(np.concatenate(keys), theirs))

    def tell(self, rows: Positions) -> None:
        """Tell the passive party which of its ids are agreed on: places in the list it sent, in the order of `rows`."""
        slots = np.full(len(rows), -1) if self._slots is None else self._slots[rows]
        if (slots < 0).any():
            raise ConfigError(f"party {self.ids.party!r} can tell of common rows alone, after meet().")
        frame = self._frame(Kind.NOTICE, "both", 0, len(rows))
        notices = (
            replace(frame, part=part, payload=slots[part * self.chunk :][: self.chunk].astype("<i8").tobytes())
            for part in range(frame.parts)
        )
        for _ in self._talk(notices, Kind.DONE):
            pass

    @property
    def places(self) -> Positions:
        """Where the passive party's list holds each own id, -1 where it does not; known after `meet`."""
        if self._slots is None:
            raise ConfigError(f"party {self.ids.party!r} knows no places before meet().")
        return self._slots

    @property
    def _parts(self) -> int:
        return -(-len(self.ids) // self.chunk)

    def _frame(self, kind: Kind, reveal: Reveal, part: int, total: int, payload: bytes = b"") -> Frame:
        return Frame(kind, self.ids.normalise, reveal, self._session, part, total, self.chunk, payload)

    def _setup(self, reveal: Reveal) -> Keys:
        """The passive party's ids under both keys, in its order."""
        if self._session != NO_SESSION:
            raise ConfigError(f"party {self.ids.party!r}: a Seeker is good for one alignment. Make a new one.")
        ask = self._frame(Kind.ASK_SETUP, reveal, 0, len(self.ids))
        first = decode(self.channel(encode(ask)))
        check(first, replace(ask, session=first.session, total=first.total), Kind.SETUP)
        if first.session == NO_SESSION or first.total == 0:
            raise WireError("the passive party's first answer has no session or no ids.")
        if first.total > self.most:
            raise WireError(
                f"the passive party comes with {first.total} ids, and party {self.ids.party!r} compares at most "
                f"{self.most}. Its owner may change most=."
            )
        self._session, self.other = first.session, first.total
        asks = (self._frame(Kind.ASK_SETUP, reveal, part, self.other) for part in range(1, first.parts))
        keys = [short(self._cipher.again(first.points()))]
        for answer in self._talk(asks, Kind.SETUP):
            keys.append(short(self._cipher.again(answer.points())))
            self.progress("setup", min((answer.part + 1) * self.chunk, self.other), self.other)
        theirs = np.concatenate(keys)
        if len(np.unique(theirs)) < len(theirs):
            raise WireError("the passive party has sent one id twice. It is at fault.")
        return theirs

    def _double(self, reveal: Reveal, kind: Kind) -> Keys:
        """Own ids under both keys, in order; empty where the answer comes later."""
        keys = []
        for answer in self._talk(self._requests(reveal), kind):
            keys.append(short(answer.points()))
            self.progress("request", min((answer.part + 1) * self.chunk, len(self.ids)), len(self.ids))
        return np.concatenate(keys)

    def _requests(self, reveal: Reveal) -> Iterator[Frame]:
        for part in range(self._parts):
            points = self._cipher.hide(self.ids.keys[part * self.chunk : (part + 1) * self.chunk])
            yield self._frame(Kind.REQUEST, reveal, part, len(self.ids), points.tobytes())

    def _talk(self, messages: Iterable[Frame], kind: Kind) -> Iterator[Frame]:
        """Send each and give the answers. While one is under way, the next is made and the last answer is used."""
        waiting: tuple[Frame, Future[bytes]] | None = None
        with ThreadPoolExecutor(1) as line:
            for message in messages:
                last = None if waiting is None else check(decode(waiting[1].result()), waiting[0], kind)
                context = contextvars.copy_context()  # an engine may keep there who is calling
                waiting = replace(message, payload=b""), line.submit(context.run, self.channel, encode(message))
                if last is not None:
                    yield last
            if waiting is not None:
                yield check(decode(waiting[1].result()), waiting[0], kind)
