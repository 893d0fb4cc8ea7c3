"""The active party's part of the trees: who owns each node's split and under which record, and the weights of leaves.

What a split compares with what is at its owner (`Columns`). Nodes of all trees are numbered through.

N rows, M trees, C outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.methods.secureboost.trees.columns import Mask, Whole

LEAF = -1
CHUNK = 1 << 22  # rows times trees that are looked at together
Visits = Mapping[int, tuple[Whole, Whole]]  # by party: records, and the rows that came to them
Sides = Callable[[Visits], Mapping[int, Mask]]  # by party: which of them go left


@dataclass
class Forest:
    """Trees in rounds of C, one per output."""

    outputs: int
    roots: list[int] = field(default_factory=list)  # one per tree; tree t adds to output t % C
    party: list[int] = field(default_factory=list)  # owner of each node's split, or LEAF
    record: list[int] = field(default_factory=list)  # by which the owner knows the split
    children: list[int] = field(default_factory=list)  # the left one; the right one is the next
    weight: list[float] = field(default_factory=list)  # of leaves

    @property
    def rounds(self) -> int:
        """How many trees each output has."""
        return len(self.roots) // self.outputs

    def plant(self) -> int:
        """A new tree; its root, which is a leaf so far."""
        self.roots.append(len(self.party))
        return self._node()

    def split(self, node: int, party: int, record: int) -> tuple[int, int]:
        """Turn a leaf into a split; its new leaves, left and right."""
        self.party[node], self.record[node] = party, record
        self.children[node] = self._node()
        return self.children[node], self._node()

    def _node(self) -> int:
        self.party.append(LEAF)
        self.record.append(0)
        self.children.append(0)
        self.weight.append(0.0)
        return len(self.party) - 1

    def cut(self, rounds: int) -> None:
        """Keep the first rounds alone."""
        if rounds >= self.rounds:
            return
        size = self.roots[rounds * self.outputs]
        del self.roots[rounds * self.outputs :]
        for nodes in (self.party, self.record, self.children, self.weight):
            del nodes[size:]

    def scores(self, rows: int, sides: Sides, start: int = 0) -> npt.NDArray[np.float64]:
        """What the trees from round `start` on add to each row's outputs, (N, C)."""
        out = np.zeros((rows, self.outputs))
        roots = np.array(self.roots[start * self.outputs :], dtype=np.int64)
        weight = np.array(self.weight)
        step = max(1, CHUNK // max(1, len(roots)))
        for first in range(0, rows, step):
            at = np.arange(first, min(first + step, rows))
            leaves = self._leaves(at, roots, sides)  # (N, M)
            added = weight[leaves].reshape(len(at), -1, self.outputs)
            out[at] = np.cumsum(added, axis=1)[:, -1]  # one after the other, as in training
        return out

    def _leaves(self, rows: Whole, roots: Whole, sides: Sides) -> Whole:
        """The leaf that each row ends in, in each tree: all trees at once, level by level, asking the owners."""
        party, record, children = np.array(self.party), np.array(self.record), np.array(self.children)
        here = np.broadcast_to(roots, (len(rows), len(roots))).copy()  # (N, M)
        while True:
            owner = party[here]
            if (owner == LEAF).all():
                return here
            places = {k: np.nonzero(owner == k) for k in np.unique(owner[owner != LEAF]).tolist()}
            visits = {k: (record[here[row, tree]], rows[row]) for k, (row, tree) in places.items()}
            for k, left in sides(visits).items():
                row, tree = places[k]
                here[row, tree] = children[here[row, tree]] + ~left

    def state(self) -> dict[str, Tensor]:
        """All of it as tensors."""
        whole = {
            "roots": self.roots, "party": self.party, "record": self.record, "children": self.children,
        }  # fmt: skip
        tensors = {name: torch.tensor(values, dtype=torch.int32) for name, values in whole.items()}
        return {**tensors, "weight": torch.tensor(self.weight, dtype=torch.float64)}

    @classmethod
    def of_state(cls, outputs: int, state: dict[str, Tensor]) -> Forest:
        """The inverse of `state`."""
        names: Sequence[str] = ("roots", "party", "record", "children", "weight")
        return cls(outputs, *(state[name].tolist() for name in names))
