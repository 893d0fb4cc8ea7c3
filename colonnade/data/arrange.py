"""The same data, arranged otherwise: who holds the labels, how many rows there are, who holds the good columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.splits import Split
from colonnade.data.vertical import SERVER, VerticalData
from colonnade.data.view import View
from colonnade.errors import ConfigError, did_you_mean

HOST, GUEST = "host", "guest"  # the parties of a biased division
_FIXED = 0x10F3  # the draw of fewer rows does not depend on a run's seed


def hosted(data: VerticalData, active: str | None) -> VerticalData:
    """The labels at another party, whose view comes first; `server`: at one without columns. None changes nothing."""
    if active is None or active == data.active:
        return data
    if active != SERVER and active not in data.views:
        known = [*data.views, SERVER]
        raise ConfigError(f"active names the party {active!r}, which does not exist. {did_you_mean(active, known)}")
    order = [active] * (active in data.views) + [name for name in data.views if name != active]
    return VerticalData.of({name: data.views[name] for name in order}, data.labels, active, data.task, data.groups)


def fewer(data: VerticalData, rows: int | None) -> VerticalData:
    """At most so many of the rows that all parties hold, drawn at random, the same ones for every seed."""
    if rows is None or rows >= len(data.aligned):
        return data
    if rows < 10:
        raise ConfigError(f"rows must be at least 10. Got {rows!r}. Leave it out for all rows.")
    chosen = np.random.default_rng(_FIXED).permutation(data.aligned)[:rows]
    return data.only(np.sort(chosen))


def biased(parts: Split, share: float, dominant: int, seed: int) -> Split:
    """Two parties of as many columns each, of which the host holds `share` of the dominant ones (Wu et al. 2022, §5.5).

    The dominant columns are the most important ones of boosted trees, which see the labelled training rows alone; which
    of them the host gets, and how the others are shared out, is drawn. The paper's trees are XGBoost's, ours those of
    scikit-learn. All rows must be aligned, and all columns numbers.
    """
    whole = _columns(parts.train)
    width = whole.x.shape[1]
    if not 0 <= share <= 1 or not 1 <= dominant <= width // 2:
        raise ConfigError(
            f"bias must be SHARE:DOMINANT, a share in [0, 1] and at most half of the {width} columns. "
            f"Got {share:g}:{dominant}. Use e.g. 0.5:{max(1, width // 4)}."
        )
    y, _ = parts.train.labels.of(whole.ids)
    known = np.isin(whole.ids, parts.train.labels.ids)
    order = np.argsort(-_importance(whole.x[known], y[known], parts.train.task), kind="stable")
    rng = np.random.default_rng([seed, 0xB1A5])
    good, others = rng.permutation(order[:dominant]), rng.permutation(order[dominant:])
    mine = round(share * dominant)
    own = np.concatenate([good[:mine], others[: width // 2 - mine]])
    valid = None if parts.valid is None else _divided(parts.valid, own)
    return replace(parts, train=_divided(parts.train, own), valid=valid, test=_divided(parts.test, own))


def _columns(data: VerticalData) -> View:
    """The numeric columns of all parties side by side."""
    first = next(iter(data.views.values()))
    same = all(len(v) == len(first) and (v.ids == first.ids).all() for v in data.views.values())
    if not same or any(view.is_image or view.fields for view in data.views.values()):
        raise ConfigError("A biased division needs aligned rows of numbers, without images and categories.")
    x = np.concatenate([view.x for view in data.views.values()], axis=1)
    names = tuple(f"{name}.{c}" for name, view in data.views.items() for c in view.columns)
    return replace(first, x=x, columns=names)


def _importance(x: npt.NDArray[Any], y: npt.NDArray[Any], task: str) -> npt.NDArray[np.float64]:
    """How much each column of (N, F) lowers the impurity in boosted trees."""
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    kind = GradientBoostingRegressor if task == "regression" else GradientBoostingClassifier
    rows = np.random.default_rng(0).permutation(len(x))[:4000]  # enough to rank columns
    trees = kind(n_estimators=30, max_depth=4, max_features="sqrt", random_state=0)
    found: npt.NDArray[np.float64] = trees.fit(np.nan_to_num(x[rows]), y[rows]).feature_importances_
    return found


def _divided(data: VerticalData, own: npt.NDArray[np.int64]) -> VerticalData:
    """The columns at positions `own` at the host, the others at the guest."""
    whole = _columns(data)
    rest = np.setdiff1d(np.arange(whole.x.shape[1]), own)
    views = {
        name: replace(
            whole, x=np.ascontiguousarray(whole.x[:, at]), columns=tuple(whole.columns[i] for i in at.tolist())
        )
        for name, at in ((HOST, np.sort(own)), (GUEST, rest))
    }
    return VerticalData.of(views, data.labels, HOST, data.task, data.groups)
