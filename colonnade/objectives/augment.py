"""Views of a table's rows for self-supervised learning.

B rows of a batch, N rows of the table, F numeric columns, Q categorical columns, M = F + Q.

Both augmentations distort a uniformly random subset of ⌊rate·M⌋ of the M columns (at least one), drawn anew for each
row (Bahri et al. 2022, Alg. 1). A replacing value is the entry of a random row of the table in the same column
(the row itself included): a draw from the column's empirical marginal. Work and memory are O(B·M) but for the choice
of the subset, a partial sort of M random numbers per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Generator, Tensor

from colonnade.data.table import Table
from colonnade.errors import DataError
from colonnade.nets.tabular import HIDDEN_BY_AUGMENTATION
from colonnade.objectives.settings import check, fraction

#: (table, rows (B,), generator) → what the encoder is called with, distorted
Augmentation: TypeAlias = Callable[[Table, Tensor, Generator], tuple[Tensor, ...]]


def replace(table: Table, rows: Tensor, generator: Generator, rate: float = 0.3) -> tuple[Tensor, ...]:
    """He et al. 2022, §4.1: numeric entries drawn from their column, categories covered by an untrained embedding.

    Args:
        table: N rows, numeric x (N, F) and maybe codes (N, Q).
        rows: (B,) positions in the table.
        generator: the party's own, on the table's device.
        rate: share of the M columns distorted in each row; the paper's 30 %.

    Returns:
        `(x,)` or `(x, codes)`, (B, F) and (B, Q). The table is left as it is.

    Deviation: the paper gives the 30 % for numeric columns and no figure for categorical ones; here the subset is drawn
    over both kinds together, so that each column is distorted equally often.
    """
    x, covered = _replace_chosen(table, rows, generator, rate)
    if table.codes is None:
        return (x,)
    return x, table.codes.index_select(0, rows).masked_fill(covered, HIDDEN_BY_AUGMENTATION)  # (B, Q)


def corrupt(table: Table, rows: Tensor, generator: Generator, rate: float = 0.6) -> tuple[Tensor, ...]:
    """SCARF's corruption (Bahri et al. 2022; Li et al. 2024, §4.2.2): every chosen entry is drawn from its own column.

    As `replace`, but a chosen category becomes that of another row instead of being covered. The rate is SCARF's 60 %.
    Pixels of images count as columns.
    """
    if table.is_image:
        (flat,) = corrupt(Table(table.x.flatten(1)), rows, generator, rate)
        return (flat.view(-1, *table.x.shape[1:]),)
    x, covered = _replace_chosen(table, rows, generator, rate)
    if table.codes is None:
        return (x,)
    own = table.codes.index_select(0, rows)
    return x, torch.where(covered, _marginal(table.codes, rows, generator), own)  # (B, Q)


def draw_two(augment: Augmentation, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
    """Two independent views of the same rows, one after the other: `(x1, x2)` or `(x1, codes1, x2, codes2)`."""
    return (*augment(table, rows, generator), *augment(table, rows, generator))


def split_two(drawn: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The two views that were drawn together: `(x1,), (x2,)` or `(x1, codes1), (x2, codes2)`."""
    half = len(drawn) // 2
    return drawn[:half], drawn[half:]


def _choose(table: Table, rows: Tensor, generator: Generator, rate: float) -> Tensor:
    """(B, count) positions of max(1, ⌊rate·M⌋) columns for each row: those whose random numbers are largest."""
    check("augmentation", fraction("rate", rate, "It is the share of columns distorted in each row."))
    if table.is_image:
        raise DataError(
            f"The table holds images of shape {tuple(table.x.shape[1:])}, and this augmentation distorts columns. "
            "Images have augmentations of their own: pass one of those as `augment`."
        )
    columns = _columns(table)
    count = max(math.floor(rate * columns + 1e-9), int(rate > 0))  # 0.7 · 10 is 7, whatever floating point says
    keys = torch.rand(len(rows), columns, generator=generator, device=table.x.device)  # (B, M)
    return keys.topk(count, dim=1, sorted=False).indices


def _columns(table: Table) -> int:
    return table.x.shape[1] + (0 if table.codes is None else table.codes.shape[1])


def _replace_chosen(table: Table, rows: Tensor, generator: Generator, rate: float) -> tuple[Tensor, Tensor]:
    """The rows' numbers (B, F), chosen ones replaced, and which of their categories (B, Q) are chosen too."""
    chosen = _choose(table, rows, generator, rate)  # (B, count)
    width = table.x.shape[1]
    if table.codes is None:  # only what is replaced needs to be drawn
        return _replace_numbers(table, rows, chosen, generator), chosen.new_zeros(len(rows), 0, dtype=torch.bool)
    mask = _mask(chosen, table)  # (B, F + Q)
    x = torch.where(mask[:, :width], _marginal(table.x, rows, generator), table.x.index_select(0, rows))
    return x, mask[:, width:]


def _mask(chosen: Tensor, table: Table) -> Tensor:
    """(B, count) positions as (B, M) bool."""
    none = torch.zeros(len(chosen), _columns(table), dtype=torch.bool, device=chosen.device)
    return none.scatter_(1, chosen, True)


def _replace_numbers(table: Table, rows: Tensor, chosen: Tensor, generator: Generator) -> Tensor:
    """The rows with their chosen columns drawn from these columns' marginals: only what is replaced is drawn."""
    donors = torch.randint(len(table), chosen.shape, generator=generator, device=chosen.device)  # (B, count)
    drawn = table.x.take(donors.mul_(table.x.shape[1]).add_(chosen))  # entry (b, i) is x[donors[b, i], chosen[b, i]]
    return table.x.index_select(0, rows).scatter_(1, chosen, drawn)


def _marginal(values: Tensor, rows: Tensor, generator: Generator) -> Tensor:
    """One draw from each column's empirical marginal for each row: (N, M) → (B, M)."""
    shape = (len(rows), values.shape[1])
    donors = torch.randint(len(values), shape, generator=generator, device=values.device)  # (B, M)
    return values.gather(0, donors)  # entry (b, m) is values[donors[b, m], m]
