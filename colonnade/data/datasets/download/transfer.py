"""Download one file: resumable, checked, and under its own name only when it is complete.

Bytes are collected in NAME.part. A later call asks the server for the rest. The file gets its name after its length and
checksum are right.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from colonnade.data.datasets.download.network import reachable
from colonnade.data.datasets.download.origin import Remote
from colonnade.errors import DataError

Progress = Callable[[str, int, int | None], None]  # file name, bytes that are there, bytes in all

STALL = 30.0  # seconds without a byte until the connection counts as broken
_TRIES = 3  # connections per URL
_PAUSE = 0.5  # seconds before the second one, doubled each time
_CHUNK = 1 << 16
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class TransferError(DataError):
    """A transfer that failed; another attempt or another mirror may succeed."""


def download(remote: Remote, folder: Path, progress: Progress) -> Path:
    """The complete, checked file in `folder`; what an interrupted call left there is continued."""
    path = folder / remote.name
    if path.exists() and (remote.sha256 is None or sha256_of(path) == remote.sha256):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    for url in reachable(remote.urls):
        try:
            return _from(url, remote, path, progress)
        except TransferError as error:
            problems.append(f"{url}: {error}")
    raise DataError("\n".join(problems))


def sha256_of(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from(url: str, remote: Remote, path: Path, progress: Progress) -> Path:
    part = path.with_name(f"{path.name}.part")
    resumed = part.exists()
    _complete(url, part, remote, progress)
    found = sha256_of(part)
    if remote.sha256 and found != remote.sha256:
        part.unlink()
        if resumed:  # the beginning may be of another file
            return _from(url, remote, path, progress)
        raise TransferError(
            f"the checksum is wrong. Expected sha256 {remote.sha256}, got {found}. The download was removed. "
            f"Either it was damaged on the way, or the source has changed its file."
        )
    part.replace(path)
    return path


def _complete(url: str, part: Path, remote: Remote, progress: Progress) -> None:
    """Transfer until the file is complete, over several connections if need be."""
    for attempt in range(1, _TRIES + 1):
        try:
            return _transfer(url, part, remote, progress)
        except HTTPError as error:
            error.close()
            if error.code == 416 and part.exists():  # nothing begins where the part ends
                part.unlink()
            elif error.code < 500 or attempt == _TRIES:
                raise TransferError(f"the server answered {error.code} {error.reason}.") from error
        except (OSError, HTTPException) as error:
            if attempt == _TRIES:
                raise TransferError(
                    f"the transfer broke off ({_reason(error)}). The same command continues it."
                ) from error
        time.sleep(_PAUSE * 2 ** (attempt - 1))
    raise TransferError("the server and the partial download do not fit together. Try again.")


def _transfer(url: str, part: Path, remote: Remote, progress: Progress) -> None:
    """One connection: append what is missing to the part."""
    there = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "colonnade", "Accept-Encoding": "identity"}
    if there:
        headers["Range"] = f"bytes={there}-"
    with _OPENER.open(Request(url, headers=headers), timeout=STALL) as response:
        start, total = _span(response, there)
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            received = start
            while chunk := response.read1(_CHUNK):
                _write(file, chunk, part)
                received += len(chunk)
                progress(remote.name, received, total or remote.size)
    if total is not None and received != total:
        raise ConnectionError(f"{received:,} of {total:,} bytes arrived")


def _span(response: HTTPResponse, there: int) -> tuple[int, int | None]:
    """The byte at which the answer begins, and the length of the whole file."""
    if response.status == 206:
        match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not match or int(match[1]) != there:
            raise ConnectionError(f"the server sent other bytes than those from {there:,}")
        return there, int(match[2])
    length = response.headers.get("Content-Length")
    return 0, None if length is None else int(length)


def _write(file: IO[bytes], chunk: bytes, part: Path) -> None:
    try:
        file.write(chunk)
        file.flush()
    except OSError as error:
        raise DataError(
            f"{part} could not be written: {error.strerror}. Make room, or set COLONNADE_DATA to another disk. "
            f"The same command continues the download."
        ) from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error)) or type(error).__name__


class _Redirects(HTTPRedirectHandler):
    """Follow redirects, but never from https to a connection that others can change."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new not in ("http", "https") or (old == "https" and new == "http"):
            raise TransferError(f"the server redirects to {newurl}, which is not protected by https.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = build_opener(_Redirects)
