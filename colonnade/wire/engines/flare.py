"""The engine between sites: each request is one frame of our codec, and goes out to all sites at once.

It knows of NVIDIA FLARE only that there is something to call per party; `colonnade.federate.components` puts FLARE's
Collab API there, a test puts a function. What a site does with a request is in `colonnade.federate.passive_site`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from torch import Generator

from colonnade.errors import ColonnadeError, WireError, raise_all
from colonnade.passive import OPERATIONS
from colonnade.stacked import Stacked
from colonnade.wire.codec import encode
from colonnade.wire.engines.envelope import Request, open_reply, seal_request
from colonnade.wire.engines.guard import open_frame
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire

Call = Callable[[bytes], object]  # a request's bytes to its reply's
ASSIGN, FINISH = "assign", "finish"  # what a site is asked beside the operations of its party: to take rows, to end


class Link:
    """The way to the passive sites in one run; requests are numbered through."""

    def __init__(self, calls: Mapping[str, Call], run: bytes, *, largest: int = 1 << 30) -> None:
        self.calls = dict(calls)
        self.run = run
        self.largest = largest  # bytes of a reply
        self._numbers = itertools.count(1)
        self._threads = ThreadPoolExecutor(max(1, len(self.calls)), thread_name_prefix="site")

    def exchange(self, wire: Wire, operation: str, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Put a request to each site, all at once; answers by site, without the sites that have none."""
        packed = {name: wire.send(message) for name, message in requests.items()}  # all are right before one leaves
        waiting = {
            name: self._threads.submit(self._ask, wire, name, operation, next(self._numbers), message)
            for name, message in packed.items()
        }
        answers, problems = {}, []
        for name, future in waiting.items():
            try:
                answers[name] = future.result()
            except ColonnadeError as error:
                problems.append(str(error))
        raise_all(problems, WireError, f"{operation} failed")
        return {name: wire.receive(answer) for name, answer in answers.items() if answer is not None}

    def _ask(self, wire: Wire, name: str, operation: str, number: int, message: Message) -> Message | None:
        """One site's answer as it travels; None where it has none."""
        data = self.calls[name](seal_request(Request(self.run, number, operation, encode(message))))
        if isinstance(data, bytes) and len(data) > self.largest:
            raise WireError(f"site {name!r} answered with {len(data)} bytes. At most {self.largest} are taken.")
        reply = open_reply(data)
        if reply.ended == "refused":
            raise WireError(f"site {name!r}: {reply.reason}")
        if (reply.run, reply.number) != (self.run, number):
            raise WireError(f"site {name!r} answered request {reply.number}, and {number} was put to it.")
        if reply.ended == "done":
            return None
        assert wire.active is not None
        answer = open_frame(reply.content, name, wire.active, "up", largest=self.largest, precision=wire.precision)
        expected = OPERATIONS[operation].reply if operation in OPERATIONS else None
        if answer.kind != expected:
            raise WireError(f"site {name!r} answered {operation!r} with {answer.kind!r}, not with {expected!r}.")
        return answer

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Flare:
    """Calls the passive parties at their sites."""

    def __init__(self, names: tuple[str, ...], wire: Wire, link: Link) -> None:
        missing = [name for name in names if name not in link.calls]
        if missing:
            raise WireError(f"no site of {missing} is connected. Connected: {list(link.calls)}.")
        self.names = names
        self.wire = wire
        self.link = link

    @property
    def recordable(self) -> bool:
        """A step between sites cannot be replayed."""
        return False

    @property
    def generators(self) -> list[Generator]:
        """The parties draw at their sites."""
        return []

    def call(self, operation: str, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Put a request to each party, all at once; answers by party."""
        answers = self.link.exchange(self.wire, operation, requests)
        if OPERATIONS[operation].reply is not None:
            silent = [name for name in requests if name not in answers]
            if silent:
                raise WireError(f"{operation!r} has an answer, and none came from {', '.join(map(repr, silent))}.")
        return answers

    def call_stacked(
        self, operation: str, sender: str, phase: str, content: Mapping[str, object]
    ) -> tuple[bool, Stacked | None]:
        """Never: each party is at a site of its own."""
        return False, None
