"""A trained model, and tables that it has not seen."""

from __future__ import annotations

import pandas as pd
import pytest

import colonnade as cn
from tests.conftest import make_data
from tests.deploy.serve.parts import table
from tests.methods.small import small


@pytest.fixture(scope="session")
def model() -> cn.Method:
    return small("splitnn", epochs=3).fit(make_data())


@pytest.fixture
def views() -> dict[str, pd.DataFrame]:
    """p0 has n000-n029, p1 n010-n039."""
    return {"p0": table(30, 3, 0, 1, kind=False), "p1": table(30, 4, 10, 2, kind=True)}
