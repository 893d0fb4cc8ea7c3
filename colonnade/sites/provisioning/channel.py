"""From a command of the active party's user to the process of a FLARE job at its site, on the same machine.

Alignment and predictions run in the process of the command itself; the job only passes requests on to the sites and
their replies back. Between the two is a Unix socket in a folder that this user alone can enter. A connection names a
site and how long it is waited for, then carries one request and one reply after another. The job ends when the first
connection, which names nobody, is closed: also when the command is killed.
"""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from colonnade.engines.remote import Call
from colonnade.errors import WireError

Ask = Callable[[bytes, float], object]  # a request's bytes and the seconds to wait, to its reply's
MAX = 1 << 31  # bytes of a request or reply
PATIENCE = 60.0  # seconds in which the command must have come
_HELLO, _REQUEST, _REPLY = struct.Struct("<dB"), struct.Struct("<Q"), struct.Struct("<BQ")
_ANSWERED, _ABSENT = 0, 1


class AbsentError(WireError):
    """A site gave no answer."""


def relay(asks: Mapping[str, Ask], ready: Callable[[Path], None], stopped: Callable[[], bool]) -> None:
    """At the job: pass requests on until the command goes away; `ready` hears where the socket is."""
    folder = Path(tempfile.mkdtemp(prefix="colonnade-"))  # readable by this user alone
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(folder / "link"))
            listening.listen()
            listening.settimeout(PATIENCE)
            ready(folder / "link")
            try:
                control, _ = listening.accept()
            except TimeoutError:
                return
            with control:
                _serve(listening, control, asks, stopped)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(
    listening: socket.socket, control: socket.socket, asks: Mapping[str, Ask], stopped: Callable[[], bool]
) -> None:
    while not stopped():
        waiting, _, _ = select.select([listening, control], [], [], 0.5)
        if control in waiting:  # it says nothing: it was closed
            return
        if listening in waiting:
            threading.Thread(target=_pass_on, args=(listening.accept()[0], asks), daemon=True).start()


def _pass_on(connection: socket.socket, asks: Mapping[str, Ask]) -> None:
    with connection, contextlib.suppress(OSError, EOFError):
        seconds, length = _HELLO.unpack(_receive(connection, _HELLO.size))
        ask = asks.get(_receive(connection, length).decode())
        while ask is not None:
            (size,) = _REQUEST.unpack(_receive(connection, _REQUEST.size))
            code, content = _outcome(ask, _receive(connection, size), seconds)
            connection.sendall(_REPLY.pack(code, len(content)) + content)


def _outcome(ask: Ask, request: bytes, seconds: float) -> tuple[int, bytes]:
    try:
        reply = ask(request, seconds)
    except Exception as error:  # also that the job is aborted: whoever asks must hear of it
        said = str(error) if isinstance(error, WireError) else f"the call failed ({type(error).__name__})."
        return _ABSENT, said.encode()
    return (_ANSWERED, reply) if isinstance(reply, bytes) else (_ABSENT, b"the site answered with something else.")


def _receive(connection: socket.socket, size: int) -> bytes:
    if size > MAX:
        raise EOFError
    whole = bytearray()
    while len(whole) < size:
        part = connection.recv(min(size - len(whole), 1 << 20))
        if not part:
            raise EOFError
        whole += part
    return bytes(whole)


def connect(path: Path) -> socket.socket:
    """A connection to the socket of a job."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(str(path))
    except OSError:
        made.close()
        raise AbsentError("the job at the own site has ended. Its log is in the kit.") from None
    return made


def closed(connection: socket.socket) -> bool:
    """Whether the other end is gone; for a connection on which nothing is said."""
    return bool(select.select([connection], [], [], 0)[0])


def line(path: Path, site: str, seconds: float) -> Call:
    """How one site is called through a job; a site that gives no answer is an `AbsentError`."""
    connection, turn = connect(path), threading.Lock()
    name = site.encode()
    connection.sendall(_HELLO.pack(seconds, len(name)) + name)

    def call(request: bytes) -> object:
        with turn:
            try:
                connection.sendall(_REQUEST.pack(len(request)) + request)
                code, size = _REPLY.unpack(_receive(connection, _REPLY.size))
                content = _receive(connection, size)
            except (OSError, EOFError):
                raise AbsentError(f"site {site!r} cannot be asked: the job at the own site has ended.") from None
        if code == _ABSENT:
            raise AbsentError(content.decode("utf-8", "replace"))
        return content

    return call
