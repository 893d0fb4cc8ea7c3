"""Traffic: what crossed the wire, counted message by message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from colonnade.wire.kind import Direction


@dataclass
class Traffic:
    """Bytes and messages by phase, kind and direction; rounds by phase.

    A round is one exchange with the passive parties, all at once: a question and its answers, or a telling.
    """

    cells: dict[tuple[str, str, Direction], list[int]] = field(default_factory=dict)  # messages and bytes
    rounds_by_phase: dict[str, int] = field(default_factory=dict)

    def count(self, phase: str, kind: str, direction: Direction, size: int, messages: int = 1) -> None:
        """Add `messages` messages of `size` bytes altogether."""
        cell = self.cells.setdefault((phase, kind, direction), [0, 0])
        cell[0] += messages
        cell[1] += size

    def count_round(self, phase: str) -> None:
        """Add one round."""
        self.rounds_by_phase[phase] = self.rounds_by_phase.get(phase, 0) + 1

    @property
    def bytes(self) -> int:
        """All bytes."""
        return sum(size for _, size in self.cells.values())

    @property
    def messages(self) -> int:
        """All messages."""
        return sum(messages for messages, _ in self.cells.values())

    @property
    def rounds(self) -> int:
        """All rounds."""
        return sum(self.rounds_by_phase.values())

    def _by(self, axis: int) -> dict[str, dict[str, int]]:
        out: dict[str, dict[str, int]] = {}
        for key, (messages, size) in self.cells.items():
            entry = out.setdefault(key[axis], {"bytes": 0, "messages": 0})
            entry["bytes"] += size
            entry["messages"] += messages
        return out

    @property
    def by_phase(self) -> dict[str, dict[str, int]]:
        """Bytes, messages and rounds of each phase."""
        found = self._by(0)
        phases = dict.fromkeys([*found, *self.rounds_by_phase])
        none = {"bytes": 0, "messages": 0}
        return {p: {**found.get(p, none), "rounds": self.rounds_by_phase.get(p, 0)} for p in phases}

    @property
    def by_kind(self) -> dict[str, dict[str, int]]:
        """Bytes and messages of each kind."""
        return self._by(1)

    @property
    def by_direction(self) -> dict[str, dict[str, int]]:
        """Bytes and messages to ("up") and from ("down") the active party."""
        return self._by(2)

    def to_json(self) -> dict[str, Any]:
        """The traffic of a run's record."""
        return {
            "bytes": self.bytes,
            "messages": self.messages,
            "rounds": self.rounds,
            "by_phase": self.by_phase,
            "by_kind": self.by_kind,
            "by_direction": self.by_direction,
            "cells": [[*key, *cell] for key, cell in self.cells.items()],
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Traffic:
        """The inverse of `to_json`."""
        traffic = cls()
        cells: Iterable[Any] = saved["cells"]
        for phase, kind, direction, messages, size in cells:
            traffic.count(phase, kind, direction, size, messages)
        for phase, entry in saved["by_phase"].items():
            traffic.rounds_by_phase[phase] = entry["rounds"]
        return traffic

    def __repr__(self) -> str:
        return f"Traffic({self.bytes:,} bytes, {self.messages:,} messages, {self.rounds:,} rounds)"
