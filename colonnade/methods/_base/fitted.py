"""What training leaves behind: one object that predicts, is saved, and is loaded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from colonnade.data.ids import Ids
from colonnade.errors import ConfigError
from colonnade.parties.federation import Federation

ABSENT = ("error", "zero")


class Fitted(Protocol):
    """A trained model, without the options that it was trained with."""

    has_networks: bool  # whether there are encoders and a head
    absent: dict[str, int]  # how many of the rows that were predicted last each party lacked
    late: dict[str, int]  # answers of each party that came too late in training

    @property
    def federation(self) -> Federation | None:
        """The parties; None where the model sees all columns in one place."""

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, in the order of the probabilities."""

    def outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        """Ids and predictions, (N,) targets or (N, C) probabilities."""

    def transform(self, views: Mapping[str, Any], absent: str) -> npt.NDArray[np.float32]:
        """What the head reads, (N, …)."""

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """What a saved model needs beyond the shared part: JSON, and tensors by file name."""


def check_absent(absent: str) -> None:
    """Refuse an unknown way to deal with rows that a party does not hold."""
    if absent not in ABSENT:
        raise ConfigError(f"absent must be one of {', '.join(ABSENT)}. Got {absent!r}.")


def classes_json(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Class names as JSON, with their type."""
    return {"type": classes.dtype.str, "values": classes.tolist()}


def classes_from_json(saved: dict[str, Any]) -> npt.NDArray[Any]:
    """The inverse of `classes_json`."""
    return np.array(saved["values"], dtype=np.dtype(saved["type"]))
