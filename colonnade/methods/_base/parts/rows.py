"""Giving each party its own rows for validation or prediction; a party's rows reach that party alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from colonnade.data.ids import Ids
from colonnade.data.preprocess import Preprocessor
from colonnade.data.view import View
from colonnade.errors import ConfigError
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty


def load_rows(fed: Federation, table: str, views: Mapping[str, View], ids: Ids) -> None:
    """Give each party its own rows of `ids`; a party at another site has loaded them by itself."""
    here = fed.engine.promises.parties or {}
    for party in (fed.active, *here.values()):
        if party.preprocessor is not None:
            party.load(table, views[party.name], ids)


def _parties(fed: Federation) -> Mapping[str, PassiveParty]:
    here = fed.engine.promises.parties
    if here is None:
        raise ConfigError("rows of parties at other sites cannot be given here. Each site loads its own.")
    return here


def _preprocessor(fed: Federation, name: str) -> Preprocessor:
    return (fed.active if name == fed.active.name else _parties(fed)[name]).fitted_preprocessor()


def categorical_fields(fed: Federation, name: str) -> tuple[str, ...]:
    """The columns that a party learnt as categories."""
    return _preprocessor(fed, name).fields


def no_rows(fed: Federation, name: str) -> View:
    """A party's table without a row."""
    made = _preprocessor(fed, name)
    shape = made.shape or (len(made.columns),)
    none = np.zeros(0, dtype=np.int64)
    codes = np.zeros((0, len(made.fields)), dtype=np.int32)
    return View(
        none, np.zeros((0, *shape), np.float32), made.columns, codes, made.fields, tuple(() for _ in made.fields)
    )


def count_absent(fed: Federation, names: list[str], rows: int) -> dict[str, int]:
    """How many of the rows to predict each party does not hold, for the parties that lack some."""
    parties = {fed.active.name: fed.active, **_parties(fed)}
    masks = {name: parties[name].present.get("predict") for name in names}
    return {name: int(rows - mask.sum()) for name, mask in masks.items() if mask is not None}
