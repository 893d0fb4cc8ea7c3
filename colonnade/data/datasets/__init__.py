"""The data sets that Colonnade knows by name."""

from colonnade.data.datasets.bhi import BHI
from colonnade.data.datasets.bundled import BREAST_CANCER, DIABETES, DIGITS, DIGITS_HALVES, WINE
from colonnade.data.datasets.cifar import CIFAR10, CIFAR10_HALVES
from colonnade.data.datasets.click import AVAZU, CRITEO, MOVIELENS1M
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.folders import IMAGENET100, MODELNET40_4, MODELNET40_12
from colonnade.data.datasets.images import (
    FASHION_MNIST,
    FASHION_MNIST_HALVES,
    KMNIST,
    KMNIST_HALVES,
    MNIST,
    MNIST_HALVES,
    MODELNET10,
)
from colonnade.data.datasets.multiview import CALTECH101_20, LANDUSE21, MFEAT, MNIST10K_MULTIVIEW, REUTERS
from colonnade.data.datasets.people import ADULT, CREDIT_DEFAULT
from colonnade.data.datasets.rendered import (
    MODELNET10_4,
    MODELNET10_4_SILHOUETTES,
    MODELNET10_12,
    MODELNET10_12_SILHOUETTES,
)
from colonnade.data.datasets.tabular import (
    COVTYPE20K,
    COVTYPE20K_BINARY,
    PHISHING,
    SUPERCONDUCT,
    UJIINDOORLOC,
    UJIINDOORLOC_ALL,
    UJIINDOORLOC_LONGITUDE,
)
from colonnade.errors import ConfigError, did_you_mean

DATASETS: dict[str, Dataset] = {
    "digits": DIGITS,
    "digits-halves": DIGITS_HALVES,
    "breast_cancer": BREAST_CANCER,
    "diabetes": DIABETES,
    "wine": WINE,
    "mfeat": MFEAT,
    "caltech101_20": CALTECH101_20,
    "reuters": REUTERS,
    "landuse21": LANDUSE21,
    "mnist10k_multiview": MNIST10K_MULTIVIEW,
    "phishing": PHISHING,
    "covtype20k": COVTYPE20K,
    "covtype20k-binary": COVTYPE20K_BINARY,
    "superconduct": SUPERCONDUCT,
    "ujiindoorloc": UJIINDOORLOC,
    "ujiindoorloc-longitude": UJIINDOORLOC_LONGITUDE,
    "ujiindoorloc-all": UJIINDOORLOC_ALL,
    "credit_default": CREDIT_DEFAULT,
    "adult": ADULT,
    "criteo": CRITEO,
    "avazu": AVAZU,
    "movielens1m": MOVIELENS1M,
    "mnist": MNIST,
    "fashion_mnist": FASHION_MNIST,
    "modelnet10": MODELNET10,
    "mnist-halves": MNIST_HALVES,
    "fashion_mnist-halves": FASHION_MNIST_HALVES,
    "kmnist": KMNIST,
    "kmnist-halves": KMNIST_HALVES,
    "cifar10": CIFAR10,
    "cifar10-halves": CIFAR10_HALVES,
    "modelnet10-4": MODELNET10_4,
    "modelnet10-12": MODELNET10_12,
    "modelnet10-4-silhouettes": MODELNET10_4_SILHOUETTES,
    "modelnet10-12-silhouettes": MODELNET10_12_SILHOUETTES,
    "modelnet40-4": MODELNET40_4,
    "modelnet40-12": MODELNET40_12,
    "bhi": BHI,
    "imagenet100": IMAGENET100,
}


def dataset(name: str) -> Dataset:
    """The data set of that name."""
    if name not in DATASETS:
        raise ConfigError(f"dataset {name!r} does not exist. {did_you_mean(name, DATASETS)}")
    return DATASETS[name]


__all__ = ["DATASETS", "Dataset", "dataset"]
