"""The way from a command to the job at its site: requests pass, absent sites are said, and the job ends with it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from colonnade.errors import WireError
from colonnade.sites.provisioning import channel
from colonnade.sites.provisioning.channel import AbsentError, closed, connect, line, relay


def shop(request: bytes, seconds: float) -> object:
    if request == b"die":
        raise WireError("site 'shop' did not answer (TimeoutError).")
    if request == b"fail":
        raise KeyError("a secret")
    return None if request == b"nothing" else request + f" after {seconds:g}".encode()


class Job:
    """A relay in a thread."""

    def __init__(self, stopped: Callable[[], bool] = lambda: False) -> None:
        self._told = threading.Event()
        self.thread = threading.Thread(target=relay, args=({"shop": shop}, self._ready, stopped))
        self.thread.start()
        assert self._told.wait(5)

    def _ready(self, path: Path) -> None:
        self.path = path
        self._told.set()

    def ends(self) -> bool:
        self.thread.join(5)
        return not self.thread.is_alive() and not self.path.parent.exists()


@pytest.fixture
def job() -> Iterator[Job]:
    made = Job()
    yield made
    with contextlib.suppress(AbsentError), connect(made.path):  # where no test did
        pass
    assert made.ends()


def test_requests_and_replies_of_any_size_pass(job: Job) -> None:
    with connect(job.path) as control:
        call = line(job.path, "shop", 2.5)
        assert call(b"hello") == b"hello after 2.5"
        large = os.urandom(5_000_000)
        assert call(large) == large + b" after 2.5"
        assert call(b"") == b" after 2.5"
        assert not closed(control)
    assert job.ends()


def test_only_this_user_can_enter(job: Job) -> None:
    assert job.path.parent.stat().st_mode & 0o077 == 0


def test_a_site_that_gives_no_answer_is_said_and_can_be_asked_again(job: Job) -> None:
    with connect(job.path):
        call = line(job.path, "shop", 1)
        with pytest.raises(AbsentError, match="did not answer"):
            call(b"die")
        with pytest.raises(AbsentError, match=r"the call failed \(KeyError\)"):
            call(b"fail")
        with pytest.raises(AbsentError, match="something else"):
            call(b"nothing")
        assert call(b"again") == b"again after 1"


def test_a_site_that_is_not_in_the_job_is_absent(job: Job) -> None:
    with connect(job.path), pytest.raises(AbsentError, match="'telco' cannot be asked"):
        line(job.path, "telco", 1)(b"hello")


def test_the_job_ends_when_it_is_aborted() -> None:
    stop = threading.Event()
    job = Job(stop.is_set)
    with connect(job.path) as control:
        call = line(job.path, "shop", 1)
        assert call(b"hello") == b"hello after 1"
        stop.set()
        assert job.ends() and closed(control)
    with pytest.raises(AbsentError, match="has ended"):
        connect(job.path)


def test_a_job_whose_command_never_comes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "PATIENCE", 0.1)
    assert Job().ends()
