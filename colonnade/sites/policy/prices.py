"""Prices of what a site lets out, added up, and the file in which the site remembers them over its runs."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from colonnade.errors import ConfigError
from colonnade.sites.files.parts import write_json

FILE = "privacy.json"


class Price(NamedTuple):
    """A Gaussian mechanism and how often it is used."""

    sampled: bool  # on a random sample of the rows, as in DP-SGD, or on every row
    noise: float  # σ, deviation of the noise by the bound on the norm
    rate: float  # of the sample
    uses: int


def cost(prices: Iterable[Price], party: str, delta: float) -> float:
    """ε of all together at δ, by Rényi divergences."""
    from colonnade.privacy.accounting import Spent, epsilon_of  # deferred: needs dp-accounting
    from colonnade.privacy.entry import Gaussian, SampledGaussian  # deferred: needs dp-accounting

    spent = []
    for price in prices:
        if price.uses and price.sampled:
            steps = SampledGaussian(noise_multiplier=price.noise, rate=price.rate, steps=price.uses)
            spent.append(Spent(party, steps, price.uses))
        elif price.uses:
            spent.append(Spent(party, Gaussian(noise_multiplier=price.noise, count=price.uses), price.uses))
    return epsilon_of(spent, delta)


class Diary:
    """Prices of all runs at a site, in `privacy.json` of its folder.

    Args:
        out: the folder; None: nothing is remembered.
        run: the present one.
    """

    def __init__(self, out: Path | None, run: str) -> None:
        self.path, self.run = None if out is None else out / FILE, run

    @contextmanager
    def held(self) -> Iterator[None]:
        """No other process of the site prices anything meanwhile."""
        if self.path is None:
            yield
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def others(self) -> list[Price]:
        """Prices of all other runs."""
        return [price for run, prices in self._read().items() if run != self.run for price in prices]

    def paid(self, prices: list[Price]) -> bool:
        """Whether these of the present run are written already: it is done again after a crash, with the same noise."""
        written = _uses(self._read().get(self.run, []))
        return all(uses <= written[what] for what, uses in _uses(prices).items())

    def write(self, prices: list[Price]) -> None:
        """Note what the present run costs."""
        if self.path is not None and not self.paid(prices):
            runs = {**self._read(), self.run: prices}
            write_json(self.path, {run: [price._asdict() for price in spent] for run, spent in runs.items()})

    def _read(self) -> dict[str, list[Price]]:
        """By run; a file that cannot be read must not make room for more."""
        if self.path is None or not self.path.exists():
            return {}
        try:
            runs = json.loads(self.path.read_text())
            return {
                run: [Price(bool(p["sampled"]), float(p["noise"]), float(p["rate"]), int(p["uses"])) for p in prices]
                for run, prices in runs.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ConfigError(f"{self.path.name} of the site cannot be read. Its owner may remove it.") from None


def _uses(prices: Iterable[Price]) -> Counter[tuple[bool, float, float]]:
    """How often each mechanism is used."""
    found: Counter[tuple[bool, float, float]] = Counter()
    for price in prices:
        found[price.sampled, price.noise, price.rate] += price.uses
    return found
