"""Encryption that commutes: openmined-psi's, on the curve P-256. E_a(E_b(x)) = E_b(E_a(x)), each under a secret key.

Two calls of the library are used: `CreateRequest` hashes to the curve and multiplies by the key, `ProcessRequest`
multiplies points by the key; both keep the order. What they make of one key is the same in both.

N ids or points.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.errors import ConfigError, MissingDependencyError, WireError
from colonnade.sites.intersection.ids import WIDTH, Keys

POINT = 33  # bytes of a compressed point
Points = npt.NDArray[np.bytes_]  # (N,) of 33 bytes each


class Cipher:
    """One secret key, made anew and never shown. Work is shared among `threads`; all cores by default."""

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigError(f"threads must be at least 1. Got {threads}. Leave it out to use all cores.")
        psi = _library()
        first = psi.client.CreateWithNewKey(True)
        key = first.GetPrivateKeyBytes()
        # The library lets other threads run, and one object used by two at once aborts the process: one for each.
        self._workers = [
            (psi.client.CreateFromKey(key, True), psi.server.CreateFromKey(key, True))
            for _ in range(threads or os.cpu_count() or 1)
        ]
        self._request = psi.Request

    def hide(self, keys: Keys) -> Points:
        """E(x) of each x, in order."""
        raw = keys.tobytes()
        items = [raw[i : i + WIDTH] for i in range(0, len(raw), WIDTH)]
        return self._shared(items, lambda worker, part: worker[0].CreateRequest(part).encrypted_elements)

    def again(self, points: Points) -> Points:
        """E(p) of each point p that another party has made, in order; a `WireError` when one is not on the curve."""
        raw = points.tobytes()
        items = [raw[i : i + POINT] for i in range(0, len(raw), POINT)]
        try:
            return self._shared(items, self._multiply)
        except RuntimeError:  # the library's text is about OpenSSL
            raise WireError("a message of the alignment holds a point that is not on the curve P-256.") from None

    def _multiply(self, worker: tuple[Any, Any], part: list[bytes]) -> Sequence[bytes]:
        request = self._request(encrypted_elements=part, reveal_intersection=True)
        made: Sequence[bytes] = worker[1].ProcessRequest(request).encrypted_elements
        return made

    def _shared(self, items: list[bytes], work: Callable[[tuple[Any, Any], list[bytes]], Sequence[bytes]]) -> Points:
        step = -(-len(items) // len(self._workers))
        parts = [items[i : i + step] for i in range(0, len(items), step)]
        workers = self._workers[: len(parts)]
        if len(parts) == 1:
            made = [work(workers[0], parts[0])]
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                made = list(pool.map(work, workers, parts))
        return np.frombuffer(b"".join(point for part in made for point in part), dtype=f"S{POINT}")


def short(points: Points) -> Keys:
    """15 bytes of each point's x: enough to tell apart the points of any two sets."""
    table = np.frombuffer(points.tobytes(), dtype=np.uint8).reshape(-1, POINT)
    return np.frombuffer(np.ascontiguousarray(table[:, 1 : 1 + WIDTH]).tobytes(), dtype=f"S{WIDTH}")


def available() -> bool:
    """Whether openmined-psi is installed."""
    try:
        _library()
    except MissingDependencyError:
        return False
    return True


def _library() -> Any:
    try:
        import private_set_intersection.python as psi
    except ImportError as error:
        raise MissingDependencyError(
            "Private set intersection needs openmined-psi. Install it: pip install 'colonnade[align]'"
        ) from error
    return psi
