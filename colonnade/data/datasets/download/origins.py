"""The origin of every data set that needs files, by the first folder of its layout.

Checksums of sources are those that scikit-learn or TensorFlow Datasets publish; where a comment says so, those that
public pipelines record. Digests of rows were taken from the files behind the published results.
"""

from __future__ import annotations

from colonnade.data.datasets.cifar import CIFAR10
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.download import tables
from colonnade.data.datasets.download.convert import compressed, copied, first_lines, untarred, unzipped
from colonnade.data.datasets.download.idx_files import FASHION_TRAINING, KMNIST_FILES, MNIST_FILES, MNIST_TEST
from colonnade.data.datasets.download.mnist_views import mnist_views
from colonnade.data.datasets.download.origin import ByHand, Origin, Remote

_UCI = "https://archive.ics.uci.edu/static/public"
_KAGGLE = "an account at Kaggle, which has accepted the terms, is needed."

ORIGINS: dict[str, Origin | ByHand] = {
    "mfeat": Origin(
        remotes=(Remote(name="mfeat.zip", urls=(f"{_UCI}/72/multiple+features.zip",)),),
        make=tables.mfeat,
        rows="271ca903f7eb21cec57ede26631ee8355f040d285207aa5848f05f57ffbd8b6f",
    ),
    "landuse21": Origin(
        remotes=(
            Remote(
                name="LandUse-21.mat",
                urls=(
                    "https://raw.githubusercontent.com/XLearning-SCU/2021-CVPR-Completer/"
                    "ad37110046234341dab63b0ed0c862680a69e27a/data/LandUse-21.mat",
                ),
                size=1_609_900,
                sha256="6441fc42e84a83729e5a6436f4c1544dcc3fe115558458495b165677a732b67f",
            ),
        ),
        make=copied({"landuse21/landuse21.mat": "LandUse-21.mat"}),
        rows="ee35d8319cdaf5ec349a77206df6d79d35787f88a0a8dda1e0cccebefb0a92a7",
    ),
    "mnist10k_multiview": Origin(
        remotes=MNIST_TEST,
        make=mnist_views,
        note="The projections are computed here: one or two minutes, and 1.2 GB of memory. They agree with those "
        "of the published results to within rounding.",
    ),
    "phishing": Origin(
        remotes=(
            Remote(
                name="phishing",
                urls=("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/phishing",),
            ),
        ),
        make=compressed("phishing/phishing.libsvm.gz", "phishing"),
        rows="f378a2f39ed7932d7be0d671793dc0b022cc52a21c3993cbb0ae83b30bae0fbf",
    ),
    "covtype20k": Origin(
        remotes=(
            Remote(
                name="covtype.data.gz",
                urls=(
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
                    "https://ndownloader.figshare.com/files/5976039",
                ),
                sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
            ),
        ),
        make=first_lines("covtype20k/covtype.20k.data.gz", "covtype.data.gz", 20_000),
        rows="e33f094179b65538ab95c57baf69248a748522e8385ff176b71418d50831bb11",
    ),
    "superconduct": Origin(
        remotes=(
            Remote(
                name="superconduct.zip",
                urls=(f"{_UCI}/464/superconductivty+data.zip",),  # the spelling is UCI's
                size=8_300_005,
                sha256="87f4490d73390ff94ee01dbf0d7d32abc80b22f2c803d471765cfc46a9f6371e",  # as pipelines record it
            ),
        ),
        make=tables.superconduct,
        rows="2ef95e08d051e9955b8356a0e38d07eec7184dfe498397b5111b00977fc04c85",
        ordered=False,
        note="The rows are in UCI's order, those behind the published results in another: the same seed draws another "
        "split.",
    ),
    "ujiindoorloc": Origin(
        remotes=(
            Remote(
                name="ujiindoorloc.zip",
                urls=(f"{_UCI}/310/ujiindoorloc.zip",),
                sha256="893512b82dfd7a7c345d84195b1c8019fbca0fa0d7820ce491ce5aa45ec3782f",  # as pipelines record it
            ),
        ),
        make=unzipped(
            "ujiindoorloc.zip",
            {f"ujiindoorloc/{name}.csv.gz": f"{name}.csv" for name in ("trainingData", "validationData")},
        ),
        rows="b0acb8a60accd3596b8fdd6ef9abd57aba42c4c4ede20b3ea5e0c01da033b142",
    ),
    "credit_default": Origin(
        remotes=(
            Remote(
                name="data.csv",
                urls=(f"{_UCI}/350/data.csv",),
                size=2_897_080,
                sha256="45bcf4df62ff2e237a74eb155cabfb4bbbc171219a0637daef44fdad07503dd0",  # as pipelines record it
            ),
        ),
        make=tables.credit,
        rows="52d4147bea4688bf6fb897310464e66a225508164b58064ebbb0a287d5189038",
    ),
    "adult": Origin(
        remotes=(
            Remote(
                name="adult.zip",
                urls=(f"{_UCI}/2/adult.zip",),
                sha256="7537312dd56c2b98035880805ce99e68183a30ee468aa5329d6df0fbb3cc21bb",  # as pipelines record it
            ),
        ),
        make=unzipped("adult.zip", {f"adult/{name}.gz": name for name in ("adult.data", "adult.test")}),
        rows="c90c5f624dc447c4a6fffe45df3c2a9f4ebf0e6314e2777ef5b452972fbdf9d0",
    ),
    "movielens1m": Origin(
        remotes=(
            Remote(
                name="ml-1m.zip",
                urls=("https://files.grouplens.org/datasets/movielens/ml-1m.zip",),
                size=5_917_549,
                sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
            ),
        ),
        make=tables.movielens,
        rows="48e4137a8f7f1f393b778e671a99107305f4f150c6517d30b772caf93023682f",
        accept=True,
    ),
    "mnist": Origin(
        remotes=MNIST_FILES,
        make=copied({f"mnist/{one.name}": one.name for one in MNIST_FILES}),
        rows="18224a7a28fdc4bd07b442ef514aa979ca56fd270ee734425eeb504fd069269f",
    ),
    "kmnist": Origin(remotes=KMNIST_FILES, make=copied({f"kmnist/{one.name}": one.name for one in KMNIST_FILES})),
    "fashion_mnist10k": Origin(
        remotes=FASHION_TRAINING,
        make=tables.fashion,
        rows="d4dea50e6a9ee581e0b964156c9cf68a1632689d1f1bd928daf98b6f24ab7dcf",
        note="These are the first 1,000 training images of each class. The published results used 1,000 of each class "
        "from a copy that was sorted by class; whether they are the same is checked.",
    ),
    "cifar-10-batches-bin": Origin(
        remotes=(
            Remote(
                name="cifar-10-binary.tar.gz",
                urls=("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                size=170_052_171,
                sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        make=untarred(
            "cifar-10-binary.tar.gz",
            "cifar-10-batches-bin",
            tuple(file.rpartition("/")[2] for file in CIFAR10.files),
        ),
    ),
    "caltech101_20": ByHand(
        why="Not all settings of the six image descriptors were recorded, so new ones would be other numbers under "
        "this name.",
        where="The images are at https://data.caltech.edu/records/mzrjq-6wc02. The file with the descriptors is not "
        "published.",
    ),
    "reuters_multilingual": ByHand(
        why="How the 1,200 of the 18,758 documents were drawn is not documented.",
        where="The whole collection is UCI 259; the 1,200-document file (fea, gt) goes round with code for multi-view "
        "clustering.",
    ),
    "criteo_sample": ByHand(
        why=f"The rows were encoded with a vocabulary of the whole challenge's data; for those {_KAGGLE}",
        where="The challenge is at https://www.kaggle.com/c/criteo-display-ad-challenge. The encoded file is not "
        "published.",
    ),
    "avazu_sample": ByHand(
        why=f"It is from a competition: {_KAGGLE}",
        where="https://www.kaggle.com/c/avazu-ctr-prediction/data: 8,999 consecutive rows of hour 14102100 of train, "
        "with the header, gzipped.",
    ),
    "modelnet10_voxels": ByHand(
        why="How the meshes were made into 30 x 30 x 30 cells was not recorded, so new grids would be other data "
        "under this name.",
        where="The meshes are at https://modelnet.cs.princeton.edu. The file with the grids is not published.",
    ),
    "modelnet40v1": ByHand(
        why="No checksum of the archive of views is known, and its server offers it without https.",
        where="http://maxwell.cs.umass.edu/mvcnn-data/modelnet40v1.tar, the archive of the MVCNN paper; unpack it.",
    ),
    "bhi": ByHand(
        why=f"It is on Kaggle: {_KAGGLE}",
        where="https://www.kaggle.com/datasets/paultimothymooney/breast-histopathology-images, unpacked there.",
    ),
    "imagenet100": ByHand(
        why="ImageNet is given only to persons who have registered and accepted its terms.",
        where="https://image-net.org/download.php; put 100 class folders of the training images there.",
    ),
}


def origin_of(data: Dataset) -> Origin | ByHand | None:
    """Where the files of a data set come from; None for those that scikit-learn brings along."""
    return ORIGINS[data.files[0].partition("/")[0]] if data.files else None
