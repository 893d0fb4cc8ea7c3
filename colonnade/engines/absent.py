"""What stands for a site that a run goes on without: representations of zeros (Wu et al. 2022, Appendix C)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from colonnade.errors import WireError
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.parties.skills.skill import Operation
from colonnade.wire.message import Message


class LostSiteError(WireError):
    """A site does not answer. The run can go on when it is back, or without it.

    Attributes:
        sites: which ones.
    """

    def __init__(self, message: str, sites: tuple[str, ...]) -> None:
        super().__init__(message)
        self.sites = sites


@dataclass
class Absent:
    """The sites that a run goes on without, and what is known of their representations."""

    names: frozenset[str]
    rows: dict[str, int] = field(default_factory=dict)  # of each table that may be asked for
    widths: dict[str, int] = field(default_factory=dict)  # of each site's representation

    def learn(self, received: Mapping[str, Message]) -> None:
        """Look at what came for how wide a site's representation is."""
        if not self.names:
            return
        for name, message in received.items():
            if message.kind == REPRESENTATION.name:
                self.widths[name] = message.tensors["representation"].shape[1]
            elif isinstance(width := message.values.get("width"), int):
                self.widths[name] = width

    def zeros(self, name: str, operation: Operation, request: Message) -> Message:
        """What a site that is not there answers, where an operation declares that its answer may be left out."""
        replaceable = operation.may_be_late and operation.answers == REPRESENTATION
        if not replaceable or name not in self.widths:
            raise LostSiteError(
                f"{operation.name!r} cannot be done without {name!r}: only representations can be left out. Wait for "
                f"it.",
                (name,),
            )
        asked = request.tensors.get("rows")
        tables = [request.values.get("table", "train"), request.values.get("also")]
        count = sum(self.rows[str(table)] for table in tables if table is not None) if asked is None else len(asked)
        zeros = torch.zeros(count, self.widths[name])
        return Message(REPRESENTATION.name, name, request.sender, request.phase, {"representation": zeros})
