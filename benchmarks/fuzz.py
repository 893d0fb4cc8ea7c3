"""A million malformed inputs, against everything that takes bytes of another party.

    python -m benchmarks.fuzz [INPUTS] [SEED]

The inputs are those of `tests/wire/malformed.py`. Each must end in a value or in a `WireError`, within a second of CPU,
and take no more memory than `TIMES` its size and `BESIDE`: what Python allocates is traced; what torch and safetensors
allocate by themselves shows in the process's peak, and cannot exceed `ROOM` at all. One process, one thread of torch.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import random
import resource
import signal
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from colonnade.engines.remote import RESUME, Link, Remote
from colonnade.errors import WireError
from colonnade.methods.registry import METHODS
from colonnade.parties.engine import Requests
from colonnade.sites.intersection import frames as align
from colonnade.sites.policy.policy import everything
from colonnade.sites.recovery.past import Past
from colonnade.sites.skills.privileges import told
from colonnade.sites.training.offers import Offers
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.codec import PRECISIONS, decode, encode
from colonnade.wire.envelope import Reply, Request, open_reply, open_request, run_of, seal_reply, seal_request
from colonnade.wire.guard import open_frame
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire
from tests.sites.small import RUN, passive_sites, write_sites
from tests.wire.malformed import BANK, SHOP, VALUES, Frames, Parts

INPUTS = 1_000_000
SECONDS = 1.0  # of CPU, for one input
TIMES, BESIDE = 16, 4 << 20  # bytes: of Python's memory for one input
NATIVE = 64 << 20  # bytes by which the process's peak may grow in one input
ROOM = 2 << 30  # bytes of addresses beyond those at the start
AFRESH = 20_000  # inputs after which sites are made anew
SLOW = ("pretrain", "study", "cross", "cross_again", "enrol")  # operations that learn: work that was asked for
LARGEST = 1 << 24
OFFER = everything()
KINDS, OPERATIONS = OFFER.kinds, OFFER.operations
AT_SITES = Offers.offer.operations
TRAINED = [name for name, method in METHODS.items() if method.between_sites and method.skills]


class HangError(BaseException):
    """An input took too long; no `except Exception` holds it up."""


@dataclass
class Figures:
    """What became of the inputs of one target."""

    inputs: int = 0
    refused: int = 0
    accepted: int = 0
    inside: Counter[str] = field(default_factory=Counter)  # failures of a party's operation, told by their type
    seconds: float = 0.0  # CPU of the slowest
    memory: int = 0  # bytes of Python's at most
    times: float = 0.0  # the same beyond BESIDE, by the input's size

    def add(self, other: Figures) -> None:
        """Take in those of another target."""
        self.inputs, self.refused = self.inputs + other.inputs, self.refused + other.refused
        self.accepted, self.inside = self.accepted + other.accepted, self.inside + other.inside
        self.seconds, self.memory = max(self.seconds, other.seconds), max(self.memory, other.memory)
        self.times = max(self.times, other.times)


class Targets:
    """All that takes bytes; each target makes its next input and what is to be done with it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.frames, self.parts, self.draw = Frames(seed), Parts(seed), random.Random(seed)
        self.folder, self.made = folder, 0
        self.reply: object = b""
        self.link = Link({SHOP: lambda request: self.reply}, RUN, largest=LARGEST, ahead=False)
        self.weights = {
            self.codec: 20, self.guard: 30, self.request: 5, self.answer: 5, self.part: 10, self.training: 20,
            self.resuming: 3, self.aligning: 5, self.asking: 5,
        }  # fmt: skip

    def renew(self) -> None:
        """Fresh sites: one that trains, one that does not yet."""
        folder = self.folder / str(self.made)
        self.made += 1
        quick = [name for name in OPERATIONS if name not in SLOW]
        method = self.draw.choice(TRAINED)
        policy = f"bytes = {LARGEST}\nwidth = 64\noperations = {quick}".replace("'", '"')
        policies = dict.fromkeys((SHOP, "telco"), policy)
        self.trains = ready(passive_sites(write_sites(folder / "listed", policies))[SHOP], method)
        self.resumes = passive_sites(write_sites(folder / "again", policies))[SHOP]
        self.resumes.past = Past(folder / "again" / "past", SHOP)
        self._put(self.resumes, seal_request(Request(RUN, 0, RESUME, b"")))
        self.aligns = passive_sites(write_sites(folder / "not yet", policies, listed=False))["telco"]

    def warm(self) -> None:
        """One valid request of each sort, so that what is loaded on first use does not count as an input's."""
        for base in self.frames.known:
            for operation in asked_by(base.kind):
                with suppress(WireError):
                    self._put(self.trains, self._sealed(operation, base.frame))
        for part in self.parts.known:
            frame = torch.frombuffer(bytearray(part), dtype=torch.uint8)
            with suppress(WireError):
                sought = encode(Message("seeking", BANK, "telco", "align", {"frame": frame}))
                self._put(self.aligns, self._sealed("align", sought))

    def next(self) -> tuple[str, bytes, Callable[[], object]]:
        """Name of the target, the input, and what is done with it."""
        (target,) = self.draw.choices([*self.weights], [*self.weights.values()])
        data, do = target()
        return target.__name__, data, do

    def codec(self) -> tuple[bytes, Callable[[], object]]:
        """`decode` alone."""
        data = self.frames.next()[1]
        return data, lambda: decode(data)

    def guard(self) -> tuple[bytes, Callable[[], object]]:
        """`open_frame`, and the wire behind it."""
        kind, data = self.frames.next()
        precision, direction = self.draw.choice(PRECISIONS), KINDS[kind].direction
        ends = (SHOP, BANK) if direction == "up" else (BANK, SHOP)

        def do() -> object:
            packed = open_frame(data, *ends, direction, kinds=KINDS, largest=LARGEST, precision=precision)
            return Wire(KINDS, precision, active=BANK).receive(packed)

        return data, do

    def request(self) -> tuple[bytes, Callable[[], object]]:
        """`open_request`."""
        data = self._sealed("forward", self.frames.noise())
        data = self.frames.blind(data, data) if self.draw.random() < 0.8 else data
        return data, lambda: open_request(data)

    def answer(self) -> tuple[bytes, Callable[[], object]]:
        """`open_reply`, and the reason of a refusal."""
        ended: Any = self.draw.choice(("done", "answered", "refused"))
        data = seal_reply(Reply(RUN, 1, ended, self.frames.noise()))
        data = self.frames.blind(data, data) if self.draw.random() < 0.8 else data
        return data, lambda: open_reply(data).reason

    def part(self) -> tuple[bytes, Callable[[], object]]:
        """A message of the alignment."""
        data = self.parts.next()

        def do() -> object:
            frame = align.decode(data)
            return frame.positions() if frame.kind == align.Kind.NOTICE else frame.points()

        return data, do

    def training(self) -> tuple[bytes, Callable[[], object]]:
        """A site that trains."""
        kind, frame = self.frames.next()
        fitting = asked_by(kind)
        operation = self.draw.choice([*fitting, *fitting, "assign", "finish", *self.draw.sample([*OPERATIONS], 2)])
        data = self._sealed(operation, frame)
        data = self.frames.blind(data, data) if self.draw.random() < 0.2 else data
        return data, lambda: self._put(self.trains, data)

    def resuming(self) -> tuple[bytes, Callable[[], object]]:
        """A site that remembers its run, and goes on with it."""
        kind, frame = self.frames.next()
        operation = self.draw.choice([RESUME, "assign", *asked_by(kind)])
        data = seal_request(Request(RUN, self.draw.choice((0, 1, 1, 1, 2, 2**64 - 1)), operation, frame))
        data = self.frames.blind(data, data) if self.draw.random() < 0.3 else data
        return data, lambda: self._put(self.resumes, data)

    def aligning(self) -> tuple[bytes, Callable[[], object]]:
        """A site that is to be aligned, or asked for predictions."""
        if self.draw.random() < 0.7:
            frame = torch.frombuffer(bytearray(self.parts.next() or b"\x00"), dtype=torch.uint8)
            data = self._sealed("align", encode(Message("seeking", BANK, "telco", "align", {"frame": frame})))
        else:
            base = self.frames.next()[1].replace(b'"to": "shop"', b'"to": "telco"').replace(b"shop", b"telco")
            data = self._sealed(self.draw.choice([*AT_SITES]), base)
        return data, lambda: self._put(self.aligns, data)

    def asking(self) -> tuple[bytes, Callable[[], object]]:
        """The active party's link, to which a site replies."""
        ended: Any = self.draw.choice(("answered", "answered", "answered", "done", "refused"))
        kind, frame = self.frames.next()
        data = seal_reply(Reply(RUN, 1, ended, frame))
        data = self.frames.blind(data, data) if self.draw.random() < 0.3 else data
        fitting = [made for made in OPERATIONS.values() if made.answers is not None and made.answers.name == kind]
        operation = (fitting or [OPERATIONS["forward"]])[0]
        wanted = Requests(operation.asks.name, BANK, "train", (SHOP,), {}, {})

        def do() -> object:
            self.reply = data
            self.link._numbers[SHOP] = iter((1,))  # type: ignore[assignment]
            return Remote((SHOP,), Wire(KINDS, active=BANK), self.link, OFFER).call(operation, wanted)

        return data, do

    def _sealed(self, operation: str, frame: bytes) -> bytes:
        run = RUN if self.draw.random() < 0.98 else run_of("another")
        return seal_request(Request(run, self.draw.choice((1, 2, 2**63, 2**64 - 1)), operation, frame))

    @staticmethod
    def _put(site: PassiveSite, data: bytes) -> object:
        """The reply of a site; a refusal is raised, so that it counts as one."""
        site.last, site.taken, site.ended = 0, 0, False
        reply = open_reply(site.answer(data))
        if reply.ended == "refused":
            raise WireError(reply.reason)
        return reply


def asked_by(kind: str) -> list[str]:
    """The operations whose question is of a kind."""
    return [name for name, made in OPERATIONS.items() if made.asks.name == kind]


def ready(site: PassiveSite, method: str) -> PassiveSite:
    """A site whose party has rows, an encoder and the skills of a method."""
    rows = {"train": torch.arange(100, dtype=torch.int32), "valid": torch.arange(100, 120, dtype=torch.int32)}
    skills = told(method, METHODS[method]().setup())
    values = {"digest": site.table.digest(RUN), "method": method, "codec": "float32", **skills}
    plan = {name: VALUES[name] for name in ("hidden", "width", "embedding", "image", "seed", "precision")}
    for number, (operation, message) in enumerate([
        ("assign", Message("assignment", BANK, SHOP, "assign", rows, values)),  # type: ignore[arg-type]
        ("prepare", Message("plan", BANK, SHOP, "setup", {}, plan)),
    ], 1):  # fmt: skip
        reply = open_reply(site.answer(seal_request(Request(RUN, number, operation, encode(message)))))
        assert reply.ended != "refused", reply.reason
    return site


class Fuzzer:
    """Puts inputs, and keeps account."""

    def __init__(self, targets: Targets) -> None:
        self.targets = targets
        self.figures: dict[str, Figures] = {}
        self.problems: list[str] = []

    def run(self, inputs: int) -> None:
        """So many inputs."""
        for number in range(inputs):
            if number % AFRESH == 0:
                self.targets.renew()
                gc.collect()
                gc.freeze()
                faulthandler.dump_traceback_later(600, exit=True)  # for a hang outside of Python
                if number:
                    print(f"  {number:,} …", flush=True)
            self.one(*self.targets.next())
            if len(self.problems) >= 20:
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()

    def one(self, name: str, data: bytes, do: Callable[[], object]) -> None:
        """One input."""
        figures = self.figures.setdefault(name, Figures())
        figures.inputs += 1
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        started = time.process_time()
        problem = ""
        try:
            do()
            figures.accepted += 1
        except WireError as error:
            figures.refused += 1
            if "failed with " in str(error):
                figures.inside[str(error).partition("failed with ")[2].partition(";")[0]] += 1
        except HangError:
            problem = f"took more than {SECONDS} s of CPU"
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - started
        used = tracemalloc.get_traced_memory()[1] - before
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
        figures.seconds, figures.memory = max(figures.seconds, seconds), max(figures.memory, used)
        figures.times = max(figures.times, (used - BESIDE) / max(1, len(data)))
        if used > TIMES * len(data) + BESIDE or grown > TIMES * len(data) + NATIVE:
            problem = problem or f"took {used:,} bytes of Python's memory, {grown:,} in all"
        if problem:
            self.problems.append(f"{name}, {len(data)} bytes: {problem}\n    {data[:400]!r}")


def limit() -> None:
    """Stop what takes too long, and what takes too much."""

    def late(number: int, frame: FrameType | None) -> None:
        raise HangError

    signal.signal(signal.SIGPROF, late)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, resource.RLIM_INFINITY))


def report(fuzzer: Fuzzer, seed: int, seconds: float, cpu: float, rss: int) -> None:
    """The figures as a table."""
    every = Figures()
    for figures in fuzzer.figures.values():
        every.add(figures)
    print(f"seed {seed}: {every.inputs:,} inputs in {seconds:.0f} s, {cpu:.0f} s of CPU")
    print(f"  {'':10}{'inputs':>11}{'refused':>11}{'accepted':>11}{'slowest':>11}{'most memory':>14}")
    for name, f in [*sorted(fuzzer.figures.items()), ("all", every)]:
        print(
            f"  {name:10}{f.inputs:11,}{f.refused:11,}{f.accepted:11,}{1000 * f.seconds:8.1f} ms"
            f"{f.memory / 1e6:11.2f} MB"
        )
    print(f"  refusals as an operation of the party failed: {dict(every.inside) or 0}")
    print(f"  Python's memory beyond {BESIDE >> 20} MiB: at most {max(0.0, every.times):.1f} times the input ({TIMES})")
    print(f"  peak of the process beyond its start, sites and trace included: {rss / 1e6:.0f} MB")
    print(f"  other errors, hangs, large allocations: {len(fuzzer.problems)}")
    for problem in fuzzer.problems:
        print(f"  - {problem}")


def main(inputs: int = INPUTS, seed: int = 0) -> None:
    torch.set_num_threads(1)
    logging.getLogger("colonnade").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Targets(seed, Path(folder)))
        fuzzer.targets.renew()
        fuzzer.targets.warm()
        limit()
        tracemalloc.start()
        started, cpu = time.perf_counter(), time.process_time()
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        fuzzer.run(inputs)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss) * 1024
        report(fuzzer, seed, time.perf_counter() - started, time.process_time() - cpu, grown)
        fuzzer.targets.link.close()
    if fuzzer.problems:
        sys.exit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
