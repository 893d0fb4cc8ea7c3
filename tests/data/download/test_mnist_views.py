"""The projections against slow versions of the papers' definitions, on small images."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap
from sklearn.neighbors import NearestNeighbors

from colonnade.data.datasets import DATASETS
from colonnade.data.datasets.download import mnist_views


@pytest.fixture
def x() -> np.ndarray:
    """(150, 20) centred rows."""
    rows = np.random.default_rng(0).permutation(load_digits().data)[:150, 10:30]
    rows = rows + np.random.default_rng(1).normal(size=rows.shape)
    return rows - rows.mean(0)


def test_reconstruction_is_the_best_with_weights_that_sum_to_one(x: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mnist_views, "_RIDGE", 1e-9)
    near = NearestNeighbors(n_neighbors=10).fit(x).kneighbors(return_distance=False)
    weights = np.zeros((len(x), len(x)))
    for i, others in enumerate(near):  # Lagrange: least squares under the constraint
        a = x[others].T
        system = np.block([[a.T @ a, np.ones((10, 1))], [np.ones((1, 10)), np.zeros((1, 1))]])
        weights[i, others] = np.linalg.solve(system, [*(a.T @ x[i]), 1])[:10]
    left = np.eye(len(x)) - weights
    np.testing.assert_allclose(mnist_views._reconstruction(x), x.T @ left.T @ left @ x, rtol=1e-4, atol=1e-4)


def test_the_inner_products_are_those_of_isomap(x: np.ndarray):
    squared = Isomap(n_neighbors=10).fit(x).dist_matrix_ ** 2
    centre = np.eye(len(x)) - 1 / len(x)
    expected = x.T @ (centre @ squared @ centre / -2) @ x
    np.testing.assert_allclose(mnist_views._along_graph(x), expected, rtol=1e-9)


@pytest.mark.parametrize("largest", [True, False])
def test_projections_are_extreme_and_of_length_one(x: np.ndarray, largest: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mnist_views, "_PROJECTIONS", 3)
    between = mnist_views._along_graph(x)
    made = mnist_views._generalised(x, between, largest=largest)
    np.testing.assert_allclose(made.T @ made, np.eye(3), atol=1e-9)
    values = eigh(between, x.T @ x, eigvals_only=True)
    vectors = np.linalg.lstsq(x, made, rcond=None)[0]
    expected = values[::-1][:3] if largest else values[:3]
    np.testing.assert_allclose(np.diag(vectors.T @ between @ vectors), expected, rtol=1e-6)


def test_the_signs_are_those_of_the_file_that_is_here():
    data = DATASETS["mnist10k_multiview"]
    if not data.available():
        pytest.skip("needs mnist10k_multiview")
    with np.load(data.paths()[0]) as made:
        for name, signs in mnist_views._SIGNS.items():
            assert "".join("+" if value > 0 else "-" for value in made[name][0]) == signs
