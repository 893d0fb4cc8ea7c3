"""What the score of a run is held against: the active party alone, and a constant guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from colonnade.bench.cell import Cell
from colonnade.data.splits import Split
from colonnade.errors import ColonnadeError
from colonnade.methods.base import Method
from colonnade.methods.local import Local
from colonnade.methods.network import NetworkMethod
from colonnade.methods.threads import Rule, limited
from colonnade.metrics import guess_score


@dataclass(frozen=True)
class References:
    """Scores on the test rows of a run, by its metric."""

    alone: float | None  # of `local` on the active party's rows; None: not trained
    guess: float  # of one answer for all rows, fitted on the training labels

    def to_json(self) -> dict[str, float | None]:
        """As the record of a run holds them."""
        return asdict(self)


def references(
    cell: Cell,
    parts: Split,
    metric: str,
    *,
    train: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[References, str]:
    """The references of a run, and why the active party was not trained alone (empty where nothing is to be said).

    Args:
        cell: the run.
        parts: its rows.
        metric: what it is scored by.
        train: whether the active party may be trained alone.
        progress: called with phase, steps done and steps in all.
    """
    guess = guess_score(metric, parts.train.labels.values, parts.test.labels.values, parts.train.task)
    model = cell.build()
    if not train or model.name == Local.name:
        return References(None, guess), ""
    if parts.train.active not in parts.train.views:
        return References(None, guess), f"party {parts.train.active!r} has labels and no columns"
    try:
        alone = replace(cell, method=Local.name, options=_shared(cell, model)).build()
        with limited(Rule.here().of(parts.train).number):
            alone.fit(parts.train, parts.valid, metric=metric, progress=progress)
        return References(alone.score(parts.test.views, parts.test.labels), guess), ""
    except ColonnadeError as error:  # the run itself is done: it is shown, and this beside it
        return References(None, guess), str(error)


def _shared(cell: Cell, model: Method) -> dict[str, Any]:
    """The options given with `--set` that a network alone has too; nothing of privacy, as nothing leaves the party."""
    if not isinstance(model, NetworkMethod):
        return {}
    known = {field.name for field in fields(NetworkMethod)}
    return {name: value for name, value in cell.options.items() if name in known}
