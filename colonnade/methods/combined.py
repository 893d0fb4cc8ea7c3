"""Combined: all columns in one place (Combine of Wu et al. 2022). A reference, not a federation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, locate
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View, as_view
from colonnade.errors import DataError, raise_all
from colonnade.methods.base import Progress
from colonnade.methods.local import Local
from colonnade.wire.message import Value

EVERYONE = "everyone"  # name of the one party that holds all columns


def merge(views: Mapping[str, View], ids: Ids) -> View:
    """One view with the columns of all parties for `ids`, which every party must hold."""
    images = [name for name, view in views.items() if view.is_image]
    if images:
        raise DataError(f"party {images[0]!r} holds images, and columns of tables only can be put side by side.")
    at = {name: locate(view.ids, ids) for name, view in views.items()}
    lacking = [f"{name!r} lacks {int((a < 0).sum())} of {len(ids)} rows" for name, a in at.items() if (a < 0).any()]
    raise_all(lacking, DataError, "All columns of a row are needed in one place")
    return View(
        ids=ids,
        x=np.concatenate([view.x[at[name]] for name, view in views.items()], axis=1),
        columns=tuple(f"{name}.{c}" for name, view in views.items() for c in view.columns),
        codes=np.concatenate([view.codes[at[name]] for name, view in views.items()], axis=1),
        fields=tuple(f"{name}.{f}" for name, view in views.items() for f in view.fields),
        vocabularies=tuple(v for view in views.values() for v in view.vocabularies),
    )


def merge_data(data: VerticalData) -> VerticalData:
    """The aligned rows of all parties as the data of one party."""
    view = merge(data.views, data.aligned)
    keep = np.flatnonzero(locate(view.ids, data.labels.ids) >= 0)
    return VerticalData.of({EVERYONE: view}, data.labels.take(keep), EVERYONE, data.task)


def merge_given(views: Mapping[str, Any], parties: Mapping[str, tuple[str, ...]], active: str) -> View:
    """Tables given for prediction as one view; `parties` maps each party to its categorical columns."""
    problems: list[str] = []
    given = {n: as_view(views[n], n, fields, problems) for n, fields in parties.items() if n in views}
    missing = [repr(n) for n in parties if n not in given]
    if missing:
        problems.append(f"party {', '.join(missing)} has no rows, but took part in training. Give its table.")
    raise_all(problems, DataError, "predict")
    first = active if active in given else next(iter(given))
    return merge(given, given[first].ids)


@dataclass(kw_only=True, eq=False, repr=False)
class Combined(Local):
    """One network over all parties' columns, trained on aligned labelled rows. Its hidden layers have as many units as
    those of all parties' encoders together."""

    name = "combined"
    paper = "reference"
    summary = "one network over everyone's columns in one place; not federated"
    federated: ClassVar[bool] = False
    needs_own_columns: ClassVar[bool] = False

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        if self.encoders:
            raise DataError(
                "combined has one network for all parties, so encoders by party do not fit. Leave them out."
            )
        self.parties_ = {name: view.fields for name, view in data.views.items()}
        super()._train(merge_data(data), None if validation is None else merge_data(validation), progress)

    def plan(self) -> dict[str, Value]:
        """As many units as all the parties' encoders have."""
        k = len(self.parties_)
        return {**super().plan(), "hidden": [k * h for h in self.hidden], "width": k * self.width}

    def _outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        merged = merge_given(views, self.parties_, self.active_)
        return super()._outputs({EVERYONE: merged}, absent)

    def transform(self, views: Mapping[str, Any], *, absent: str = "error") -> npt.NDArray[np.float32]:
        """The representation that the head reads, (N, D)."""
        self._check_fitted()
        return super().transform({EVERYONE: merge_given(views, self.parties_, self.active_)}, absent=absent)

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        own, tensors = super()._state()
        return {**own, "parties": {n: list(f) for n, f in self.parties_.items()}}, tensors

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Any]]) -> None:
        self.parties_ = {n: tuple(f) for n, f in saved["parties"].items()}
        super()._restore({**saved, "active": EVERYONE}, tensors)
