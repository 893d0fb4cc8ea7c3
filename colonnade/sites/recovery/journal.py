"""What a site remembers of a run while it lasts: one file that only grows, and is read again after a crash.

A record is 8 bytes its length, 4 its CRC-32, and its bytes. A record that was cut, by a crash in the middle of it, is
the last one; it is dropped when the file is opened again. One process at a time has the file open.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from colonnade.errors import WireError

_HEAD = struct.Struct("<QI")
_TO_DISK = 1.0  # seconds between two requests to the disk; a crash of the process alone loses nothing in between
_PATIENCE = 30.0  # seconds for which a process that is about to end may hold the file


class Journal:
    """Records in the order in which they were appended.

    Args:
        path: the file; made where it is not there.
    """

    def __init__(self, path: Path, *, patience: float = _PATIENCE) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._lock(patience)
        self._end = self._whole()
        os.ftruncate(self._file, self._end)
        self._synced = time.monotonic()

    def _lock(self, patience: float) -> None:
        until = time.monotonic() + patience
        while True:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    os.close(self._file)
                    raise WireError(f"{self.path} is held by another process of this run. Stop that one.") from None
                time.sleep(0.1)

    def __len__(self) -> int:
        """Bytes."""
        return self._end

    def __iter__(self) -> Iterator[bytes]:
        """All records that are there now, one at a time."""
        at, end = 0, self._end
        while at < end:
            length, _ = _HEAD.unpack(os.pread(self._file, _HEAD.size, at))
            yield _read(self._file, length, at + _HEAD.size)
            at += _HEAD.size + length

    def _whole(self) -> int:
        """Where the last whole record ends."""
        at, size = 0, os.fstat(self._file).st_size
        while at + _HEAD.size <= size:
            length, check = _HEAD.unpack(os.pread(self._file, _HEAD.size, at))
            if at + _HEAD.size + length > size or zlib.crc32(_read(self._file, length, at + _HEAD.size)) != check:
                break
            at += _HEAD.size + length
        return at

    def append(self, *parts: bytes) -> None:
        """Add a record, made of parts. It survives the process once this returns, and the machine a second later."""
        check = 0
        for part in parts:
            check = zlib.crc32(part, check)
        whole = b"".join((_HEAD.pack(sum(map(len, parts)), check), *parts))
        done = 0
        while done < len(whole):
            done += os.pwrite(self._file, memoryview(whole)[done:], self._end + done)
        self._end += len(whole)
        if time.monotonic() - self._synced > _TO_DISK:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def end_with(self, record: bytes) -> None:
        """Let go of all records but this one, at once."""
        draft = self.path.with_name(f".{self.path.name}-ended")
        draft.unlink(missing_ok=True)
        last = Journal(draft)
        last.append(record)
        os.fsync(last._file)
        draft.replace(self.path)
        os.close(self._file)
        self._file, self._end = last._file, last._end

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let another process have the file."""
        os.close(self._file)


def _read(file: int, length: int, at: int) -> bytes:
    """`pread` reads at most 2 GiB at a time."""
    parts = []
    while length:
        part = os.pread(file, length, at)
        if not part:
            break
        parts.append(part)
        at, length = at + len(part), length - len(part)
    return b"".join(parts)
