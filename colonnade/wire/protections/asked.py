"""Which rows a message is about: an answer and a gradient name none, but the question before them did.

B rows of a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from colonnade.wire.kind import Kinds
from colonnade.wire.message import Message


@dataclass(frozen=True)
class Question:
    """Rows of a table, or all of it where `rows` is None, and all of a further table."""

    table: str
    rows: Tensor | None  # (B,) positions
    also: str | None = None


@dataclass
class Asked:
    """The last question that each passive party was put."""

    kinds: Kinds = field(default_factory=dict)  # of the run
    last: dict[str, Question] = field(default_factory=dict)

    def note(self, message: Message) -> None:
        """Remember the message, if it is a question about rows."""
        if self.kinds[message.kind].asks_about_rows:
            also = message.values.get("also")
            table = str(message.values.get("table", "train"))
            rows = message.tensors.get("rows")
            self.last[message.receiver] = Question(table, rows, None if also is None else str(also))

    def about(self, message: Message) -> Question | None:
        """What the message is about; None where it is about no rows, or that cannot be known."""
        kind = self.kinds[message.kind]
        if not kind.row_by_row:
            return None
        party = message.sender if kind.direction == "up" else message.receiver
        question = self.last.get(party)
        if question is None or question.rows is None or question.also is not None:
            return question
        sent = len(message.tensors[message.kind])
        return question if sent == len(question.rows) else None
