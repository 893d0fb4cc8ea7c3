"""Whether a written ONNX file says what the network says, by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.deploy.export.samples import Feeds
from colonnade.errors import ColonnadeError


class ExportError(ColonnadeError):
    """An exported file does not say what the network says."""


def largest_difference(path: Path, feeds: Feeds, expected: npt.NDArray[Any], where: str, atol: float) -> float:
    """Between file and network on given rows, all at once and one alone; an error where it is above `atol`.

    Where outputs are larger than 1, `atol` counts in units of the largest.
    """
    session = _session(path, where)
    worst = 0.0
    for rows in (len(expected), 1):
        try:
            (found,) = session.run(None, {name: values[:rows] for name, values in feeds.items()})
        except Exception as error:  # onnxruntime's errors have no common base in Python
            raise ExportError(f"{where}: {path.name} does not run on {rows} rows: {error}") from error
        wanted = expected[:rows]
        if found.shape != wanted.shape:
            raise ExportError(f"{where}: {path.name} gives shape {found.shape}, the network {wanted.shape}.")
        apart = float(np.abs(found.astype(np.float64) - wanted).max(initial=0.0))
        unit = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        if not apart <= atol * unit:  # also where one is NaN
            raise ExportError(
                f"{where}: {path.name} differs from the network by {apart:.3g} on sample rows, more than atol={atol:g} "
                f"times {unit:.3g}. Nothing was written. Give a larger atol if that is small enough for you."
            )
        worst = max(worst, apart)
    return worst


def _session(path: Path, where: str) -> Any:
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    try:
        onnx.checker.check_model(str(path), full_check=True)
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # neither package has a common base for its errors
        raise ExportError(f"{where}: {path.name} is no graph that onnxruntime can load: {error}") from error
