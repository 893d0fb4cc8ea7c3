"""What `fit`, `predict` and `score` are given: `VerticalData`, or tables by party."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.data.groups import refuse_shared_groups
from colonnade.data.joining import check_ids_left_as_columns
from colonnade.data.splits import Split
from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError


def training_rows(data: Any, second: Any) -> tuple[VerticalData, VerticalData | None]:
    """The training and validation rows of `fit(data, validation)` or `fit(views, labels)`."""
    if isinstance(data, VerticalData):
        if second is not None and not isinstance(second, VerticalData):
            raise DataError(
                f"fit: the second argument holds validation rows, as VerticalData. Got {type(second).__name__}. "
                f"Labels of training rows are given to VerticalData."
            )
        if second is not None:
            refuse_shared_groups(data, second, "validation")
        return data, second
    if isinstance(data, Split):
        raise DataError("fit: this holds training and test rows. Use fit(parts.train, parts.valid).")
    if not isinstance(data, Mapping):
        raise DataError(f"fit: give VerticalData(views=…, labels=…). Got {type(data).__name__}.")
    if second is None or isinstance(second, VerticalData):
        raise DataError(
            "fit: the tables come without labels. Use fit(VerticalData(views, labels)), or fit(views, labels)."
        )
    return VerticalData(data, second), None


def tables(given: Any) -> Mapping[str, Any]:
    """The tables by party, of data or as they are."""
    if isinstance(given, VerticalData):
        return given.views
    if not isinstance(given, Mapping):
        raise DataError(f"give VerticalData, or a table by party: {{'bank': bank_df, …}}. Got {type(given).__name__}.")
    check_ids_left_as_columns(given)
    return given


def tables_and_labels(given: Any, labels: Any) -> tuple[Mapping[str, Any], Any]:
    """What `score` compares: of data without other labels, the rows that have one."""
    if labels is not None:
        return tables(given), labels
    if not isinstance(given, VerticalData):
        raise DataError("score: the tables come without labels. Use score(views, labels), or score(VerticalData(…)).")
    labelled = given.only(given.labels.ids)
    return labelled.views, labelled.labels
