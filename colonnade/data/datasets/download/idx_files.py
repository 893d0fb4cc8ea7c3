"""The gzipped idx files of MNIST and its relatives, with the checksums that TensorFlow Datasets publishes."""

from __future__ import annotations

from colonnade.data.datasets.download.origin import Remote

_TRAIN_IMAGES, _TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
_TEST_IMAGES, _TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"

_MNIST = (  # the mirrors of yann.lecun.com that torchvision and TensorFlow Datasets use
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_KMNIST = ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",)
_FASHION = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)


def _file(folders: tuple[str, ...], name: str, size: int, sha256: str) -> Remote:
    return Remote(name=name, urls=tuple(folder + name for folder in folders), size=size, sha256=sha256)


MNIST_TEST = (
    _file(_MNIST, _TEST_IMAGES, 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    _file(_MNIST, _TEST_LABELS, 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
MNIST_FILES = (
    _file(_MNIST, _TRAIN_IMAGES, 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    _file(_MNIST, _TRAIN_LABELS, 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    *MNIST_TEST,
)
KMNIST_FILES = (
    _file(_KMNIST, _TRAIN_IMAGES, 18_165_135, "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"),
    _file(_KMNIST, _TRAIN_LABELS, 29_497, "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"),
    _file(_KMNIST, _TEST_IMAGES, 3_041_136, "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"),
    _file(_KMNIST, _TEST_LABELS, 5_120, "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"),
)
FASHION_TRAINING = (
    _file(_FASHION, _TRAIN_IMAGES, 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
    _file(_FASHION, _TRAIN_LABELS, 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
)
