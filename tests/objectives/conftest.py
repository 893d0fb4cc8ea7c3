import pytest
import torch
from small_tables import make_table


@pytest.fixture
def table():
    return make_table()


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(1)


@pytest.fixture
def two_views():
    """Two (5, 3) batches in double precision."""
    g = torch.Generator().manual_seed(2)
    return torch.randn(5, 3, generator=g, dtype=torch.float64), torch.randn(5, 3, generator=g, dtype=torch.float64)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
