"""What a site can be asked for private set intersection; `aligning.py` says what it does then."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from colonnade.errors import WireError
from colonnade.parties.skills.bounds import COUNT, TEXT
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

SEEKING = Kind(
    "seeking", "down",
    "between sites, one part of private set intersection: encrypted ids, or places in the list that was received",
    tensors={"frame": ("int", 1)},
)  # fmt: skip
HOLDING = Kind("holding", "up", "the passive party's answer to it: encrypted ids", tensors={"frame": ("int", 1)})
ALIGNMENT = Kind(
    "alignment",
    "down",
    "the name of an alignment that succeeded with all parties, and how many rows were agreed on",
)


class Aligns(Protocol):
    """A site that can take part in an alignment."""

    def align(self, frame: bytes) -> bytes:
        """Answer one part of the intersection."""

    def agree(self, name: str, rows: int) -> None:
        """Keep what was agreed on."""


class Aligning(Skill):
    """Private set intersection. It belongs to a site, not to a party of a run."""

    def __init__(self, site: Aligns) -> None:
        self.site = site

    @operation(asks=SEEKING, answers=HOLDING, price="nothing")
    def align(self, message: Message) -> Reply:
        """Answer one part of the intersection."""
        return Reply({"frame": as_tensor(self.site.align(as_bytes(message)))})

    @operation(asks=ALIGNMENT, takes={"alignment": TEXT, "rows": COUNT}, price="nothing")
    def agree(self, message: Message) -> None:
        """Keep what was agreed on, now that it is known to all parties."""
        name, rows = message.values.get("alignment"), message.values.get("rows")
        if not isinstance(name, str) or not isinstance(rows, int):
            raise WireError("an alignment is to be kept without its name or its number of rows.")
        self.site.agree(name, rows)


def as_tensor(data: bytes) -> Tensor:
    """Bytes as a message carries them."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def as_bytes(message: Message) -> bytes:
    """The inverse."""
    frame = message.tensors.get("frame")
    if frame is None or frame.dtype != torch.uint8:
        raise WireError("a part of an alignment came without its bytes.")
    return frame.numpy().tobytes()
