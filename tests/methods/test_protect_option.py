"""The option `protect`: what is refused, how it is written, and how the record names it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

import colonnade as cn
from colonnade.lab.run.cell import Cell, parse_method, run_cell
from colonnade.methods._base.method import SEEDED
from colonnade.methods._base.options.text import parse_settings
from colonnade.methods._base.wiring import wire_of
from colonnade.parties.engine import Promises
from tests.conftest import make_data
from tests.methods.test_protected import same, tiny, watch

# what is refused ------------------------------------------------------------------------------------------------------

WITH_NORM = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("fedonce", {}, "iso:gradient:1", "fedonce sends no gradient, so this would protect nothing. It sends represent"),
    ("fedonce", {}, "noise:representation:1@validate", "in phase 'validate'. Its phases: train, predict."),
    ("splitnn", {}, "iso:parameters:1", "splitnn sends no parameters"),
    ("fedhssl", {"aggregate": False}, "iso:average:1", "fedhssl sends no average, .* With aggregate=True it does"),
    ("fedhssl", {"secure_aggregation": True}, "iso:parameters:1", "With secure_aggregation=True they cross masked"),
    ("fedhssl", {}, "gaussian:projection:1:1", "batch norm mixes the rows of a batch in a projector"),
    ("ssvfl", {}, "gaussian:gradient:1:1", "contrast=0.01 compares the rows of a batch"),
    ("splitnn", {"image_encoder": "resnet18"}, "gaussian:representation:1:1", "in a party's encoder"),
    ("splitnn", {"encoders": {"p1": WITH_NORM}}, "gaussian:representation:1:1", "in a party's encoder"),
]


@pytest.mark.parametrize("name, options, protect, text", REFUSED)
def test_what_would_protect_nothing_is_refused(name: str, options: dict[str, Any], protect: str, text: str) -> None:
    with pytest.raises(cn.ConfigError, match=f"(?s){protect}.*{text}"):
        cn.METHODS[name](**options, protect=protect)


def test_what_those_refusals_allow() -> None:
    cn.SSVFL(contrast=0.0, protect="gaussian:gradient:1:1")
    cn.FedHSSL(secure_aggregation=True, protect="iso:average:1+iso:target:1+iso:projection:1")
    cn.SplitNN(encoders={"p1": WITH_NORM}, protect="noise:representation:1")
    with pytest.raises(cn.ConfigError, match="'protect' is no option of Local"):
        cn.Local(protect="iso:gradient:1")
    with pytest.raises(cn.ConfigError, match="2 problems"):
        cn.SplitNN(epochs=0, protect="iso:gradient:0")


def test_marvell_is_for_two_classes_of_labelled_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    tiny("splitnn", protect="marvell:gradient:4").fit(make_data(task="binary"))
    assert {given.kind for given, got in seen if not same((given, got))} == {"gradient"}
    for task, what in (("multiclass", "3 classes"), ("regression", "regression")):
        with pytest.raises(cn.ConfigError, match=f"this is {what}. Use iso:gradient"):
            tiny("splitnn", protect="marvell:gradient:4").fit(make_data(task=task))
    with pytest.raises(cn.ConfigError, match="gradients of rows without a label"):
        tiny("ssvfl", protect="marvell:gradient:4").fit(make_data(task="binary"))


# text and record ------------------------------------------------------------------------------------------------------


def test_the_text_of_a_method_may_hold_colons_in_a_value() -> None:
    assert parse_method("splitnn:protect=gaussian:gradient:1:0.5+iso:gradient:1@train:epochs=5") == (
        "splitnn", {"protect": "gaussian:gradient:1:0.5+iso:gradient:1@train", "epochs": 5}
    )  # fmt: skip
    assert parse_method("splitnn") == ("splitnn", {})
    for wrong in ("splitnn:mean", "splitnn:", "splitnn:mean:epochs=5"):
        with pytest.raises(cn.ConfigError, match="is not key=value"):
            parse_method(wrong)


@pytest.mark.parametrize(
    "text", ["iso:gradient:1+noise:representation:2", '["iso:gradient:1", "noise:representation:2"]']
)
def test_the_command_line_takes_one_or_several(text: str) -> None:
    model = cn.SplitNN(**parse_settings([f"protect={text}"]))
    assert [type(p).__name__ for p in wire_of(model, model.setup()).protections] == ["Iso", "GaussianNoise"]


def test_the_record_names_protections_and_their_labels() -> None:
    options = {"epochs": 1, "hidden": (8,), "width": 4}
    for method, names in (
        ("splitnn:protect=iso:gradient:1+gaussian:representation:1:2", ["iso", "gaussian"]),
        ("ssvfl-dp:noise=2", ["noise"]), ("ssvfl-dp:noise=0", []), ("splitnn", []), ("local", []),
    ):  # fmt: skip
        record, _ = run_cell(Cell(method, "wine", labels=30, options=options))
        found = json.loads(json.dumps(record)).get("protections", [])
        assert ("protections" in record) == bool(names)
        assert [p["name"] for p in found] == names
        for entry in found:
            assert {"name", "kind", "strength", "label"} <= set(entry)
            assert (entry["label"] == "noise, no guarantee") == (entry["name"] != "gaussian")
    model = tiny("ssvfl-dp", noise=2.0).fit(make_data())
    assert model.protections_ == [
        {"name": "noise", "kind": "representation", "strength": 2.0, "phases": ["train", "validate"],
         "label": "noise, no guarantee", "caution": SEEDED}
    ]  # fmt: skip


def test_the_record_says_whose_noise_follows_from_the_seed() -> None:
    """In one process all noise; between sites that of the active party, as passive ones draw a secret of their own."""
    model = tiny("splitnn", protect="iso:gradient:1+noise:representation:1").fit(make_data())
    assert [entry["caution"] for entry in model.protections_] == [SEEDED, SEEDED]
    assert "whoever knows the seed can take it away" in SEEDED
    model.federation_.engine = SimpleNamespace(promises=Promises())  # type: ignore[assignment]  # parties elsewhere
    assert [entry.get("caution") for entry in model.protections_] == [SEEDED, None]
