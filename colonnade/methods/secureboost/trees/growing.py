"""Growing one tree, level by level, from sums that its columns' owners give (Cheng et al. 2021, Alg. 2).

n training rows, m of them that the tree learns from, J nodes, T slots of a party's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from colonnade.methods.secureboost.trees.columns import NOWHERE, Whole
from colonnade.methods.secureboost.trees.derivatives import Counted
from colonnade.methods.secureboost.trees.forest import Forest
from colonnade.methods.secureboost.trees.owners import Owners
from colonnade.methods.secureboost.trees.splits import Rules, Split, find_splits

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Growth:
    """How trees grow."""

    depth: int
    learning_rate: float  # ε
    rules: Rules


@dataclass(eq=False)
class Node:
    """A leaf that may yet be split."""

    number: int  # in the forest
    rows: Whole  # I, as positions among the n training rows
    total: Whole  # (2,) G and H of those that the tree learns from
    sums: list[Whole] | None = None  # by party: (T, 2)


@dataclass(frozen=True)
class Family:
    """Two siblings and their parent's sums, or the root alone."""

    nodes: tuple[Node, ...]
    parent: list[Whole] | None = None


def grow(forest: Forest, owners: Owners, counted: Counted, output: int, sample: Whole, growth: Growth) -> Floats:
    """Add one tree for one output; what it adds to the score of each training row, (n,)."""
    every = np.arange(len(counted.values))
    total = counted.output(output)[sample].sum(axis=0)  # Alg. 2: g ← Σ g_i, h ← Σ h_i
    families, leaves = [Family((Node(forest.plant(), every, total),))], []
    for _ in range(growth.depth):
        _add_up([f for f in families if _may_split(f, counted, growth)], owners, output, sample)
        nodes = [node for family in families for node in family.nodes]
        splits = _find(nodes, owners, counted, growth)
        leaves += [node for node in nodes if node not in splits]
        families = _divide(splits, forest, owners)
    leaves += [node for family in families for node in family.nodes]
    added = np.empty(len(every))
    for leaf in leaves:
        added[leaf.rows] = forest.weight[leaf.number] = _weight(leaf, counted, growth)
    return added


def _may_split(family: Family, counted: Counted, growth: Growth) -> bool:
    """Whether a node is heavy enough for two sides."""
    least = 2 * growth.rules.least_weight
    return any(node.total[1] * counted.units[1] >= least for node in family.nodes)


def _weight(leaf: Node, counted: Counted, growth: Growth) -> float:
    """w* = -G / (H + λ), times ε."""
    g, h = leaf.total * counted.units
    weight = h + growth.rules.penalty
    return float(-growth.learning_rate * g / weight) if weight > 0 else 0.0


def _add_up(families: Sequence[Family], owners: Owners, output: int, sample: Whole) -> None:
    """Alg. 1: everybody's sums of each node; of two siblings the smaller is asked for, and the other is the rest."""
    if not families:
        return
    asked = [min(family.nodes, key=lambda node: len(node.rows)) for family in families]
    place = np.full(len(owners.rows), NOWHERE, dtype=np.uint8)
    for j, node in enumerate(asked):
        place[node.rows] = j
    sums = owners.sums(place[sample], np.stack([node.total for node in asked]), output)  # by party: (J, T, 2)
    for j, (family, node) in enumerate(zip(families, asked, strict=True)):
        node.sums = [party[j] for party in sums]
        for other in family.nodes:
            if other is not node and family.parent is not None:
                other.sums = [whole - part for whole, part in zip(family.parent, node.sums, strict=True)]


def _find(nodes: Sequence[Node], owners: Owners, counted: Counted, growth: Growth) -> dict[Node, Split]:
    """Alg. 2 at the active party: the best split of each node that has one, over the parties of this tree."""
    known, by_node = [], []
    for node in nodes:
        if node.sums is not None:
            known.append(node)
            by_node.append(node.sums)
    if not known:
        return {}
    sums = [np.stack(parts) for parts in zip(*by_node, strict=True)]  # by party: (J, T, 2)
    layouts, totals = [owners.layouts[k] for k in owners.asked], np.stack([node.total for node in known])
    found = find_splits(layouts, sums, totals, counted.units, growth.rules)
    return {
        node: replace(split, party=owners.asked[split.party])
        for node, split in zip(known, found, strict=True)
        if split is not None
    }


def _divide(splits: dict[Node, Split], forest: Forest, owners: Owners) -> list[Family]:
    """Alg. 2 at the owners: which rows go left. A node is [party, record] from here on."""
    if not splits:
        return []
    records, sides = owners.divide(list(splits.values()), [node.rows for node in splits])
    families = []
    for (node, split), record, left in zip(splits.items(), records, sides, strict=True):
        low, high = forest.split(node.number, split.party, record)
        pair = Node(low, node.rows[left], split.total), Node(high, node.rows[~left], node.total - split.total)
        families.append(Family(pair, node.sums))
    return families
