"""The method in CONTRIBUTING.md is whole: what a reader copies trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import colonnade as cn

DOCUMENT = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The names that the document's example defines, once it has run."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    found: dict[str, Any] = {"__name__": __name__}  # dataclasses look up the module of their class
    exec(compile(code, str(DOCUMENT), "exec"), found)
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
