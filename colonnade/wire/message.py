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
    "consensus": Kind(
        "down",
        "in MMVFL, what all parties together take for the classes of rows: soon the classes themselves",
        tensors={"rows": ("int", 1), "consensus": ("float", 2)},
        values=frozenset({"beta", "zeta"}),
        lossy=True,
    ),
    "binning": Kind(
        "down",
        "into how many bins trees divide a column; the public key, where derivatives will be encrypted",
        tensors={"key": ("int", 1)},
        values=frozenset({"bins", "rows", "outputs"}),
    ),
    "layout": Kind(
        "up", "of each column: its slots, whether it holds categories, its fullest slot", tensors={"layout": ("int", 2)}
    ),
    "derivatives": Kind(
        "down",
        "g and h of each row in the clear, as whole numbers; the rows, where they are others than before",
        tensors={"rows": ("int", 1), "derivatives": ("int", 2)},
    ),
    "ciphertexts": Kind(
        "down",
        "the same under Paillier encryption, as bytes",
        tensors={"rows": ("int", 1), "ciphertexts": ("int", 2)},
    ),
    "nodes": Kind(
        "down",
        "which node of a tree each of these rows is in",
        tensors={"nodes": ("int", 1)},
        values=frozenset({"count", "output"}),
    ),
    "histogram": Kind("up", "sums of g and h by node and slot", tensors={"histogram": ("int", 3)}),
    "sums": Kind("up", "the same under encryption, as bytes", tensors={"sums": ("int", 2)}),
    "division": Kind(
        "down",
        "nodes to divide: their rows, the column, and which of its slots go left",
        tensors={"rows": ("int", 1), "sizes": ("int", 1), "column": ("int", 1), "left": ("int", 2)},
    ),
    "visit": Kind(
        "down",
        "rows of a table that came to splits of the receiver's, by record",
        tensors={"records": ("int", 1), "at": ("int", 1)},
        values=frozenset({"table"}),
    ),
    "sides": Kind("up", "which of the rows go left, one bit each", tensors={"sides": ("int", 1)}),
    "assignment": Kind(
        "down",
        "between sites, before training: which aligned rows train, validate and test, as positions in the agreed order",
        tensors={"train": ("int", 1), "valid": ("int", 1), "test": ("int", 1)},
        values=frozenset({"digest", "method", "codec", "protect"}),
    ),
    "seeking": Kind(
        "down",
        "between sites, one part of private set intersection: encrypted ids, or places in the list that was received",
        tensors={"frame": ("int", 1)},
    ),
    "holding": Kind("up", "the passive party's answer to it: encrypted ids", tensors={"frame": ("int", 1)}),
    "alignment": Kind(
        "down",
        "the name of an alignment that has succeeded with all parties, and how many rows were agreed on",
        values=frozenset({"alignment", "rows"}),
    ),
    "model": Kind(
        "down",
        "between sites, before predictions: the run whose part of a model is to be used",
        values=frozenset({"run", "digest"}),
    ),
    "opened": Kind(
        "up",
        "the width of that part's representation, and the places whose rows are no longer in the party's table",
        tensors={"gone": ("int", 1)},
        values=frozenset({"width"}),
    ),
    "places": Kind(
        "down",
        "rows to predict, as places in the list that the party sent in the alignment",
        tensors={"places": ("int", 1)},
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
