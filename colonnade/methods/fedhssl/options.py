"""Options of FedHSSL's family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from colonnade.methods._base.options import Ge, Help, Must
from colonnade.methods._base.parts.self_supervised import CROSS_OBJECTIVE
from colonnade.objectives.base import Objective
from colonnade.objectives.training import OwnObjective


def is_weights(value: Any) -> bool:
    """Whether a value is a number of at least 0, or a few of them."""
    values = value if isinstance(value, tuple | list) else (value,)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return bool(values) and numbers and all(0 <= v < float("inf") for v in values)


WEIGHTS = Must("a number of at least 0, or a few such numbers", is_weights)


@dataclass(kw_only=True, eq=False, repr=False)
class CrossLearning:
    """Step 1, between the parties."""

    objective: Annotated[
        str | type[Objective] | OwnObjective,
        CROSS_OBJECTIVE,
        Help("What parties learn, with each other and alone: simsiam, byol, moco, or a class of your own."),
    ] = "simsiam"
    updates: Annotated[
        int,
        Ge(1),
        Help(
            "Updates with each received projection. More save rounds and risk drift; "
            "the paper tries 1, 4 and 8 (Fig. 7)."
        ),
    ] = 1
    staleness: Annotated[
        int,
        Ge(0),
        Help(
            "Passes for which a party may go on with the projections that it last received (App. D). "
            "0 exchanges always."
        ),
    ] = 0


@dataclass(kw_only=True, eq=False, repr=False)
class Guidance:
    """Step 2, guided by what step 1 learnt."""

    gamma: Annotated[
        float | tuple[float, ...],
        WEIGHTS,
        Help(
            "Weight of the guidance by other parties (γ, Eq. 4), "
            "or its values at evenly spaced points of pre-training.",
            "0 switches guidance off; the paper uses 0.5.",
        ),
    ] = 0.5
