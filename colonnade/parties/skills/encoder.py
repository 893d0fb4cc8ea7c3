"""Encoding rows: the skill of every party with a network, and keeping its weights under a name.

N rows of a table, D width of a representation.
"""

from __future__ import annotations

from typing import Any

import torch

from colonnade.nets.image import IMAGE_ENCODERS
from colonnade.parties.skills.bounds import SIZE, SIZES, TEXT, Weights, one_of, whole
from colonnade.parties.skills.kinds import ORDER, PLAN, REPRESENTATION, ROWS, SHAPE
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.parties.skills.stacked_encoder import EncoderStack, StackedEncoding
from colonnade.wire.message import Message

BUILD = {
    "hidden": SIZES, "width": SIZE, "embedding": SIZE, "image": one_of(*IMAGE_ENCODERS), "seed": whole(),
    "precision": one_of("float32", "bf16"), "tower": one_of("local", "cross", "both"),
}  # fmt: skip


class Encoding(Skill):
    """An encoder, and representations of the party's rows."""

    beside_stack = True

    @operation(
        asks=PLAN, answers=SHAPE, takes=BUILD, says=("width",), rules=(Weights("hidden", "width"),),
        price="nothing", readies=True,
    )  # fmt: skip
    def prepare(self, message: Message) -> Reply:
        """Fit the preprocessing, build the encoder, and say how wide its representation is."""
        plan: dict[str, Any] = dict(message.values)
        party = self.party
        party.precision = plan.pop("precision")
        if "train" not in party.tables:
            party.fit_preprocessor()
        party.build_encoder(**plan)
        return Reply(values={"width": party.width})

    @operation(
        asks=ROWS, answers=REPRESENTATION, takes={"table": TEXT, "also": TEXT},
        price="representation", may_be_late=True,
    )  # fmt: skip
    def represent(self, message: Message) -> Reply:
        """Representations without a graph: of the asked rows, or of all rows of a table, and of a further table."""
        h = self.party.encode_table(str(message.values.get("table", "train")), message.tensors.get("rows"))
        also = message.values.get("also")
        if also is not None:
            h = torch.cat([h, self.party.encode_table(str(also))])
        return Reply({"representation": h})

    @classmethod
    def stacked(cls, stack: EncoderStack) -> StackedEncoding:
        """`represent` for all parties of a stack."""
        return StackedEncoding(stack)


class Keeping(Skill):
    """Weights kept under a name, and taken back."""

    beside_stack = True

    @operation(asks=ORDER, takes={"name": TEXT}, price="nothing")
    def keep(self, message: Message) -> None:
        """Remember the present weights: the best so far, or those under a name."""
        self.party.keep_weights(str(message.values.get("name", "best")))

    @operation(asks=ORDER, takes={"name": TEXT}, price="nothing")
    def recall(self, message: Message) -> None:
        """Go back to the best weights, or to those kept under a name."""
        self.party.recall_weights(str(message.values.get("name", "best")))
