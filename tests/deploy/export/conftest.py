"""The exporter builds its table of operators anew for each graph, half of a test's time; here it is built once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_table_of_operators() -> Iterator[None]:
    try:
        registry: Any = import_module("torch.onnx._internal.exporter._registration").ONNXRegistry
        build = registry.from_torchlib
    except (ImportError, AttributeError):  # another version of torch: slower, nothing else
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "from_torchlib", staticmethod(cache(build)))
        yield
