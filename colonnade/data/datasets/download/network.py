"""Find out quickly whether a server can be reached."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from colonnade.errors import DataError

WITHIN = 4.0  # seconds for all servers together, name lookup included
_PORTS = {"http": 80, "https": 443}


def reachable(urls: Sequence[str], within: float = WITHIN) -> list[str]:
    """The URLs from the first one whose server answers; an error after `within` seconds when none does."""
    failures: dict[str, str] = {}
    threads = {url: threading.Thread(target=_connect, args=(url, within, failures), daemon=True) for url in urls}
    end = time.monotonic() + within
    for thread in threads.values():
        thread.start()
    for position, (url, thread) in enumerate(threads.items()):
        thread.join(max(end - time.monotonic(), 0))
        if not thread.is_alive() and url not in failures:
            return list(urls[position:])
    reasons = "; ".join(f"{urlsplit(url).hostname} ({failures.get(url, 'no answer')})" for url in urls)
    raise DataError(
        f"No connection within {within:g} s to {reasons}. Is this machine offline? "
        f"Behind a proxy, set HTTPS_PROXY and HTTP_PROXY."
    )


def _connect(url: str, within: float, failures: dict[str, str]) -> None:
    try:
        socket.create_connection(_address(url), timeout=within).close()
    except (OSError, ValueError) as error:
        failures[url] = str(error)


def _address(url: str) -> tuple[str, int]:
    """Host and port of the server, or of the proxy that leads to it."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)
