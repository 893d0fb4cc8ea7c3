"""Every data set, where its files are there: parties, sizes, labels, and no row in two parts."""

import gzip
import itertools
import re
import subprocess
import sys

import numpy as np
import pytest

from colonnade.data.datasets import DATASETS, Dataset, dataset
from colonnade.data.datasets.columns import blocks, numeric, quadrants
from colonnade.data.datasets.images import _silhouette
from colonnade.errors import ConfigError, DataError, MissingDependencyError

ROWS = {  # rows of the split data, official test rows or None
    "digits": (1797, None),
    "digits-halves": (1797, None),
    "breast_cancer": (569, None),
    "diabetes": (442, None),
    "wine": (178, None),
    "mfeat": (2000, None),
    "caltech101_20": (2386, None),
    "reuters": (1200, None),
    "landuse21": (2100, None),
    "mnist10k_multiview": (10000, None),
    "phishing": (11055, None),
    "covtype20k": (20000, None),
    "covtype20k-binary": (20000, None),
    "superconduct": (21263, None),
    "ujiindoorloc": (19937, 1111),
    "ujiindoorloc-longitude": (19937, 1111),
    "ujiindoorloc-all": (21048, None),
    "credit_default": (30000, None),
    "adult": (32561, 16281),
    "criteo": (20000, None),
    "avazu": (8999, None),
    "movielens1m": (1000209, None),
    "mnist": (60000, 10000),
    "fashion_mnist": (10000, None),
    "modelnet10": (3991, 908),
    "mnist-halves": (60000, 10000),
    "fashion_mnist-halves": (10000, None),
    "kmnist": (60000, 10000),
    "kmnist-halves": (60000, 10000),
    "cifar10": (50000, 10000),
    "cifar10-halves": (50000, 10000),
    "modelnet10-4": (3991, 908),
    "modelnet10-12": (3991, 908),
    "modelnet10-4-silhouettes": (3991, 908),
    "modelnet10-12-silhouettes": (3991, 908),
    "modelnet40-4": (9843, 2468),
    "modelnet40-12": (9843, 2468),
    "bhi": None,  # as found
    "imagenet100": None,
}
BLOCKS = [("diabetes", 5), ("wine", 4), ("phishing", 10), ("covtype20k", 4), ("superconduct", 8), ("superconduct", 10)]
NATURAL = [("breast_cancer", 3), ("mfeat", 6), ("mnist", 2), ("fashion_mnist", 2), ("modelnet10", 3), ("avazu", 3)]


def there(name: str) -> Dataset:
    found = dataset(name)
    if not found.available():
        pytest.skip(f"COLONNADE_DATA does not name a folder with {', '.join(found.files)}")
    return found


@pytest.fixture
def needs_file() -> Dataset:
    return DATASETS["ujiindoorloc"]


def test_every_dataset_is_listed_under_its_name_and_described():
    assert list(ROWS) == list(DATASETS)
    for name, one in DATASETS.items():
        assert one.name == name
        assert all((one.title, one.parties, one.source, one.terms)) and "\n" not in one.title
        assert one.party_numbers is None or one.default_parties in one.party_numbers


@pytest.mark.parametrize("name", [name for name, rows in ROWS.items() if rows])
def test_a_split_has_the_rows_parties_and_labels_that_were_asked_for(name):
    one = there(name)
    parts = one(labels=60, seed=3)
    rows, official = ROWS[name]
    assert len(parts.train.views) == one.default_parties
    assert parts.train.active == next(iter(parts.train.views))
    assert {part.task for part in (parts.train, parts.valid, parts.test)} == {one.task}
    assert len(parts.train.labels) == 60
    assert 0 < len(parts.valid.labels) <= 60
    test = official or round(one.test_share * rows)
    assert abs(len(parts.test.aligned) - test) <= (0 if official else 11)
    assert len(parts.test.labels) == len(parts.test.aligned)
    assert abs(len(parts.train.aligned) - (rows * 0.8 if official else rows * (0.8 - one.test_share))) <= 22
    for party in parts.train.views:
        for one_part, other in itertools.combinations((parts.train, parts.valid, parts.test), 2):
            assert len(np.intersect1d(one_part.views[party].ids, other.views[party].ids)) == 0
    if one.task == "regression":
        assert parts.test.labels.values.min() >= 0 and parts.test.labels.values.max() <= 1
    else:
        np.testing.assert_array_equal(parts.train.classes, np.arange(len(parts.train.classes)))
        assert set(parts.test.classes) <= set(parts.train.classes)


def test_partly_aligned_rows_share_no_id_with_the_held_out_rows():
    parts = DATASETS["digits"](aligned=0.5, seed=1)
    for party in parts.train.views:
        for held_out in (parts.valid, parts.test):
            assert len(np.intersect1d(parts.train.views[party].ids, held_out.views[party].ids)) == 0


@pytest.mark.parametrize(("name", "parties"), BLOCKS)
def test_blocks_share_all_columns_out_evenly(name, parties):
    one = there(name)
    whole, parted = one.load(), one.load(parties=parties)
    widths = [view.width for view in parted.views.values()]
    assert len(widths) == parties
    assert sum(widths) == sum(view.width for view in whole.views.values())
    if name != "superconduct" or parties > 8:
        assert max(widths) - min(widths) <= 1


@pytest.mark.parametrize(("name", "parties"), NATURAL)
def test_natural_divisions(name, parties):
    assert len(there(name)(parties=parties).train.views) == parties


def test_load_gives_the_official_test_rows_too():
    data = there("adult").load()
    assert len(data.aligned) == 32561 + 16281 == len(data.labels)
    categories = ("education", "marital-status", "relationship", "race", "sex", "native-country")
    assert data.views["person"].fields == categories
    assert (data.views["work"].codes == -1).sum() + (data.views["person"].codes == -1).sum() == 6465


def test_official_test_rows_have_the_columns_of_the_training_rows():
    parts = there("ujiindoorloc")()
    widths = [view.width for view in parts.train.views.values()]
    assert sum(widths) == 465 and widths == [view.width for view in parts.test.views.values()]
    assert max(view.x.max() for view in parts.train.views.values()) == 0
    assert min(view.x.min() for view in parts.test.views.values()) == -105


def test_all_of_ujiindoorloc_is_split_nine_to_one():
    parts = there("ujiindoorloc-all")()
    rows = len(parts.test.labels)
    assert rows == 2105 and len(parts.train.aligned) == 21048 - rows - round(0.2 * 21048)
    columns = [name for view in parts.train.views.values() for name in view.columns]
    assert len(columns) == 528 and "LATITUDE" in columns and "LONGITUDE" not in columns
    assert parts.train.labels.values.min() >= 0 and parts.train.labels.values.max() <= 1


def test_images_stay_bytes():
    one = there("mnist")
    data = one.load()
    assert {view.x.shape for view in data.views.values()} == {(70000, 1, 14, 14)}
    assert {view.x.dtype for view in data.views.values()} == {np.dtype(np.uint8)}


def test_the_active_party_of_criteo_holds_the_categories():
    data = there("criteo").load()
    assert data.active == "categorical" and len(data.views["categorical"].fields) == 26
    assert data.views["numeric"].columns == tuple(f"I{i}" for i in range(1, 14))


def test_numeric_drops_what_is_constant_in_training_rows():
    x = np.array([[1, 5, 0], [1, 6, 0], [2, 7, 3]])
    assert numeric(x, ["a", "b", "c"], train=2).columns == ("b",)
    assert numeric(x, ["a", "b", "c"]).columns == ("a", "b", "c")


def test_blocks_are_contiguous():
    view = numeric(np.random.default_rng(0).normal(size=(4, 5)))
    assert [v.columns for v in blocks(view, 2).values()] == [("x1", "x2", "x3"), ("x4", "x5")]


def test_quadrants_put_together_are_the_image():
    images = np.random.default_rng(0).integers(0, 256, (3, 6, 8), dtype=np.uint8)
    q = {name: part[:, 0] for name, part in quadrants(images).items()}
    np.testing.assert_array_equal(np.block([[q["nw"], q["ne"]], [q["sw"], q["se"]]]), images)


def test_oblique_silhouette_against_a_loop():
    cells = np.random.default_rng(0).random((2, 30, 30, 30)) < 0.002
    expected = np.zeros((2, 30, 30), dtype=np.uint8)
    for n, x, y, z in zip(*np.nonzero(cells), strict=True):
        expected[n, (y - x + 29) // 2, z] = 1
    np.testing.assert_array_equal(_silhouette(cells.astype(np.uint8), "oblique"), expected)


def test_unknown_name():
    with pytest.raises(ConfigError, match=r"dataset 'digit' does not exist\. Did you mean 'digits'\?"):
        dataset("digit")


def test_absent_files_with_the_variable_unset(monkeypatch, tmp_path, needs_file):
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not needs_file.available() and DATASETS["wine"].available()
    with pytest.raises(DataError) as caught:
        needs_file()
    text = str(caught.value)
    folder = tmp_path / "colonnade" / "data"
    assert f"2 of 2 files not found in {folder}; COLONNADE_DATA is not set, so this is the default folder" in text
    assert "Get it: colonnade data get ujiindoorloc\n" in text
    assert "It comes from: UCI 310" in text and "Terms: CC BY 4.0" in text
    assert "set COLONNADE_DATA to the folder that has it, or put the data here:" in text
    assert f"  {folder}/ujiindoorloc/trainingData.csv.gz\n  {folder}/ujiindoorloc/validationData.csv.gz" in text


def test_the_default_folder_is_searched(monkeypatch, tmp_path):
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not DATASETS["phishing"].available()
    place = tmp_path / "colonnade" / "data" / "phishing" / "phishing.libsvm.gz"
    place.parent.mkdir(parents=True)
    place.write_bytes(gzip.compress(b"0 1:1 3:1\n1 1:1 4:1\n0 2:1 4:1\n1 2:1 3:1\n" * 10))
    assert DATASETS["phishing"].available() and len(DATASETS["phishing"].load().labels) == 40


def test_absent_files_name_their_place(monkeypatch, tmp_path, needs_file):
    monkeypatch.setenv("COLONNADE_DATA", str(tmp_path))
    (tmp_path / "ujiindoorloc").mkdir()
    (tmp_path / needs_file.files[0]).touch()
    with pytest.raises(DataError) as caught:
        needs_file.load()
    text = str(caught.value)
    assert f"1 of 2 files not found in {tmp_path}; COLONNADE_DATA is set to {str(tmp_path)!r}" in text
    assert str(tmp_path / needs_file.files[1]) in text and str(tmp_path / needs_file.files[0]) not in text


@pytest.mark.parametrize("name", [name for name, one in DATASETS.items() if one.files])
def test_broken_files_say_where_to_get_them(name, monkeypatch, tmp_path):
    monkeypatch.setenv("COLONNADE_DATA", str(tmp_path))
    for file in DATASETS[name].files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"\x1f\x8b not what it should be")
    with pytest.raises(
        DataError, match=rf"could not be read .*Fetch it again from its source .*colonnade data get {re.escape(name)}"
    ):
        DATASETS[name]()


def test_more_parties_than_columns():
    with pytest.raises(ConfigError, match=r"parties=14 is more than the 13 columns .* Use at most 13\."):
        DATASETS["wine"](parties=14)


@pytest.mark.parametrize("parties", [1, 0, 2.5, True])
def test_a_number_of_parties_that_is_none(parties):
    with pytest.raises(ConfigError, match="parties must be a whole number of at least 2"):
        DATASETS["wine"](parties=parties)


def test_parties_that_make_no_sense():
    with pytest.raises(ConfigError, match=r"'mfeat' is divided among 3 or 6 parties .* Got parties=4\. .* for 3\."):
        DATASETS["mfeat"](parties=4)


def test_an_absent_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingDependencyError, match="dataset 'wine' needs the package 'scikit-learn'"):
        DATASETS["wine"]()


def test_importing_needs_numpy_and_torch_alone():
    code = (
        "import sys, colonnade.data.datasets, colonnade.data.description\n"
        "assert not {'pandas', 'sklearn', 'scipy', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
