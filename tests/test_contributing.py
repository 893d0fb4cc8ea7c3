"""The method in CONTRIBUTING.md is whole: what a reader copies trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import colonnade as cn
from colonnade.errors import WireError
from colonnade.wire.message import Message

DOCUMENT = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The names that the document's example defines, once it has run."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    found: dict[str, Any] = {"__name__": __name__}  # dataclasses look up the module of their class
    exec(compile(code, str(DOCUMENT), "exec", dont_inherit=True), found)
    return found


def test_the_example_trains_as_split_training_does(example: dict[str, Any]) -> None:
    model, data = example["model"], example["data"]
    usual = cn.SplitNN(epochs=60, seed=0).fit(data.train, data.valid)
    reached = model.score(data.test.views, data.test.labels)
    assert reached > 0.85 and reached == pytest.approx(usual.score(data.test.views, data.test.labels), abs=0.03)
    assert 10 < len(model.history_) <= 60 and all("validation" in epoch for epoch in model.history_)
    phases = model.traffic_.to_json()["by_phase"]
    assert phases["train"]["bytes"] > 0 and {"setup", "validate"} <= set(phases)


def test_the_option_of_the_example_is_read_and_checked(example: dict[str, Any]) -> None:
    method, data, size_of = example["Shrunk"], example["data"], example["size_of"]
    strong = method(epochs=60, shrink=1.0).fit(data.train, data.valid)
    sizes = [float(size_of(model.federation_.active.head).detach()) for model in (strong, example["model"])]
    assert sizes[0] < 0.5 * sizes[1]
    with pytest.raises(cn.ConfigError, match="shrink"):
        method(shrink=-1.0)


def test_the_skill_of_the_example_is_asked_and_refuses_what_it_does_not_take(example: dict[str, Any]) -> None:
    model = example["model"]
    assert set(model.history_[-1]["norms"]) == {"ne", "sw", "se"} and min(model.history_[-1]["norms"].values()) > 0
    assert model.traffic_.to_json()["by_kind"]["norm"]["messages"] == 3 * len(model.history_)
    party = model.federation_.engine.promises.parties["ne"]
    before = party.perform("shrink", order(by=0.0)).values["norm"]
    assert party.perform("shrink", order(by=0.5)).values["norm"] == pytest.approx(before / 4)
    with pytest.raises(WireError, match=r"by must be a number of at least 0\. Got -1"):
        party.perform("shrink", order(by=-1.0))
    with pytest.raises(WireError, match=r"with the value 'name'\. It takes: by"):
        party.perform("shrink", order(name="best"))
    with pytest.raises(WireError, match="'fit_linear' is no operation of this run"):
        party.perform("fit_linear", order())


def order(**values: Any) -> Message:
    return Message("order", "nw", "ne", "train", {}, values)
