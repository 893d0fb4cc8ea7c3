"""Options: how they are typed after `--set`, and what a method accepts as their values."""

from __future__ import annotations

from dataclasses import fields

import pytest

import colonnade as cn
from colonnade.bench.compare import grid
from colonnade.methods.options import own_settings, parse_settings

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
