"""Data sets whose objects are described in several ways: one description per party.

All rows are aligned; their ids are the row numbers of the file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from colonnade.data.datasets.columns import numeric
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.vertical import VerticalData

_MFEAT = ("pix", "fou", "mor", "fac", "kar", "zer")


def read_mfeat(parties: int, path: Path) -> VerticalData:
    """2,000 numerals; parties pix 240, fou 76, mor 6, and with six parties fac 216, kar 64, zer 47. UCI 72."""
    with np.load(path) as z:
        views = {name: numeric(z[name], prefix=name) for name in _MFEAT[:parties]}
        return VerticalData(views, z["y"].astype(np.int64))


def read_caltech101_20(parties: int, path: Path) -> VerticalData:
    """2,386 photographs; parties gabor 48, wm 40, centrist 254, hog 1984, gist 512, lbp 928. Caltech-101.

    HOG and GIST come back from 8 bits (divided by 100 and 400); the histograms are square roots of counts.
    """
    with np.load(path) as z:
        views = {
            "gabor": z["gabor"].astype(np.float32),
            "wm": z["wm"].astype(np.float32),
            "centrist": np.sqrt(z["centrist"].astype(np.float32)),
            "hog": z["hog_x100"] / np.float32(100),
            "gist": z["gist_x400"] / np.float32(400),
            "lbp": np.sqrt(z["lbp"].astype(np.float32)),
        }
        y = np.unique(z["y"], return_inverse=True)[1]  # 0 … 19
    return VerticalData({name: numeric(x, prefix=name) for name, x in views.items()}, y)


def read_reuters(parties: int, path: Path) -> VerticalData:
    """1,200 documents in five languages; parties language1 … language5 hold 2,000 word counts each. UCI 259.

    The file does not say which language is which, so they are numbered.
    """
    from scipy.io import loadmat

    mat = loadmat(path)
    views = {f"language{k}": numeric(mat["fea"][0, k - 1].toarray(), prefix="term") for k in range(1, 6)}
    return VerticalData(views, mat["gt"].ravel().astype(np.int64) - 1)


def read_landuse21(parties: int, path: Path) -> VerticalData:
    """2,100 aerial photographs; parties gist 20, phog 59, lbp 40. UC Merced."""
    from scipy.io import loadmat

    mat = loadmat(path)
    views = {name: numeric(mat["X"][0, k], prefix=name) for k, name in enumerate(("gist", "phog", "lbp"))}
    return VerticalData(views, mat["Y"].ravel().astype(np.int64) - 1)


def read_mnist10k_multiview(parties: int, path: Path) -> VerticalData:
    """10,000 digits; parties iso 30, lda 9, npe 30. Computed from the MNIST test images."""
    with np.load(path) as z:
        views = {name: numeric(z[name], prefix=name) for name in ("iso", "lda", "npe")}
        return VerticalData(views, z["y"].astype(np.int64))


MFEAT = Dataset(
    name="mfeat",
    title="handwritten numerals described in several ways (Multiple Features)",
    parties="pix: pixel averages, fou: Fourier coefficients, mor: morphology; "
    "with 6 parties also fac: profile correlations, kar: Karhunen-Loeve, zer: Zernike moments",
    task="multiclass",
    metric="accuracy",
    source="UCI 72, Multiple Features (six text files, here as the arrays pix, fou, mor, fac, kar, zer, y of one npz)",
    terms="CC BY 4.0",
    read=read_mfeat,
    files=("mfeat/mfeat.npz",),
    default_parties=3,
    party_numbers=(3, 6),
)

CALTECH101_20 = Dataset(
    name="caltech101_20",
    title="photographs of 20 kinds of objects, six image descriptors",
    parties="gabor, wm: wavelet moments, centrist, hog, gist, lbp: one descriptor each",
    task="multiclass",
    metric="accuracy",
    source="CaltechDATA D1.20086, Caltech-101 (Fei-Fei, Fergus, Perona); descriptors computed from the 20-class subset",
    terms="CC BY 4.0",
    read=read_caltech101_20,
    files=("caltech101_20/caltech101_20.npz",),
    default_parties=6,
    party_numbers=(6,),
)

REUTERS = Dataset(
    name="reuters",
    title="news in five languages, six topics",
    parties="language1 … language5: the document's words in one language each",
    task="multiclass",
    metric="accuracy",
    source="UCI 259, Reuters RCV1/RCV2 Multilingual (Amini, Usunier, Goutte 2009); the 1,200-document version",
    terms="research use",
    read=read_reuters,
    files=("reuters_multilingual/reuters1200.mat",),
    default_parties=5,
    party_numbers=(5,),
)

LANDUSE21 = Dataset(
    name="landuse21",
    title="aerial photographs of 21 kinds of land use, three image descriptors",
    parties="gist, phog, lbp: one descriptor each",
    task="multiclass",
    metric="accuracy",
    source="UC Merced Land Use (Yang, Newsam 2010) as the multi-view file LandUse-21",
    terms="research use",
    read=read_landuse21,
    files=("landuse21/landuse21.mat",),
    default_parties=3,
    party_numbers=(3,),
)

MNIST10K_MULTIVIEW = Dataset(
    name="mnist10k_multiview",
    title="10,000 MNIST digits, three projections (LDA saw all labels: scores are optimistic)",
    parties="iso: IsoProjection, lda: linear discriminants, npe: neighbourhood preserving embedding",
    task="multiclass",
    metric="accuracy",
    source="computed from the MNIST test images (LeCun, Cortes, Burges); arrays iso, lda, npe, y",
    terms="those of MNIST: CC BY-SA 3.0",
    read=read_mnist10k_multiview,
    files=("mnist10k_multiview/mnist10k_multiview.npz",),
    default_parties=3,
    party_numbers=(3,),
)
