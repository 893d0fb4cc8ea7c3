"""What the active party knows of all rows, and what it reaches with that alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from colonnade.data.labels import as_labels, infer_task
from colonnade.data.metrics import score
from colonnade.data.splits import Split, split
from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError, raise_all
from colonnade.methods._base.method import Method
from colonnade.methods.local import Local
from colonnade.sites.settings.description import FederationFile, SiteFile
from colonnade.sites.settings.table import SiteTable, ids_alone


def known_rows(federation: FederationFile, site: SiteFile, table: SiteTable) -> VerticalData:
    """The active party's own rows and labels, and of the others the agreed ids."""
    own, name = table.own, site.party
    table.check()
    if own.label is None:
        raise DataError(f'{site.path}: the active party has no label. Add label = "COLUMN" to [table].')
    problems: list[str] = []
    labels = as_labels(own.frame[own.label].dropna(), None, f"labels of party {name!r}", problems)
    raise_all(problems, DataError, str(site.path))
    task = infer_task(labels.values)
    views = {} if table.view is None else {name: table.view}
    if table.view is not None:
        checked = VerticalData(dict(views), labels, name)  # looks at columns and labels
        labels, task = checked.labels, checked.task
    views.update({party: ids_alone(table.aligned) for party in federation.passive})
    return VerticalData.of(views, labels, name, task)


def references(
    federation: FederationFile, site: SiteFile, table: SiteTable, method: Method, metric: str
) -> dict[str, float]:
    """Scores on the test rows of a run that need nobody else: of the active party alone, and of a constant guess.

    Alone means `local` with the method's own network and training options, on the same training and validation rows.
    """
    parts = split(known_rows(federation, site, table), labels=site.labels, seed=site.seed)
    found = {"guess": _guess(parts, metric)}
    if table.view is None:
        return found
    shared = method.get_params().keys() & Local().get_params().keys()
    options = {name: value for name, value in method.get_params().items() if name in shared and name != "epsilon"}
    alone = Local(**options).fit(parts.train, parts.valid, metric=metric)
    return {"alone": alone.score(parts.test.views, parts.test.labels), **found}


def _guess(parts: Split, metric: str) -> float:
    """The score of predicting the same for every row: how often each class trains, or the mean."""
    train, test = parts.train.labels.values, parts.test.labels.values
    if parts.train.task == "regression":
        return float(score(metric, test, np.full(len(test), train.mean()), np.zeros(0)))
    classes, counts = np.unique(train, return_counts=True)
    return float(score(metric, test, np.tile(counts / counts.sum(), (len(test), 1)), classes))


def with_references(record: dict[str, Any], found: dict[str, float]) -> dict[str, Any]:
    """The record of a run with the references that are finite numbers."""
    return {**record, "references": {name: value for name, value in found.items() if np.isfinite(value)}}
