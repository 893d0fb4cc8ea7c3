"""From pairs to all parties: the active party intersects with each passive one, then tells each what all have.

Passive parties never speak to one another. Each learns the ids that *all* parties hold, and not which others the active
party shares with it, nor with anybody else. The active party learns every pair's intersection.

N rows of the active party.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Positions
from colonnade.errors import ConfigError, DataError, MissingDependencyError, did_you_mean
from colonnade.sites.intersection import cipher, fast
from colonnade.sites.intersection.holder import Holder, Progress, silent
from colonnade.sites.intersection.ids import IdSet
from colonnade.sites.intersection.rules import Rule
from colonnade.sites.intersection.seeker import Seeker

Choice = Literal["auto", "rr22", "ecdh"]


class Pair(Protocol):
    """The active party's link to one passive party: a `Seeker`, or a `FastPair`."""

    def meet(self, *, alone: bool = False) -> Positions:
        """Own rows whose ids the passive party holds; `alone` when it is the only one and may learn them at once."""

    def tell(self, rows: Positions) -> None:
        """Let the passive party know which of its rows these are, in this order."""


@dataclass(frozen=True)
class Alignment:
    """What the active party knows in the end.

    rows: its own rows that every party holds, in the agreed order: sorted by id.
    held: for each passive party, which of the own rows it holds, (N,).
    """

    rows: Positions
    held: dict[str, npt.NDArray[np.bool_]]

    def __repr__(self) -> str:
        pairs = ", ".join(f"{name} {int(mask.sum())}" for name, mask in self.held.items())
        return f"Alignment({len(self.rows)} held by all; {pairs})"


def aligned(ids: IdSet, pairs: Mapping[str, Pair]) -> Alignment:
    """The rows of `ids` that every passive party holds, agreed on with all of them.

    Args:
        ids: the active party's own.
        pairs: a link to each passive party.
    """
    if not pairs:
        raise ConfigError(f"party {ids.party!r} has nobody to align with. Name at least one passive party.")
    held = {}
    for name, pair in pairs.items():
        held[name] = np.zeros(len(ids), dtype=bool)
        held[name][pair.meet(alone=len(pairs) == 1)] = True
    common = np.flatnonzero(np.logical_and.reduce(list(held.values())))
    if not len(common):
        raise DataError(_nothing(ids, held))
    rows = ids.sorted(common)
    for pair in pairs.values():
        pair.tell(rows)
    return Alignment(rows, held)


def _nothing(ids: IdSet, held: Mapping[str, npt.NDArray[np.bool_]]) -> str:
    counts = ", ".join(f"{int(mask.sum())} with {name!r}" for name, mask in held.items())
    return (
        f"no id of party {ids.party!r} ({len(ids)} ids) is held by all parties; in common: {counts}. "
        f"Check that every party gives the same kind of id, written alike (zeros in front, country codes, dates as "
        f"dates), under a rule that makes them equal (normalise={ids.normalise!r} now), and that they have customers "
        f"in common."
    )


def align(
    ids: Mapping[str, Any],
    active: str | None = None,
    *,
    normalise: Rule = "text",
    protocol: Choice = "auto",
    threads: int | None = None,
    progress: Progress = silent,
) -> tuple[Alignment, dict[str, Positions]]:
    """Align parties that all live in this process, by the real protocol: for trials, tests and demonstrations.

    Args:
        ids: for each party its ids.
        active: the party that asks; the first by default.
        normalise: the rule that makes ids equal.
        protocol: "rr22" (spu), "ecdh" (openmined-psi), or "auto", the first of them that is installed.
        threads: for encryption by "ecdh"; all cores by default.
        progress: called with the phase, how much is done, and of how much.

    Returns:
        What the active party knows, and for each passive party its rows in the agreed order.
    """
    active = next(iter(ids), "") if active is None else active
    if active not in ids:
        raise ConfigError(f"active={active!r} has no ids. {did_you_mean(active, ids)}")
    sets = {name: IdSet(values, name, normalise=normalise) for name, values in ids.items()}
    own = sets.pop(active)
    if chosen(protocol) == "rr22":
        quick = {name: fast.FastPair(own, other, progress=progress) for name, other in sets.items()}
        return aligned(own, quick), {name: pair.agreed for name, pair in quick.items()}
    holders = {name: Holder(other, most=len(own), threads=threads, progress=progress) for name, other in sets.items()}
    pairs = {
        name: Seeker(own, holder.reply, most=len(holder.ids), threads=threads, progress=progress)
        for name, holder in holders.items()
    }
    return aligned(own, pairs), {name: holder.agreed for name, holder in holders.items()}


def chosen(protocol: Choice = "auto") -> Literal["rr22", "ecdh"]:
    """The protocol that will be used here; an error when what it needs is not installed."""
    if protocol not in ("auto", "rr22", "ecdh"):
        raise ConfigError(
            f"protocol={protocol!r} is no choice. {did_you_mean(str(protocol), ('auto', 'rr22', 'ecdh'))}"
        )
    if protocol == "rr22" or (protocol == "auto" and fast.interpreter() is not None):
        fast.required()
        return "rr22"
    if not cipher.available():
        raise MissingDependencyError(
            f"Private set intersection by {protocol!r} needs a package. Install openmined-psi: "
            f"pip install 'colonnade[align]'; or, faster, spu (Python 3.11 or before, numpy 1): set {fast.VARIABLE}."
        )
    return "ecdh"
