"""ε of k parties that train by DP-SGD, as two divisions count it; nothing is trained (Wu et al. 2022, Fig. 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from colonnade.errors import ColonnadeError
from colonnade.lab.compare.compare import Outcome
from colonnade.lab.reproduce.plan import Planned
from colonnade.privacy.accounting import Division, Spent, epsilon_of, sampling_rate, steps_of
from colonnade.privacy.entry import SampledGaussian


def losses(planned: Sequence[Planned], loss: Mapping[str, float]) -> dict[str, Outcome]:
    """A record with ε for each cell: its method says the division, its `parties` the number k.

    Args:
        planned: one for each division and number of parties.
        loss: rows n, batch b, epochs T, noise σ and delta δ of each party.
    """
    rows, batch = int(loss["rows"]), int(loss["batch"])
    rate, steps = sampling_rate(batch, rows), steps_of(int(loss["epochs"]), batch, rows)
    mechanism = SampledGaussian(noise_multiplier=loss["noise"], rate=rate, steps=steps)
    found = {}
    for item in planned:
        method = item.cell.build()
        division: Division = method.get_params()["division"]
        spent = [Spent(f"party{k}", mechanism, steps) for k in range(item.cell.parties or 0)]
        try:
            epsilon = epsilon_of(spent, loss["delta"], division)
        except ColonnadeError as error:  # the accountant is not installed
            found[item.cell.key] = Outcome(item.cell, error=str(error))
            continue
        record = {"epsilon": epsilon, "metric": "epsilon", "scores": {}, "seconds": 0.0, "traffic": {"bytes": 0}}
        found[item.cell.key] = Outcome(item.cell, record)
    return found
