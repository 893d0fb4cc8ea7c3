"""Kinds that several skills share.

B rows of a batch, D width of a representation.
"""

from __future__ import annotations

from colonnade.wire.kind import Kind

PLAN = Kind("plan", "down", "settings that a party builds its encoder from")
SHAPE = Kind(
    "shape", "up", "the width of a party's representation and projection, and the shapes of what will be averaged"
)
ORDER = Kind(
    "order", "down", "what to do next, without data: start an optimizer, keep or recall weights, make one pass"
)
LESSON = Kind("lesson", "down", "what to learn alone, and how long")
ROWS = Kind(
    "rows",
    "down",
    "which of the aligned rows come next, as positions in the agreed order; no tensor means all of them",
    tensors={"rows": ("int", 1)},
    asks_about_rows=True,
)
REPRESENTATION = Kind(
    "representation", "up", "an encoder's output",
    tensors={"representation": ("float", 2)}, lossy=True, row_by_row=True,
)  # fmt: skip
GRADIENT = Kind(
    "gradient", "down", "the loss's derivative by a representation",
    tensors={"gradient": ("float", 2)}, lossy=True, row_by_row=True,
)  # fmt: skip
