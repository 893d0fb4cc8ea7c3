"""What stands before the service: the token, the size of a request, and a log without what was asked.

The log holds method, path, status, duration and number of ids; never an id, a value, a label or a token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PUBLIC = ("/health", "/openapi.json")  # answered without a token
PATHS = ("/predict", "/metrics", *PUBLIC)  # that the log names
BODY_SECONDS = 30.0

log = logging.getLogger("colonnade.deploy.serve")


class RefusedError(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Guard:
    """Lets requests through that have the token and are small enough; nothing is read of others."""

    def __init__(self, app: ASGIApp, *, token: str | None, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            self._check_token(scope)
            await self.app(scope, await self._bounded(scope, receive), watched)
        except RefusedError as error:
            await _answer(watched, error.status, error.detail)
        except Exception as error:  # its text could hold a value, so neither log nor caller gets it
            log.error("failed: %s", type(error).__name__)
            if not status:
                await _answer(watched, 500, "The service failed; its log has the kind of error.")
        path = scope["path"] if scope["path"] in PATHS else "(unknown path)"
        ids = scope.get("state", {}).get("ids", "-")
        milliseconds = 1000 * (time.perf_counter() - started)
        log.info("%s %s %d ids=%s %.1f ms", scope["method"], path, status, ids, milliseconds)

    def _check_token(self, scope: Scope) -> None:
        if self._token is None or scope["path"] in PUBLIC:
            return
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        kind, _, token = given.partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            raise RefusedError(401, "The token is missing or wrong. Send it as: Authorization: Bearer TOKEN")

    async def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body, read here up to the limit, as something that gives it again."""
        too_large = RefusedError(413, f"The request is larger than {self.max_bytes} bytes. Ask for fewer ids.")
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit() or int(declared) > self.max_bytes:
            raise too_large
        body, more = b"", True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more:
                    message = await receive()
                    body += message.get("body", b"")
                    more = message["type"] == "http.request" and message.get("more_body", False)
                    if len(body) > self.max_bytes:
                        raise too_large
        except TimeoutError:
            raise RefusedError(408, f"The request did not arrive within {BODY_SECONDS:g} seconds.") from None
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return again


async def _answer(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers: list[tuple[bytes, bytes]] = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    start: dict[str, Any] = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
