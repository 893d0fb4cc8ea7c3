"""Messages: the only things that cross a party's boundary.

Every kind is declared here, with the tensors and values it may carry and in which direction it may go. Nothing else is
ever sent: no raw feature, no label, no autograd graph, no pickle.

B rows of a batch, D width of a representation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

Value = str | int | float | bool | None | list[int]
Direction = Literal["up", "down"]  # up: to the active party; down: from it


@dataclass(frozen=True)
class Kind:
    """What messages of one kind may hold."""

    direction: Direction
    meaning: str
    tensors: Mapping[str, tuple[Literal["float", "int"], int]] = field(default_factory=dict)  # name -> (type, axes)
    values: frozenset[str] = frozenset()
    lossy: bool = False  # whether the codec may round it


KINDS: dict[str, Kind] = {
    "plan": Kind(
        "down",
        "settings that a party builds its encoder from",
        values=frozenset({"hidden", "width", "embedding", "seed", "precision", "tower", "image"}),
    ),
    "shape": Kind(
        "up",
        "the width of a party's representation and projection, and the shapes of what will be averaged",
        values=frozenset({"width", "projection", "top", "projector", "predictor"}),
    ),
    "account": Kind(
        "up",
        "how often and with how much noise a party will train privately, or did; counts, no rows",
        values=frozenset({"rate", "steps", "done", "squares", "numbers", "uses", "unlikely", "drawn", "offered"}),
    ),
    "order": Kind(
        "down",
        "what to do next, without data: start an optimizer, keep or recall the best weights, make one pass",
        values=frozenset({"learning_rate", "weight_decay", "optimizer", "gamma", "name"}),
    ),
    "lesson": Kind(
        "down",
        "what to learn alone, and how long",
        values=frozenset(
            {"objective", "epochs", "batch_size", "learning_rate", "weight_decay", "optimizer", "cosine", "seed"}
            | {"rate", "temperature", "projection", "predictor", "momentum", "queue", "frequency", "assignment"}
            | {"flip", "clip", "noise", "towers", "updates", "staleness", "shared"}
        ),
    ),
    "rows": Kind(
        "down",
        "which of the aligned rows come next, as positions in the agreed order; no tensor means all of them",
        tensors={"rows": ("int", 1)},
        values=frozenset({"table", "also"}),
    ),
    "representation": Kind("up", "an encoder's output", tensors={"representation": ("float", 2)}, lossy=True),
    "gradient": Kind(
        "down", "the loss's derivative by a representation", tensors={"gradient": ("float", 2)}, lossy=True
    ),
    "target": Kind(
        "down",
        "the active party's projection of aligned rows, in pre-training between parties",
        tensors={"rows": ("int", 1), "target": ("float", 2)},
        values=frozenset({"first"}),
        lossy=True,
    ),
    "projection": Kind("up", "a passive party's projection of them", tensors={"projection": ("float", 2)}, lossy=True),
    "key": Kind("up", "a public key for secure aggregation", tensors={"key": ("int", 1)}),
    "keys": Kind("down", "the public keys of all parties", tensors={"keys": ("int", 2)}, values=frozenset({"turn"})),
    "parameters": Kind(
        "up", "the part of a model that is averaged, times the party's rows", tensors={"parameters": ("float", 1)}
    ),
    "masked": Kind("up", "the same, masked: only the sum over all parties can be read", tensors={"masked": ("int", 1)}),
    "average": Kind("down", "the averaged part", tensors={"average": ("float", 1)}),
    "assignment": Kind(
        "down",
        "between sites, before training: which aligned rows train, validate and test, as positions in the agreed order",
        tensors={"train": ("int", 1), "valid": ("int", 1), "test": ("int", 1)},
        values=frozenset({"digest", "method", "codec", "protect"}),
    ),
}


@dataclass(slots=True)
class Message:
    """One message of a declared kind."""

    kind: str
    sender: str
    receiver: str
    phase: str
    tensors: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
