"""Compute `mnist10k_multiview`: three linear projections of the 10,000 MNIST test images.

N images, D = 100 principal components, X (N, D) centred.

- lda: linear discriminants of the ten classes (9). All labels are used.
- npe: neighbourhood preserving embedding (He et al. 2005): the 30 projections that keep best how each image is put
  together from its 10 neighbours.
- iso: IsoProjection (Cai et al. 2007): the 30 projections that keep best the distances along the graph of neighbours.

Takes one or two minutes and 1.2 GB of memory. The sign of a projection is arbitrary. `_SIGNS` has those of the
published results: the sign of the first image in each projection.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets.idx import read_pair

Matrix = npt.NDArray[np.float64]

_COMPONENTS = 100  # D
_NEIGHBOURS = 10
_PROJECTIONS = 30
_RIDGE = 1e-3  # regularisation of the weights, relative to the trace
_SIGNS = {
    "iso": "+-++++----++-++--+--+-+-++-+--",
    "lda": "++-+--+--",
    "npe": "+++++-----+++-+-+-+-+----++---",
}


def mnist_views(source: Path, target: Path) -> None:
    """Write the npz from the two idx files of the test images."""
    images, y = read_pair(source / "t10k-images-idx3-ubyte.gz", source / "t10k-labels-idx1-ubyte.gz")
    folder = target / "mnist10k_multiview"
    folder.mkdir(parents=True)
    views: dict[str, Any] = {name: view.astype(np.float32) for name, view in project(images, y).items()}
    np.savez_compressed(folder / "mnist10k_multiview.npz", y=y, **views)


def project(images: npt.NDArray[np.uint8], y: npt.NDArray[np.uint8]) -> dict[str, Matrix]:
    """The three views, each (N, projections)."""
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    pixels = images.reshape(len(images), -1) / 255.0
    x = PCA(_COMPONENTS, svd_solver="full").fit_transform(pixels)
    views = {
        "iso": _generalised(x, _along_graph(x), largest=True),
        "lda": LinearDiscriminantAnalysis(solver="svd").fit_transform(x, y),
        "npe": _generalised(x, _reconstruction(x), largest=False),
    }
    return {name: view * np.sign(view[0]) * _signs(name, view.shape[1]) for name, view in views.items()}


def _signs(name: str, count: int) -> Matrix:
    return np.array([1.0 if sign == "+" else -1.0 for sign in _SIGNS[name][:count]])


def _generalised(x: Matrix, between: Matrix, *, largest: bool) -> Matrix:
    """X A, where the columns of A are the extreme eigenvectors of `between` (D, D) against X'X; each has length 1."""
    from scipy.linalg import eigh

    vectors = eigh(between, x.T @ x)[1]
    chosen = vectors[:, ::-1] if largest else vectors
    projected: Matrix = x @ chosen[:, :_PROJECTIONS]
    return projected


def _reconstruction(x: Matrix) -> Matrix:
    """X' (I - W)' (I - W) X: row i of W puts image i together from its neighbours, with weights that sum to one."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(x).kneighbors(return_distance=False)  # (N, K)
    left = np.empty_like(x)  # (I - W) X
    for i, others in enumerate(near):
        apart = x[others] - x[i]  # (K, D)
        gram = apart @ apart.T
        gram.flat[:: len(others) + 1] += _RIDGE * np.trace(gram)
        weights = np.linalg.solve(gram, np.ones(len(others)))
        left[i] = weights @ apart / weights.sum()  # the weights sum to one, and the sign does not matter
    out: Matrix = left.T @ left
    return out


def _along_graph(x: Matrix) -> Matrix:
    """X' T X, where T (N, N) are inner products that belong to the distances along the graph of neighbours."""
    from scipy.sparse.csgraph import shortest_path
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(x, _NEIGHBOURS, mode="distance")
    distances = shortest_path(graph.maximum(graph.T), method="D", directed=False)  # (N, N)
    distances **= 2
    distances -= distances.mean(axis=0)
    distances -= distances.mean(axis=1, keepdims=True)
    out: Matrix = x.T @ distances @ x / -2
    return (out + out.T) / 2
