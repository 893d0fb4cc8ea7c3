import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA as Reference  # noqa: N811
from small_tables import make_table

from colonnade.data.table import Table
from colonnade.errors import ConfigError
from colonnade.objectives import PCA


def slow_one_hot(table):
    rows = []
    for i in range(len(table)):
        row = [float(v) for v in table.x[i].flatten()]
        for q, size in enumerate(table.sizes):
            row += [1.0 if table.codes[i, q] == value else 0.0 for value in range(1, size + 1)]
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("sizes", [(), (4,), (3, 1, 5)])
def test_scores_against_scikit_learn_up_to_sign(sizes):
    table = make_table(n=60, sizes=sizes, dtype=torch.float64)
    encoder = PCA().fit(table, 4)
    expected = Reference(4, svd_solver="full").fit_transform(slow_one_hot(table))
    z = encoder(*table.all()).numpy()
    signs = np.sign((z * expected).sum(0))
    np.testing.assert_allclose(z, expected * signs, atol=1e-10)
    assert encoder.width == 4 and not list(encoder.parameters())


def test_signs_are_fixed_and_every_fit_is_the_same(table):
    first, second = PCA().fit(table, 5), PCA().fit(table, 5)
    assert torch.equal(first.components, second.components)
    peaks = first.components.abs().argmax(0)
    assert (first.components[peaks, torch.arange(5)] > 0).all()
    negated = PCA().fit(Table(-table.x), 3)
    assert torch.allclose(negated.components, PCA().fit(Table(table.x), 3).components, atol=1e-5)


def test_unknown_and_covered_categories_are_rows_of_zeros():
    table = make_table(dtype=torch.float64)
    encoder = PCA().fit(table, 3)
    x = table.x[:1]
    unknown, covered = torch.tensor([[0, 2]]), torch.tensor([[-1, 2]])
    assert torch.equal(encoder(x, unknown), encoder(x, covered))
    row = np.concatenate([x[0].numpy(), np.zeros(3), np.eye(5)[1]])
    expected = (row - encoder.mean.numpy()) @ encoder.components.numpy()
    np.testing.assert_allclose(encoder(x, unknown)[0].numpy(), expected, atol=1e-12)


def test_images_are_flattened():
    table = Table(torch.randn(30, 2, 3, 3))
    assert PCA().fit(table, 4)(table.x).shape == (30, 4)


def test_at_most_max_rows_are_used_spread_over_the_table():
    table = make_table(n=100, sizes=(), dtype=torch.float64)
    some = Table(table.x[::4])
    assert torch.equal(PCA(max_rows=25).fit(table, 3).components, PCA().fit(some, 3).components)


def test_errors_name_both_numbers(table):
    with pytest.raises(ConfigError, match=r"width 15 asks for more.*14 columns.*40 rows.*at most 14"):
        PCA().fit(table, 15)
    with pytest.raises(ConfigError, match=r"width 4 asks for more.*6 columns.*3 rows.*at most 3"):
        PCA().fit(make_table(n=3, sizes=()), 4)
    with pytest.raises(ConfigError, match=r"max_rows must be an integer of at least 2. Got 1"):
        PCA(max_rows=1)
