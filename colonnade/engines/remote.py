"""The engine between sites: each request is one frame of our codec, and goes out to all sites at once.

It knows that there is something to call per party, and nothing of what carries the bytes. What a site does with a
request is in `colonnade.sites.training.passive_site`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from colonnade.engines.absent import Absent, LostSiteError
from colonnade.errors import ColonnadeError, WireError, raise_all
from colonnade.parties.engine import Answers, Promises, Requests, gathered
from colonnade.parties.skills.skill import Offer, Operation
from colonnade.wire.codec import encode
from colonnade.wire.envelope import Request, open_reply, seal_request
from colonnade.wire.guard import open_frame
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire

Call = Callable[[bytes], object]  # a request's bytes to its reply's
RESUME = "resume"  # asks a site where it stands in the run; outside of the numbering


class Memory(Protocol):
    """The replies of a run that was cut, and of the one that goes on."""

    def known(self, name: str, number: int) -> bool:
        """Whether a site has answered a request already."""

    def find(self, name: str, number: int, request: bytes) -> bytes:
        """Its reply."""

    def keep(self, name: str, number: int, request: bytes, reply: bytes) -> None:
        """Remember a reply."""


class Link:
    """The way to the passive sites in one run; the requests to each are numbered through, and go one after the other.

    A request that has no answer is not waited for: the active party goes on while the sites work. What went wrong with
    it is raised by the next exchange that has one, or by `settle`.

    Args:
        calls: how each site is reached.
        run: which run it is.
        largest: bytes of a reply.
        memory: replies that are there already are taken from it, and new ones are kept in it.
        absent: sites that the run goes on without. A representation of theirs is zero (Wu et al. 2022, App. C).
        ahead: False: every request is waited for.
    """

    def __init__(
        self,
        calls: Mapping[str, Call],
        run: bytes,
        *,
        largest: int = 1 << 30,
        memory: Memory | None = None,
        absent: Collection[str] = (),
        ahead: bool = True,
    ) -> None:
        self.calls = dict(calls)
        self.run = run
        self.largest = largest
        self.memory = memory
        self.ahead = ahead
        self.absent = Absent(frozenset(absent))
        self._numbers = {name: itertools.count(1) for name in self.names}
        self._lost: set[str] = set()
        self._lanes = {name: ThreadPoolExecutor(1, thread_name_prefix=f"site-{name}") for name in self.names}
        self._pending: list[Future[Message | None]] = []

    @property
    def names(self) -> list[str]:
        """All sites of the run, those that it goes on without included."""
        return [*self.calls, *(name for name in sorted(self.absent.names) if name not in self.calls)]

    def exchange(
        self, wire: Wire, operation: Operation, requests: Mapping[str, Message], *, wait: bool = False
    ) -> dict[str, Message]:
        """Put a request to each site, all at once; answers by site, without the sites that have none.

        Args:
            wire: that the messages pass.
            operation: what is asked.
            requests: by site.
            wait: until each site has done it, also where there is no answer.
        """
        numbers = {name: next(self._numbers[name]) for name in requests}
        here = {name: m for name, m in requests.items() if not self._goes_without(name, numbers[name])}
        packed = {name: wire.send(message) for name, message in here.items()}  # all are right before one leaves
        waiting = {
            name: self._lanes[name].submit(self._ask, wire, name, operation, numbers[name], message)
            for name, message in packed.items()
        }
        has_answer = operation.answers is not None
        if self.ahead and not has_answer and not wait:
            self._pending += waiting.values()
            return {}
        answers = self._gather(operation.name, waiting)
        received = {name: wire.receive(answer) for name, answer in answers.items() if answer is not None}
        self.absent.learn(received)
        for name in requests.keys() - here.keys() if has_answer else ():
            received[name] = self.absent.zeros(name, operation, requests[name])
        return {name: received[name] for name in requests if name in received}

    def _goes_without(self, name: str, number: int) -> bool:
        return name in self.absent.names and not (self.memory is not None and self.memory.known(name, number))

    def _gather(self, operation: str, waiting: Mapping[str, Future[Message | None]]) -> dict[str, Message | None]:
        """The answers; a site's own come after all that was put to it before."""
        for future in waiting.values():
            future.exception()  # wait for all, whatever becomes of them
        self._raise_of([*self._pending, *waiting.values()], operation)
        self._pending = []
        return {name: future.result() for name, future in waiting.items()}

    def settle(self) -> None:
        """Wait for all that was put to the sites."""
        self._gather("what was told last", {})

    @staticmethod
    def _raise_of(futures: Sequence[Future[Message | None]], operation: str) -> None:
        """Raise what went wrong: a site that is lost only if nothing else did, as the run can then go on later."""
        errors = [e for e in (future.exception() for future in futures) if e is not None]
        for error in errors:
            if not isinstance(error, ColonnadeError):
                raise error
        raise_all([str(e) for e in errors if not isinstance(e, LostSiteError)], WireError, f"{operation} failed")
        lost = [e for e in errors if isinstance(e, LostSiteError)]
        if lost:
            first = {name: str(e) for e in reversed(lost) for name in e.sites}  # what came first
            raise LostSiteError(" ".join(dict.fromkeys(first.values())), tuple(first))

    def _ask(self, wire: Wire, name: str, operation: Operation, number: int, message: Message) -> Message | None:
        """One site's answer as it travels; None where it has none."""
        request = seal_request(Request(self.run, number, operation.name, encode(message)))
        known = self.memory is not None and self.memory.known(name, number)
        data = self.memory.find(name, number, request) if known and self.memory else self._call(name, request)
        if isinstance(data, bytes) and len(data) > self.largest:
            raise WireError(f"site {name!r} answered with {len(data)} bytes. At most {self.largest} are taken.")
        reply = open_reply(data)
        if reply.ended == "refused":
            raise WireError(f"site {name!r}: {reply.reason}")
        if (reply.run, reply.number) != (self.run, number):
            raise WireError(f"site {name!r} answered request {reply.number}, and {number} was put to it.")
        if self.memory is not None and not known and isinstance(data, bytes):
            self.memory.keep(name, number, request, data)
        if reply.ended == "done":
            return None
        answer = open_frame(
            reply.content, name, message.sender, "up",
            kinds=wire.kinds, largest=self.largest, precision=wire.precision,
        )  # fmt: skip
        expected = None if operation.answers is None else operation.answers.name
        if answer.kind != expected:
            raise WireError(f"site {name!r} answered {operation.name!r} with {answer.kind!r}, not with {expected!r}.")
        return answer

    def _call(self, name: str, request: bytes) -> object:
        """After a request that a site did not answer, nothing more is put to it: it must not miss one."""
        if name in self._lost:
            raise LostSiteError(f"site {name!r} did not answer an earlier request.", (name,))
        try:
            return self.calls[name](request)
        except LostSiteError:
            self._lost.add(name)
            raise

    def close(self) -> None:
        """Let the threads go."""
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)


class Remote:
    """Calls the passive parties at their sites.

    Args:
        names: of the passive parties.
        wire: between them and the active party.
        link: the way to their sites.
        offer: the operations of the run.
    """

    def __init__(self, names: tuple[str, ...], wire: Wire, link: Link, offer: Offer) -> None:
        missing = [name for name in names if name not in link.names]
        if missing:
            raise WireError(f"no site of {missing} is connected. Connected: {list(link.calls)}.")
        self.names = names
        self.wire, self.offer = wire, offer
        self.link = link

    @property
    def promises(self) -> Promises:
        """Nothing: a step between sites cannot be replayed, and every answer is waited for."""
        return Promises()

    def call(self, operation: Operation, requests: Requests) -> Answers:
        """Put a request to each party, all at once."""
        messages = {name: requests.message(name) for name in requests.names}
        answers = self.link.exchange(self.wire, operation, messages)
        silent = [name for name in requests.names if name not in answers]
        if operation.answers is not None and silent:
            raise WireError(f"{operation.name!r} has an answer, and none came from {', '.join(map(repr, silent))}.")
        return gathered(answers)
