"""What of the record does not stand as it is: fewer seeds than the recipe names, no record, or other code since.

`python -m colonnade.lab.reproduce.standing` is part of `make lint`: a recorded table with fewer seeds than its recipe
names, and a recipe without a record, must be named in results/reproduce/stale.toml with the reason.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from colonnade.lab.reproduce.digest import digest_of
from colonnade.lab.reproduce.form import Recipe, data_named
from colonnade.lab.reproduce.kept import RESULTS, read_kept
from colonnade.lab.reproduce.outcome import Result
from colonnade.lab.reproduce.recipe import names, recipe

STALE = "stale.toml"


@dataclass(frozen=True)
class Mark:
    """What is marked as stale, and why."""

    table: str
    why: str
    data: tuple[str, ...] = ()  # all by default

    def covers(self, table: str, data: str) -> bool:
        """Whether a data set of a table is marked."""
        return self.table == table and (not self.data or data in self.data)


def read_marks(folder: Path) -> list[Mark]:
    """What results/reproduce/stale.toml says."""
    path = folder / STALE
    found = tomllib.loads(path.read_text(encoding="utf-8"))["stale"] if path.is_file() else []
    return [Mark(mark.get("table", ""), mark.get("why", ""), tuple(mark.get("data", ()))) for mark in found]


def problems(folder: Path = RESULTS) -> list[str]:
    """What the record lacks without saying so, one line each."""
    marks = read_marks(folder)
    kept = {f"{result['paper']}-{result['table']}": result for result in read_kept(folder)}
    found = _wrong_marks(marks, folder)
    for name in names():
        if name not in kept:
            if not any(mark.table == name for mark in marks):
                found.append(f"{name} has no record. Record it, or say in {folder / STALE} why there is none.")
            continue
        for data, have, named in few_seeds(recipe(name), kept[name]):
            if not any(mark.covers(name, data) for mark in marks):
                found.append(
                    f"{name}: {data} has {have} of the {named} seeds that the recipe names. Run the others, or say in "
                    f"{folder / STALE} why they are missing."
                )
    return found


def _wrong_marks(marks: Sequence[Mark], folder: Path) -> list[str]:
    """Marks that name nothing, or give no reason."""
    found = []
    for place, mark in enumerate(marks, 1):
        where = f"{folder / STALE}, entry {place}"
        if not mark.why:
            found.append(f"{where}: say why {mark.table or 'it'} is stale.")
        if mark.table not in names():
            found.append(f"{where}: there is no recipe {mark.table!r}.")
            continue
        known = [data.name for data in recipe(mark.table).data]
        found += [f"{where}: {data!r} is none of the data of {mark.table}." for data in mark.data if data not in known]
    return found


def few_seeds(made: Recipe, result: Result) -> list[tuple[str, int, int]]:
    """Data sets with fewer seeds than the recipe names: the name, how many there are, how many it names."""
    found = []
    for name in (data["name"] for data in result["data"]):
        if any(data.name == name for data in made.data):
            have, named = seeds_of(result, name), data_named(made, name).seeds or made.seeds
            if have < named:
                found.append((name, have, named))
    return found


def seeds_of(result: Result, data: str) -> int:
    """With how many seeds every number of a data set was measured."""
    return min((line["of"] for line in result["numbers"] if line["data"] == data), default=0)


def standing(made: Recipe, result: Result | None, marks: Sequence[Mark]) -> str:
    """How the record of a recipe stands, in a few words."""
    if result is None:
        return "no record"
    few = {name: f"{name} has {have} of {named} seeds" for name, have, named in few_seeds(made, result)}
    found = list(few.values())
    digests = {data["name"]: data.get("digest") for data in result["data"]}
    changed = [name for name, digest in digests.items() if digest and _other(made, name, digest)]
    found += [f"other code or settings since: {', '.join(changed)}"] if changed else []
    without = [name for name, digest in digests.items() if not digest]
    found += [f"code not known: {', '.join(without)}"] if without else []
    found += ["marked stale"] if any(mark.table == made.name for mark in marks) else []
    return "; ".join(found) or "as the code is"


def _other(made: Recipe, data: str, digest: str) -> bool:
    return not any(d.name == data for d in made.data) or digest_of(made, data) != digest


def main() -> int:
    """Print what the record lacks; 1 where it lacks something."""
    found = problems()
    print("\n".join(found) or f"The record of {len(names())} recipes has the seeds that they name, or says why not.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
