"""Options as data: what each takes and refuses, what it says of itself, and its JSON schema."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Gt, Help, Le, Lt, Must, OneOf
from colonnade.methods._base.options.data import Option, options_of, problem_of
from colonnade.methods._base.options.schema import schema_of
from colonnade.methods._base.options.text import describe_options
from tests.conftest import make_data
from tests.methods.drawn import bad, good
from tests.methods.small import small

every_method = pytest.mark.parametrize("name", list(cn.METHODS))
ONCE = {repr((option.name, option.sort, option.rules)): (method, option)
        for method in cn.METHODS.values() for option in options_of(method).values()}  # fmt: skip
every_option = pytest.mark.parametrize("method, option", ONCE.values(), ids=lambda v: v.name)
quick = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


# values ---------------------------------------------------------------------------------------------------------------


@every_option
@quick
@given(data=st.data())
def test_values_within_the_bounds_are_taken(method: type[Method], option: Option, data: st.DataObject) -> None:
    value = data.draw(good(option))
    assert problem_of(option, value) is None
    try:
        made = method(**{option.name: value})
    except cn.ConfigError as error:  # of two options together
        assert f"{option.name} must be" not in str(error) and option.name in str(error)
    else:
        assert getattr(made, option.name) == value


@every_option
@quick
@given(data=st.data())
def test_values_outside_are_refused_by_name_and_value(
    method: type[Method], option: Option, data: st.DataObject
) -> None:
    value = data.draw(bad(option))
    with pytest.raises(cn.ConfigError) as caught:
        method(**{option.name: value})
    text = str(caught.value)
    assert text.startswith(f"{method.__name__}: ") and f"{option.name} must be " in text and repr(value)[:20] in text


@every_method
def test_defaults_are_taken_and_every_option_is_described(name: str) -> None:
    method = cn.METHODS[name]
    assert [o.name for o in options_of(method).values()] == [field.name for field in fields(method)]
    assert all(problem_of(option, option.default) is None for option in options_of(method).values())


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((Ge(2),), "a whole number of at least 2"),
        ((Gt(2),), "a whole number above 2"),
        ((Ge(2), Le(5)), "a whole number from 2 to 5"),
        ((Gt(2), Le(5)), "a whole number above 2 and of at most 5"),
        ((Ge(2), Lt(5)), "a whole number of at least 2 and below 5"),
        ((Must("odd", lambda v: v % 2 == 1),), "odd"),
        ((OneOf(("a", "b")),), "one of a, b"),
        ((), "a whole number"),
    ],
)
def test_what_an_error_says(rules: tuple[Any, ...], text: str) -> None:
    option = Option("n", 3, int, True, rules, "", "Use 3.")
    wrong = -4 if rules else "x"
    assert problem_of(option, wrong) == f"n must be {text}. Got {wrong!r}. Use 3."
    assert problem_of(option, None) is None


def test_numbers_of_numpy_are_pythons() -> None:
    made = cn.SplitNN(epochs=np.int64(3), learning_rate=np.float32(0.5), hidden=(np.int32(4),), seed=np.uint8(1))
    assert [type(v) for v in (made.epochs, made.learning_rate, made.hidden[0], made.seed)] == [int, float, int, int]
    with pytest.raises(cn.ConfigError, match=r"epochs must be a whole number of at least 1\. Got 0"):
        cn.SplitNN(epochs=np.int64(0))


@every_method
def test_options_are_checked_again_before_training(name: str) -> None:
    """An attribute that was set to what cannot be is refused by `fit`, before anything is trained."""
    model = small(name)
    model.seed = -1
    with pytest.raises(cn.ConfigError, match=r"seed must be a whole number of at least 0\. Got -1"):
        model.fit(make_data())
    with pytest.raises(cn.ConfigError, match="seed must be"):
        model.check_options()
    assert model.fitted_ is None


def test_all_problems_come_at_once() -> None:
    with pytest.raises(cn.ConfigError, match=r"(?s)4 problems.*hidden must.*epochs must.*codec must.*protect 'nois:"):
        cn.SplitNN(epochs=0, codec="int4", hidden=3, protect="nois:gradient:1")


# help -----------------------------------------------------------------------------------------------------------------


@every_method
def test_no_help_line_repeats_its_name_or_is_a_symbol(name: str) -> None:
    for option in describe_options(cn.METHODS[name]):
        text = option.meaning
        words = re.findall(r"[a-z]{2,}", text.lower())
        own = set(option.name.split("_"))
        assert len(words) >= 5 and len(set(words) - own) >= 4, f"{name}.{option.name}: {text!r} says too little"
        assert text[0].isupper() and text.endswith((".", ")")), f"{name}.{option.name}: {text!r} is no sentence"
        assert not re.match(r"\W*(\w|Eq\.? ?\d+)\W*$", text) and "\n" not in text


@every_method
def test_help_does_not_need_the_source(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import inspect

    def gone(*_: Any) -> None:
        raise OSError("could not get source code")

    monkeypatch.setattr(inspect, "getsource", gone)
    monkeypatch.setattr(inspect, "getsourcelines", gone)
    assert describe_options(cn.METHODS[name])


# schema ---------------------------------------------------------------------------------------------------------------


def fits(schema: dict[str, Any], value: Any) -> bool:
    """A small reader of what `schema_of` writes."""
    if "anyOf" in schema:
        return any(fits(part, value) for part in schema["anyOf"])
    types = {"integer": int, "number": int | float, "string": str, "boolean": bool, "array": tuple | list,
             "object": dict, "null": type(None)}  # fmt: skip
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, types[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if kind in ("integer", "number"):
        return schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf) and schema.get(
            "exclusiveMinimum", -math.inf
        ) < value < schema.get("exclusiveMaximum", math.inf)
    if kind == "array":
        return all(fits(schema["items"], one) for one in value)
    if kind == "object":
        return all(fits(schema["additionalProperties"], one) for one in value.values())
    return True


@every_method
def test_the_schema_has_every_option_and_can_be_written(name: str) -> None:
    schema = schema_of(cn.METHODS[name])
    assert json.loads(json.dumps(schema)) == schema and schema["additionalProperties"] is False
    assert list(schema["properties"]) == list(options_of(cn.METHODS[name])) and schema["title"] == name
    for option, made in schema["properties"].items():
        assert made["description"] and fits(made, made["default"]), option


@every_option
@quick
@given(data=st.data())
def test_the_schema_takes_what_the_option_takes(method: type[Method], option: Option, data: st.DataObject) -> None:
    schema = schema_of(method)["properties"][option.name]
    assert fits(schema, data.draw(good(option)))
    if option.sort in (bool, int, float) and option.rule(Must) is None:
        assert not fits(schema, data.draw(bad(option)))


def test_an_option_of_ones_own_method_needs_nothing_more() -> None:
    @dataclass(kw_only=True, eq=False, repr=False)
    class Own(Method):
        name = "own"
        share: Annotated[float | None, Gt(0), Le(1), Help("Share of the rows that are read.", "Use 1.")] = None

    assert Own(share=0.5).share == 0.5 and Own().share is None
    with pytest.raises(cn.ConfigError, match=r"Own: share must be a number above 0 and of at most 1\. Got 2\. Use 1\."):
        Own(share=2)
    made = schema_of(Own)["properties"]["share"]
    assert made["anyOf"] == [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"type": "null"}]
    assert [d.meaning for d in describe_options(Own)][-1] == "Share of the rows that are read."
