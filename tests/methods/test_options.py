"""Options: how they are typed after `--set`, and what a method accepts as their values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import colonnade as cn
from colonnade.lab.compare.compare import grid
from colonnade.methods._base.options.text import own_settings, parse_settings
from tests.conftest import make_data
from tests.methods.small import small

every_method = pytest.mark.parametrize("name", list(cn.METHODS))


@every_method
def test_a_setting_may_name_its_method_whatever_is_in_the_name(name: str) -> None:
    first = next(field for field in fields(cn.METHODS[name]) if field.name != "seed" and field.default)
    typed = [f"{name}.{first.name.replace('_', '-')}={'[8]' if isinstance(first.default, tuple) else first.default}"]
    cells = grid([name], "wine", labels=[None], aligned=[1.0], seeds=1, settings=parse_settings(typed))
    wanted = (8,) if isinstance(first.default, tuple) else first.default
    assert cells[0].options == {first.name: wanted}
    assert own_settings(name, parse_settings(typed)) == {first.name: wanted}


def test_of_two_settings_the_one_that_names_the_method_wins() -> None:
    assert own_settings("ss-vfl-i", parse_settings(["ss-vfl-i.batch-size=5", "batch_size=7"])) == {"batch_size": 5}


def test_a_setting_for_another_method_is_refused() -> None:
    with pytest.raises(cn.ConfigError, match=r"'local.epochs' is for 'local', and this run is of 'splitnn'."):
        own_settings("splitnn", {"local.epochs": 3})


def of_numpy(value: Any) -> Any:
    """The same option as numpy's kinds."""
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, tuple: lambda v: tuple(map(of_numpy, v))}
    return kinds[type(value)](value) if type(value) in kinds else value


@every_method
def test_numbers_of_numpy_are_options_like_others(name: str) -> None:
    model = small(name)
    given = {key: of_numpy(value) for key, value in model.get_params().items()}
    made = cn.METHODS[name](**given)
    assert made.get_params() == model.get_params()
    for key, value in made.get_params().items():
        assert type(value) is type(getattr(model, key)), key
        assert not isinstance(value, tuple) or not any(isinstance(v, np.generic) for v in value), key


def test_numbers_of_numpy_in_mappings() -> None:
    speeds = {"shop": np.float64(0.5)}
    assert type(cn.VAFL(speeds=speeds).speeds["shop"]) is float and type(speeds["shop"]) is np.float64


@every_method
def test_a_bad_option_set_later_is_refused_before_anything_else(name: str) -> None:
    model = small(name)
    option = next(key for key in ("epochs", "trees", "iterations", "seed") if hasattr(model, key))
    setattr(model, option, -5)
    with pytest.raises(cn.ConfigError, match=rf"{option} must be a whole number of at least \d. Got -5."):
        model.fit(make_data(rows=60))
    assert not hasattr(model, "history_")
