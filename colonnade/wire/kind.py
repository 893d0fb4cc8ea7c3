"""Kinds: what a message may hold. A run's table of kinds is given to the wire, which knows of no other.

The skills of a run declare its kinds (`colonnade.parties.skills`). Nothing undeclared is ever sent: no raw feature, no
label, no autograd graph, no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["up", "down"]  # up: to the active party; down: from it
Sort = Literal["float", "int"]


@dataclass(frozen=True)
class Kind:
    """What messages of one kind may hold.

    Attributes:
        name: as in the meter and the audit log.
        direction: whether it goes up to the active party or down from it.
        meaning: for people.
        tensors: name to type and number of axes.
        lossy: whether the codec may round its real numbers.
        asks_about_rows: whether it names the rows that the answer and the next messages are about.
        row_by_row: whether its tensor has one row for each row that was asked about.
        one_vector: whether all rows of a party have a part in its one vector.
        weighed: whether the last number of the vector is the party's number of rows, which must stay exact.
        mixes: why one row's numbers depend on the other rows of the message; empty where they do not.
        values: names of the settings that it may carry. The operations of a run say what each may be.
    """

    name: str
    direction: Direction
    meaning: str
    tensors: Mapping[str, tuple[Sort, int]] = field(default_factory=dict)
    lossy: bool = False
    asks_about_rows: bool = False
    row_by_row: bool = False
    one_vector: bool = False
    weighed: bool = False
    mixes: str = ""
    values: frozenset[str] = frozenset()

    @property
    def holds_floats(self) -> bool:
        """Whether it carries real numbers, which noise can be added to."""
        return any(sort == "float" for sort, _ in self.tensors.values())


Kinds = Mapping[str, Kind]
