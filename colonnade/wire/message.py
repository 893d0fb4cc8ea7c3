"""Messages: the only things that cross a party's boundary, each of a kind that the run declares."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

Value = str | int | float | bool | None | list[int]


@dataclass(slots=True)
class Message:
    """One message of a declared kind."""

    kind: str
    sender: str
    receiver: str
    phase: str
    tensors: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
