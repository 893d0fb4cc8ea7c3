"""Where the service listens, and who may: loopback alone unless both a host and a token are given."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from colonnade.deploy.serve.predictor import Predictor
from colonnade.errors import ConfigError, MissingDependencyError, at_least, raise_all

HOST, PORT = "127.0.0.1", 8000
VARIABLE = "COLONNADE_TOKEN"
SHORTEST = 16  # characters of a token
AT_ONCE = 64  # connections; others are told to come back


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the service is offered."""

    host: str = HOST
    port: int = PORT  # 0: any free one
    token: str | None = field(default=None, repr=False)
    max_ids: int = 1000  # of one request
    max_bytes: int = 1 << 20  # of one request
    certificate: Path | None = None  # PEM files for HTTPS
    key: Path | None = None

    def __post_init__(self) -> None:
        problems: list[str] = []
        for name in ("max_ids", "max_bytes"):
            at_least(problems, name, getattr(self, name), 1)
        if not isinstance(self.port, int) or not 0 <= self.port < 1 << 16:
            problems.append(f"port must be a number from 0 to 65535. Got {self.port!r}.")
        if (self.certificate is None) != (self.key is None):
            problems.append("certificate and key belong together. Give both, or neither for plain HTTP.")
        if not is_loopback(self.host) and self.token is None:
            problems.append(
                f"host {self.host!r} can be reached from other machines, and there is no token. Give one in a file "
                f"(--token-file) or in {VARIABLE}, or leave the host out."
            )
        if self.token is not None:
            _check_token(self.token, problems)
        raise_all(problems, ConfigError, "serve")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_token(token: str, problems: list[str]) -> None:
    """Its text is in no message."""
    if len(token) < SHORTEST:
        problems.append(
            f"the token has {len(token)} characters. Use at least {SHORTEST}, e.g. of: openssl rand -hex 32"
        )
    if not all("!" <= c <= "~" for c in token):
        problems.append("the token holds a space or a character that no HTTP header can hold. Use letters and digits.")


def read_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token of a file, else of the environment; None where there is neither."""
    if file is None:
        return environment.get(VARIABLE) or None
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--token-file {file} cannot be read ({type(error).__name__}). Name a file of text."
        ) from None
    if not token:
        raise ConfigError(f"--token-file {file} is empty. Put a token into it, e.g. of: openssl rand -hex 32")
    return token


def serve(predictor: Predictor, settings: Settings, ready: Callable[[str], None] = lambda url: None) -> None:
    """Answer until stopped; `ready` hears the address once it is bound."""
    try:
        import uvicorn

        from colonnade.deploy.serve.app import create_app  # deferred: needs FastAPI
    except ImportError as error:
        raise MissingDependencyError(
            f"serve needs the package {error.name!r}. Install it: pip install 'colonnade[serve]'"
        ) from None
    app = create_app(predictor, token=settings.token, max_ids=settings.max_ids, max_bytes=settings.max_bytes)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = uvicorn.Config(
        app, log_config=None, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=AT_ONCE, timeout_graceful_shutdown=10, ws="none",
        ssl_certfile=settings.certificate, ssl_keyfile=settings.key,
    )  # fmt: skip
    listening = _bind(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    ready(f"{'https' if settings.certificate else 'http'}://{host}:{listening.getsockname()[1]}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # Ctrl-C is how one stops it
    finally:
        listening.close()


def _bind(settings: Settings) -> socket.socket:
    """A socket at the address, before anything else is started."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        return listening
    except OSError as error:
        raise ConfigError(
            f"serve: {settings.host}:{settings.port} cannot be used ({error.strerror}). Choose another port or host."
        ) from None
