"""What a site can be asked for predictions; `predicting.py` says what it does then.

n rows, D width of a representation.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from colonnade.errors import WireError
from colonnade.parties.skills.bounds import TEXT
from colonnade.parties.skills.kinds import REPRESENTATION
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message

MODEL = Kind("model", "down", "between sites, before predictions: the run whose part of a model is to be used")
OPENED = Kind(
    "opened", "up",
    "the width of that part's representation, and the places whose rows are no longer in the party's table",
    tensors={"gone": ("int", 1)},
)  # fmt: skip
PLACES = Kind(
    "places", "down", "rows to predict, as places in the list that the party sent in the alignment",
    tensors={"places": ("int", 1)},
)  # fmt: skip


class Predicts(Protocol):
    """A site that can take part in predictions."""

    def open(self, run: str, digest: str) -> tuple[Tensor, int]:
        """Load the part of a run: the places without a row, and the width of a representation."""

    def encode(self, places: Tensor) -> Tensor:
        """(n, D) representations of the rows at these places."""


class Predicting(Skill):
    """Representations by a part of a trained model. It belongs to a site, not to a party of a run."""

    def __init__(self, site: Predicts) -> None:
        self.site = site

    @operation(asks=MODEL, answers=OPENED, takes={"run": TEXT, "digest": TEXT}, says=("width",), price="nothing")
    def open(self, message: Message) -> Reply:
        """Load this party's part of a run; say how wide it is, and which places have no row any more."""
        gone, width = self.site.open(str(message.values.get("run")), str(message.values.get("digest")))
        return Reply({"gone": gone}, {"width": width})

    @operation(asks=PLACES, answers=REPRESENTATION, price="representation")
    def encode(self, message: Message) -> Reply:
        """Representations of the rows at these places."""
        places = message.tensors.get("places")
        if places is None:
            raise WireError("rows were asked for without their places.")
        return Reply({"representation": self.site.encode(places)})
