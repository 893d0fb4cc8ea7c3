"""What a site's owner allows. Enforced at the site itself, for every request, before anything is done with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from colonnade.data.description import check_keys
from colonnade.errors import WireError, did_you_mean
from colonnade.passive import OPERATIONS
from colonnade.wire.engines.flare import ASSIGN, FINISH
from colonnade.wire.message import KINDS, Message

WIDTHS = ("hidden", "width", "embedding", "projection", "predictor", "queue", "batch_size")


class RefusedError(WireError):
    """The site's owner does not allow what was asked."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Limits of one site; None means no limit of that sort."""

    methods: tuple[str, ...] | None = None  # that may be trained
    operations: tuple[str, ...] | None = None  # that may be asked of the party
    kinds: tuple[str, ...] | None = None  # of messages that may arrive or leave
    rows: int | None = None  # aligned rows that take part, altogether
    rounds: int | None = None  # requests in one run
    epochs: int | None = None  # of learning alone
    bytes: int = 1 << 28  # of one message
    width: int = 4096  # of any layer, queue or batch that the site is asked to make

    def check_request(self, operation: str, message: Message, number: int) -> None:
        """Refuse the `number`-th request of a run unless it is allowed."""
        self._listed("operations", operation, ASSIGN, FINISH)
        self._listed("kinds", message.kind, "assignment")
        self._at_most("rounds", number, self.rounds)
        method = message.values.get("method")
        if message.kind == "assignment":
            self._listed("methods", str(method))
            self._at_most("rows", sum(len(t) for t in message.tensors.values()), self.rows)
        for name in WIDTHS:
            self._sizes(name, message.values.get(name))
        epochs = message.values.get("epochs")
        if isinstance(epochs, int | float):
            self._at_most("epochs", epochs, self.epochs)

    def check_answer(self, message: Message) -> None:
        """Refuse to let out a message of a kind that is not allowed."""
        self._listed("kinds", message.kind)

    def _listed(self, limit: str, name: str, *always: str) -> None:
        allowed: Collection[str] | None = getattr(self, limit)
        if allowed is not None and name not in (*allowed, *always):
            raise RefusedError(f"the policy refuses {name!r}: {limit} = {list(allowed)}.")

    def _at_most(self, limit: str, found: float, most: int | None) -> None:
        if most is not None and found > most:
            raise RefusedError(f"the policy refuses {found} {limit}: {limit} = {most}.")

    def _sizes(self, name: str, value: object) -> None:
        for size in value if isinstance(value, list) else [value]:
            if size is None or isinstance(size, bool):
                continue
            if not isinstance(size, int) or not 0 <= size <= self.width:
                raise RefusedError(f"the policy refuses {name} = {size!r}: width = {self.width}.")


def read_policy(content: Mapping[str, Any], where: str, problems: list[str]) -> Policy:
    """A policy from a TOML section; what is wrong with it is appended to `problems`."""
    from colonnade.methods import METHODS

    known: dict[str, Collection[str]] = {"methods": METHODS, "operations": OPERATIONS, "kinds": KINDS}
    check_keys(content, [field.name for field in fields(Policy)], where, problems)
    limits: dict[str, Any] = {}
    for name, value in content.items():
        if name in known:
            names = value if isinstance(value, list) and all(isinstance(v, str) for v in value) else None
            if names is None:
                problems.append(f'{where}: {name} = {value!r} is no list of names. Write {name} = ["…"].')
            for unknown in [v for v in names or [] if v not in known[name]]:
                problems.append(f"{where}: {name} names {unknown!r}. {did_you_mean(unknown, known[name])}")
            limits[name] = tuple(names or [])
        elif type(value) is not int or value < 1:
            problems.append(f"{where}: {name} must be a whole number of at least 1. Got {value!r}.")
        else:
            limits[name] = value
    return Policy(**{k: v for k, v in limits.items() if k in {f.name for f in fields(Policy)}})
