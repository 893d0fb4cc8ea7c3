"""Images: digits and clothes cut into parts, objects seen from several sides.

N images of H x W pixels, one byte each; views are (N, 1, H, W). Row numbers are the ids.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets.columns import apart, halves, quadrants
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.idx import read_pair
from colonnade.data.vertical import VerticalData

Pixels = npt.NDArray[np.uint8]

_VOXELS = 30  # along each edge of the cube
_SIDES = ("side", "front", "top", "oblique")


def read_mnist(parties: int, *paths: Path) -> tuple[VerticalData, VerticalData]:
    """60,000 digits and 10,000 official test digits; parties nw, ne, sw, se of 14 x 14 pixels, or halves. MNIST."""
    (images, y), (test_images, test_y) = read_pair(*paths[:2]), read_pair(*paths[2:])
    data = _parts(np.concatenate([images, test_images]), np.concatenate([y, test_y]), parties)
    return apart(data, len(images))


def read_fashion_mnist(parties: int, path: Path) -> VerticalData:
    """10,000 pieces of clothing; parties nw, ne, sw, se of 14 x 14 pixels, or halves. Fashion-MNIST."""
    with np.load(path) as z:
        return _parts(z["images"], z["labels"], parties)


def _parts(images: Pixels, y: Pixels, parties: int) -> VerticalData:
    return VerticalData(halves(images) if parties == 2 else quadrants(images), y.astype(np.int64))


def read_modelnet10(parties: int, path: Path) -> tuple[VerticalData, VerticalData]:
    """3,991 objects and 908 official test objects; parties see the silhouette from a side each. Princeton ModelNet.

    side, front and top look along the axes of the cube, oblique between side and front; 30 x 30 pixels, 0 or 255.
    """
    with np.load(path) as z:
        bits, y = np.concatenate([z["X_train_bits"], z["X_test_bits"]]), np.concatenate([z["y_train"], z["y_test"]])
        train = len(z["y_train"])
    cells = np.unpackbits(bits, axis=1, count=_VOXELS**3).reshape(-1, _VOXELS, _VOXELS, _VOXELS)  # (N, X, Y, Z)
    views = {side: 255 * _silhouette(cells, side)[:, None] for side in _SIDES[:parties]}
    return apart(VerticalData(views, y.astype(np.int64)), train)


def _silhouette(cells: Pixels, side: str) -> Pixels:
    """What is hit along a direction: (N, X, Y, Z) occupancy to (N, 30, 30)."""
    if side != "oblique":
        seen: Pixels = cells.max(axis=1 + _SIDES.index(side))
        return seen
    out = np.zeros((len(cells), _VOXELS, _VOXELS), dtype=np.uint8)
    for offset in range(1 - _VOXELS, _VOXELS):  # cells with y - x = offset lie behind one another
        column = (offset + _VOXELS - 1) // 2  # two diagonals per pixel
        hit = cells.diagonal(offset, axis1=1, axis2=2).max(axis=-1)  # (N, Z)
        np.maximum(out[:, column], hit, out=out[:, column])
    return out


MNIST = Dataset(
    name="mnist",
    title="handwritten digits of 28 x 28 pixels, a part of the image per party",
    parties="nw, ne, sw, se: 14 x 14 pixels each; with 2 parties left and right half",
    task="multiclass",
    metric="accuracy",
    source="MNIST (LeCun, Cortes, Burges): the four idx files",
    terms="CC BY-SA 3.0",
    read=read_mnist,
    files=(
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
    ),
    default_parties=4,
    party_numbers=(2, 4),
)

MNIST_HALVES = replace(
    MNIST,
    name="mnist-halves",
    title="handwritten digits of 28 x 28 pixels, half of the image per party",
    parties="left, right: 28 x 14 pixels each",
    default_parties=2,
    party_numbers=(2,),
)

KMNIST = replace(
    MNIST,
    name="kmnist",
    title="cursive Japanese characters of ten kinds, 28 x 28 pixels, a part of the image per party",
    source="Kuzushiji-MNIST (Clanuwat et al. 2018): the four idx files of codh.rois.ac.jp/kmnist",
    terms="CC BY-SA 4.0",
    files=tuple(file.replace("mnist/", "kmnist/") for file in MNIST.files),
)

KMNIST_HALVES = replace(
    KMNIST,
    name="kmnist-halves",
    title="cursive Japanese characters of ten kinds, 28 x 28 pixels, half of the image per party",
    parties=MNIST_HALVES.parties,
    default_parties=2,
    party_numbers=(2,),
)

FASHION_MNIST = Dataset(
    name="fashion_mnist",
    title="pieces of clothing of 28 x 28 pixels, 1,000 of each kind, a part of the image per party",
    parties="nw, ne, sw, se: 14 x 14 pixels each; with 2 parties left and right half",
    task="multiclass",
    metric="accuracy",
    source="Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 10,000 images as arrays images, labels",
    terms="MIT",
    read=read_fashion_mnist,
    files=("fashion_mnist10k/fashion_mnist10k.npz",),
    default_parties=4,
    party_numbers=(2, 4),
)

FASHION_MNIST_HALVES = replace(
    FASHION_MNIST,
    name="fashion_mnist-halves",
    title="pieces of clothing of 28 x 28 pixels, 1,000 of each kind, half of the image per party",
    parties=MNIST_HALVES.parties,
    default_parties=2,
    party_numbers=(2,),
)

MODELNET10 = Dataset(
    name="modelnet10",
    title="ten kinds of furniture as silhouettes of 30 x 30 pixels",
    parties="side, front, top, oblique: the silhouette from there (with fewer parties the first of these)",
    task="multiclass",
    metric="accuracy",
    source="Princeton ModelNet10 (Wu et al. 2015) as 30 x 30 x 30 occupancy grids, bits packed",
    terms="academic use; the models belong to their authors; not to be passed on",
    read=read_modelnet10,
    files=("modelnet10_voxels/modelnet10_voxels.npz",),
    default_parties=4,
    party_numbers=(2, 3, 4),
)
