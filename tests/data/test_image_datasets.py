"""Image data sets: small files in the authors' layout, bad ones among them, and the real files where they are there."""

from __future__ import annotations

import gzip
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colonnade.data.datasets import DATASETS, cache, rendered
from colonnade.data.datasets.bhi import bhi
from colonnade.data.datasets.folders import imagenet100, modelnet40
from colonnade.errors import ConfigError, DataError, MissingDependencyError

RNG = np.random.default_rng(0)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data sets, and a cache of its own."""
    monkeypatch.setenv("COLONNADE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLONNADE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def save(path: Path, size: tuple[int, int] = (50, 50), fill: Any = None, mode: str = "RGB") -> Path:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    pixels = RNG.integers(0, 256, shape, dtype=np.uint8) if fill is None else np.full(shape, fill, dtype=np.uint8)
    image.fromarray(pixels).save(path)
    return path


def message(name: str, error: type[Exception] = DataError) -> str:
    with pytest.raises(error) as caught:
        DATASETS[name].load()
    return str(caught.value)


# idx files: MNIST, KMNIST ---------------------------------------------------------------------------------------------


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()


def write_kmnist(root: Path, train: int = 30, test: int = 10) -> np.ndarray:
    images = RNG.integers(0, 256, (train + test, 28, 28), dtype=np.uint8)
    y = (np.arange(train + test) % 10).astype(np.uint8)
    (root / "kmnist").mkdir()
    arrays = (images[:train], y[:train], images[train:], y[train:])
    for file, array in zip(DATASETS["kmnist"].files, arrays, strict=True):
        (root / file).write_bytes(gzip.compress(idx(array)))
    return images


def test_kmnist_quarters_and_halves_are_the_image(root: Path) -> None:
    images = write_kmnist(root)
    q = {name: view.x[:, 0] for name, view in DATASETS["kmnist"].load().views.items()}
    np.testing.assert_array_equal(np.block([[q["nw"], q["ne"]], [q["sw"], q["se"]]]), images)
    data = DATASETS["kmnist-halves"].load()
    assert [view.x.shape for view in data.views.values()] == [(40, 1, 28, 14)] * 2
    np.testing.assert_array_equal(np.concatenate([v.x[:, 0] for v in data.views.values()], axis=2), images)
    np.testing.assert_array_equal(DATASETS["kmnist-halves"]().test.labels.ids, np.arange(30, 40))  # the official ones


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x00\x00\x0d\x01\x00\x00\x00\x01" + b"1234", "train-labels-idx1-ubyte.gz does not begin as an idx file"),
        (b"\x00\x00\x08\x03\x00\x00", "ends before its sizes do"),
        (idx(np.zeros(30, np.uint8))[:-1], r"says it holds \[30\] bytes, but 29 follow"),
        (idx(np.zeros(29, np.uint8)), r"of shape \(30, 28, 28\) and .* of shape \(29,\) do not fit together"),
    ],
)
def test_broken_idx_files(root: Path, raw: bytes, text: str) -> None:
    write_kmnist(root)
    (root / DATASETS["kmnist"].files[1]).write_bytes(gzip.compress(raw))
    with pytest.raises(DataError, match=text):
        DATASETS["kmnist"].load()


# CIFAR-10 -------------------------------------------------------------------------------------------------------------


def write_cifar(root: Path, each: int = 4) -> np.ndarray:
    (root / "cifar-10-batches-bin").mkdir()
    batches = RNG.integers(0, 256, (6, each, 3073), dtype=np.uint8)
    batches[:, :, 0] %= 10
    for file, batch in zip(DATASETS["cifar10"].files, batches, strict=True):
        batch.tofile(root / file)
    return batches.reshape(-1, 3073)


def test_cifar10_from_the_binary_version(root: Path) -> None:
    records = write_cifar(root)
    images = records[:, 1:].reshape(-1, 3, 32, 32)
    q = {name: view.x for name, view in DATASETS["cifar10"].load().views.items()}
    np.testing.assert_array_equal(np.block([[q["nw"], q["ne"]], [q["sw"], q["se"]]]), images)
    data = DATASETS["cifar10-halves"].load()
    np.testing.assert_array_equal(np.concatenate([v.x for v in data.views.values()], axis=3), images)
    np.testing.assert_array_equal(data.labels.values, records[:, 0])
    train, test = DATASETS["cifar10"].read(4, *(root / file for file in DATASETS["cifar10"].files))
    assert (len(train.labels), len(test.labels)) == (20, 4)


def test_cifar10_pickles_are_not_read(root: Path) -> None:
    assert "6 of 6 files not found" in message("cifar10") and "made of pickles" not in message("cifar10")
    (root / "cifar-10-batches-py").mkdir()
    assert "made of pickles, which run code" in message("cifar10") and "cifar-10-binary.tar.gz" in message("cifar10")


def test_cifar10_bad_records(root: Path) -> None:
    write_cifar(root)
    path = root / DATASETS["cifar10"].files[2]
    path.write_bytes(path.read_bytes()[:-1])
    assert "data_batch_3.bin has 12291 bytes, which is no multiple of the 3073" in message("cifar10")
    path.write_bytes(bytes([10]) * 3073)
    assert "data_batch_3.bin has the class 10, but there are 10, from 0" in message("cifar10")


# BHI ------------------------------------------------------------------------------------------------------------------


def write_bhi(root: Path) -> None:
    """Patches of one grey value: tens the patient, units the number; patient 8 has 5 and 2, patient 9 has 4 and 3."""
    for patient, counts in ((8, (5, 2)), (9, (4, 3))):
        for label, count in enumerate(counts):
            for i in range(count):
                name = f"{patient}_idx5_x{i + 1}_y51_class{label}.png"
                save(root / "bhi" / str(patient) / str(label) / name, fill=100 * label + 10 * patient + i)


def test_bhi_pairs_patches_of_one_patient_with_the_same_label(root: Path) -> None:
    write_bhi(root)
    data = bhi(seed=3).load()
    assert [v.x.shape for v in data.views.values()] == [(6, 3, 50, 50)] * 2  # 2 + 1 of patient 8, 2 + 1 of patient 9
    first, second = (view.x[:, 0, 0, 0].astype(int) for view in data.views.values())
    np.testing.assert_array_equal(first // 10, second // 10)  # same label and patient
    np.testing.assert_array_equal(first >= 100 + 80, data.labels.values == 1)
    assert len({*first, *second}) == 12  # no patch twice
    again, other = bhi(seed=3).load(), bhi(seed=4).load()
    np.testing.assert_array_equal(again.views["patch1"].x, data.views["patch1"].x)
    assert (other.views["patch1"].x != data.views["patch1"].x).any()


def test_bhi_knows_the_patient_of_each_row(root: Path) -> None:
    write_bhi(root)
    data = bhi().load()
    patients = data.views["patch1"].x[:, 0, 0, 0].astype(int) % 100 // 10
    assert data.groups is not None and data.groups.values.astype(int).tolist() == patients.tolist()


def test_bhi_leaves_out_what_the_border_cut_short_and_refuses_what_is_too_large(root: Path) -> None:
    write_bhi(root)
    save(root / "bhi/8/1/8_idx5_x51_y51_class1.png", size=(50, 23))
    assert len(DATASETS["bhi"].load().labels) == 6
    for patient in (8, 9):
        save(root / f"bhi/{patient}/1/{patient}_idx5_x1_y51_class1.png", size=(51, 60))
    text = message("bhi")
    assert "2 problems" in text and text.count("51 x 60 pixels, but 50 x 50 are expected") == 2
    assert "8_idx5_x1_y51_class1.png" in text and "9_idx5_x1_y51_class1.png" in text


def test_bhi_misplaced_files(root: Path) -> None:
    write_bhi(root)
    save(root / "bhi/8/0/9_idx5_x1_y1_class0.png")
    save(root / "bhi/8/1/patch.png")
    text = message("bhi")
    assert "2 problems" in text and "the name is not like 8863_idx5_x101_y1251_class0.png" in text
    assert "the name says patient 9 and class 0, the folders 8 and 0" in text


def test_bhi_without_patches_and_with_a_bad_seed(root: Path) -> None:
    (root / "bhi").mkdir()
    assert "holds no patches. They are expected as PATIENT/0/*.png" in message("bhi")
    with pytest.raises(ConfigError, match=r"seed must be a whole number of at least 0\. Got -1"):
        bhi(seed=-1)


def test_many_problems_are_counted(root: Path) -> None:
    write_bhi(root)
    for i in range(30):
        (root / f"bhi/8/0/{i}.png").touch()
    assert "21. and 10 more." in message("bhi")


# ModelNet40 -----------------------------------------------------------------------------------------------------------


def write_modelnet40(root: Path, ending: str = "jpg") -> None:
    """Two kinds, 3 + 1 objects each; view v of object o of class k has the grey value 60 k + 15 o + v."""
    for k, kind in enumerate(("airplane", "bath_tub")):
        for number in range(1, 5):
            part = "train" if number < 4 else "test"
            for view in range(1, 13):
                name = f"{kind}_{number:04}_{view:03}.{ending}"
                save(root / "modelnet40v1" / kind / part / name, (20, 16), 60 * k + 15 * number + view, mode="L")


@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_modelnet40_views_in_their_order(root: Path, ending: str) -> None:
    write_modelnet40(root, ending)
    twelve, four = modelnet40(12, side=8).load(), DATASETS["modelnet40-4"].load()
    assert [v.x.shape for v in twelve.views.values()] == [(8, 1, 8, 8)] * 12
    assert [v.x.shape for v in four.views.values()] == [(8, 3, 64, 64)] * 4
    assert list(twelve.views)[::11] == ["view1", "view12"] and list(four.views)[3] == "views10-12"
    order = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (0, 4), (1, 4)]  # training rows first
    expected = np.array([[60 * k + 15 * o + v for v in range(1, 13)] for k, o in order])
    for data in (twelve, four):
        found = np.concatenate([v.x[:, :, 3, 3] for v in data.views.values()], axis=1)
        np.testing.assert_allclose(found, expected, atol=1)
        np.testing.assert_array_equal(data.labels.values, [k for k, _ in order])


def test_modelnet40_problems_are_named_together(root: Path) -> None:
    write_modelnet40(root)
    folder = root / "modelnet40v1" / "airplane" / "train"
    (folder / "airplane_0001_007.jpg").unlink()
    save(folder / "airplane_0002_003.png", (20, 16), 0, mode="L")
    save(folder / "seven.jpg", (20, 16), 0, mode="L")
    text = message("modelnet40-12")
    assert "3 problems" in text and "seven.jpg: the name does not end in the three digits" in text
    assert "views 001 … 012 are expected. Found 001, 002, 003, 004, 005, 006, 008," in text
    assert "airplane_0002_003.png: this view is also in airplane_0002_003.jpg" in text


def test_modelnet40_unequal_and_broken_images(root: Path) -> None:
    write_modelnet40(root)
    folder = root / "modelnet40v1" / "bath_tub" / "test"
    save(folder / "bath_tub_0004_002.jpg", (16, 20), 0, mode="L")
    (folder / "bath_tub_0004_005.jpg").write_bytes(b"no image")
    text = message("modelnet40-4")
    assert "2 problems" in text and "bath_tub_0004_002.jpg: 16 x 20 pixels, but 20 x 16 are expected" in text
    assert "bath_tub_0004_005.jpg: cannot identify image file" in text


def test_modelnet40_without_test_images(root: Path) -> None:
    (root / "modelnet40v1").mkdir()
    text = message("modelnet40-4")
    assert "holds no train images" in text and "holds no test images" in text
    with pytest.raises(ConfigError, match="parties must be 4 or 12"):
        modelnet40(3)


# ImageNet100 ----------------------------------------------------------------------------------------------------------


def test_imagenet100_central_square_in_halves(root: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for kind in ("n01", "n02"):
        for i in range(3):
            save(root / f"imagenet100/train/{kind}/{kind}_{i}.JPEG", (40 + i, 30))
    pixels = np.zeros((8, 16, 3), dtype=np.uint8)  # the central square is columns 4 … 11
    pixels[:, 4:8], pixels[:, 8:12] = (200, 0, 0), (0, 100, 0)
    (root / "imagenet100/val/n02").mkdir(parents=True)
    image.fromarray(pixels).save(root / "imagenet100/val/n02/a.png")
    data = imagenet100(side=8).load()
    assert [(n, v.x.shape) for n, v in data.views.items()] == [("left", (7, 3, 8, 4)), ("right", (7, 3, 8, 4))]
    np.testing.assert_array_equal(data.labels.values, [0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(data.views["left"].x[6], np.moveaxis(pixels[:, 4:8], 2, 0))
    np.testing.assert_array_equal(data.views["right"].x[6], np.moveaxis(pixels[:, 8:12], 2, 0))
    train, test = DATASETS["imagenet100"].read(2, root / "imagenet100/train")
    assert (len(train.labels), len(test.labels)) == (6, 1) and train.views["left"].x.shape == (6, 3, 64, 32)


def test_imagenet100_bad_input(root: Path) -> None:
    (root / "imagenet100/train/n01").mkdir(parents=True)
    assert "holds no images. They are expected as train/CLASS/*.JPEG" in message("imagenet100")
    save(root / "imagenet100/train/n01/a.JPEG")
    save(root / "imagenet100/val/n09/a.JPEG")
    assert "n09: train has no such class" in message("imagenet100")
    for side in (7, 0, 2.0, True):
        with pytest.raises(ConfigError, match="side must be an even whole number of pixels"):
            imagenet100(side=side)


def test_grey_and_transparent_files_become_colours(root: Path) -> None:
    save(root / "imagenet100/train/n01/grey.png", (9, 9), 77, mode="L")
    save(root / "imagenet100/train/n02/colour.png", (9, 9), 77)
    data = imagenet100(side=4).load()
    assert all((view.x == 77).all() and view.x.shape == (2, 3, 4, 2) for view in data.views.values())


# what all have in common ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kmnist", "cifar10", "bhi", "modelnet40-4", "modelnet40-12", "imagenet100"])
def test_absent_data_sets_say_where_they_come_from(root: Path, name: str) -> None:
    assert not DATASETS[name].available()
    text = message(name)
    assert f"It comes from: {DATASETS[name].source}" in text and "Terms: " in text
    assert all(str(root / file) in text for file in DATASETS[name].files)


def test_absent_pillow_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bhi(root)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "need the package pillow. Install it: pip install 'colonnade[images]'" in message(
        "bhi", MissingDependencyError
    )


def test_importing_does_not_import_pillow() -> None:
    subprocess.run(
        [sys.executable, "-c", "import sys, colonnade.data.datasets; assert 'PIL' not in sys.modules"], check=True
    )


# ModelNet10: rendering and cache --------------------------------------------------------------------------------------


def reference(cells: np.ndarray, view: int) -> np.ndarray:
    """One object (30, 30, 30), one view (32, 32): every occupied cell painted on its own, the nearest last."""
    angle = math.radians(30 * view)
    c, s = math.cos(angle), math.sin(angle)
    out = np.zeros((32, 32), dtype=np.uint8)
    points = [(x - 14.5, y - 14.5, z) for x, y, z in zip(*np.nonzero(cells), strict=True)]
    for x, y, z in sorted(points, key=lambda p: p[0] * c + p[1] * s):
        for column in range(32):
            distance = (column - 15.5) - (y * c - x * s)
            half = (abs(c) + abs(s)) / 2
            if -half - 1e-9 <= distance < half - 1e-9:
                out[30 - z, column] = round(64 + 191 * (x * c + y * s + 16) / 32)
    return out


def blobs(count: int) -> np.ndarray:
    """(N, 30, 30, 30) within the inner 24 cells: a block and scattered cells."""
    cells = np.zeros((count, 30, 30, 30), dtype=np.uint8)
    inner = cells[:, 3:27, 3:27, 3:27]
    inner[RNG.random(inner.shape) < 0.01] = 1
    for n in range(count):
        low = RNG.integers(0, 12, 3)
        inner[n, low[0] : low[0] + 9, low[1] : low[1] + 5, low[2] : low[2] + 3] = 1
    return cells


def packed(cells: np.ndarray) -> np.ndarray:
    return np.packbits(cells.reshape(len(cells), -1), axis=1)


def test_rendering_against_painting_cell_by_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendered, "_CHUNK", 2)
    cells = blobs(3)
    images = rendered.render(packed(cells))
    for n in range(3):
        for view in range(12):
            np.testing.assert_array_equal(images[n, view], reference(cells[n], view))


def test_views_along_the_axes_are_plain_projections_and_opposite_silhouettes_mirror() -> None:
    cells = blobs(2)
    seen = rendered.render(packed(cells)) > 0
    upright = cells.max(axis=1).transpose(0, 2, 1)[:, ::-1]  # (N, Z downwards, Y)
    np.testing.assert_array_equal(seen[:, 0, 1:31, 1:31], upright)
    for view in range(0, 12, 3):
        np.testing.assert_array_equal(seen[:, (view + 6) % 12], seen[:, view, :, ::-1])


def test_a_corner_of_the_inner_cube_is_never_cut_off_and_a_wall_has_no_holes() -> None:
    cells = np.zeros((2, 30, 30, 30), dtype=np.uint8)
    cells[0, 3, 3, 3] = cells[0, 26, 26, 26] = 1
    cells[1, 3:27, 10, 3:27] = 1
    seen = rendered.render(packed(cells)) > 0
    assert (seen[0].any(axis=2).sum(axis=1) == 2).all()
    columns = seen[1].any(axis=1)  # (V, S)
    assert all(np.ptp(np.flatnonzero(row)) + 1 == row.sum() for row in columns)


def write_modelnet10(root: Path, count: int = 20) -> np.ndarray:
    cells = blobs(count)
    y = (np.arange(count) % 10).astype(np.uint8)
    (root / "modelnet10_voxels").mkdir(exist_ok=True)
    bits = packed(cells)
    arrays = {"X_train_bits": bits[:-5], "y_train": y[:-5], "X_test_bits": bits[-5:], "y_test": y[-5:]}
    np.savez(root / DATASETS["modelnet10-4"].files[0], **arrays)
    return cells


def test_modelnet10_parties_and_official_split(root: Path) -> None:
    images = rendered.render(packed(write_modelnet10(root)))
    twelve, four = DATASETS["modelnet10-12"].load(), DATASETS["modelnet10-4"].load()
    for data, channels in ((twelve, 1), (four, 3)):
        assert {v.x.shape for v in data.views.values()} == {(20, channels, 32, 32)}
        np.testing.assert_array_equal(np.concatenate([v.x for v in data.views.values()], axis=1), images)
    train, test = DATASETS["modelnet10-12"].read(12, root / DATASETS["modelnet10-12"].files[0])
    assert (len(train.labels), len(test.labels)) == (15, 5)
    outline = DATASETS["modelnet10-4-silhouettes"].load()
    assert outline.views["views1-3"].x.dtype == np.uint8
    np.testing.assert_array_equal(outline.views["views4-6"].x, 255 * (images[:, 3:6] > 0))
    with pytest.raises(ConfigError, match=r"mode must be 'depth' or 'silhouette'\. Got 'depht'"):
        rendered.read_modelnet10_views(4, root / DATASETS["modelnet10-4"].files[0], mode="depht")  # type: ignore[arg-type]


@pytest.fixture
def renderings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often something is rendered."""
    calls: list[int] = []
    render = rendered.render
    monkeypatch.setattr(rendered, "render", lambda bits: (calls.append(len(bits)), render(bits))[1])
    return calls


def test_views_are_rendered_once_for_all_data_sets(root: Path, renderings: list[int]) -> None:
    write_modelnet10(root)
    first = DATASETS["modelnet10-12"].load()
    for name in ("modelnet10-12", "modelnet10-4", "modelnet10-4-silhouettes"):
        DATASETS[name].load()
    np.testing.assert_array_equal(DATASETS["modelnet10-12"].load().views["view7"].x, first.views["view7"].x)
    assert renderings == [20]
    assert [p.suffix for p in cache.folder().iterdir()] == [".npz"]  # no draft stays behind


def test_another_source_or_setting_is_rendered_anew(root: Path, renderings: list[int], monkeypatch: Any) -> None:
    write_modelnet10(root)
    DATASETS["modelnet10-4"].load()
    write_modelnet10(root)
    DATASETS["modelnet10-4"].load()
    monkeypatch.setattr(rendered, "FAR", 32)
    DATASETS["modelnet10-4"].load()
    assert len(renderings) == 3 == len(list(cache.folder().iterdir()))


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_a_corrupt_cache_file_is_made_again(root: Path, renderings: list[int], damage: str) -> None:
    write_modelnet10(root)
    whole = DATASETS["modelnet10-12"].load()
    (path,) = cache.folder().iterdir()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    if damage == "other":
        np.savez(path, pixels=np.zeros((3, 12, 32, 32), dtype=np.uint8))
    else:
        path.write_bytes({"empty": b"", "cut": bytes(raw[: len(raw) // 3]), "flipped": bytes(raw)}[damage])
    again = DATASETS["modelnet10-12"].load()
    for name, view in whole.views.items():
        np.testing.assert_array_equal(again.views[name].x, view.x)
    assert len(renderings) == 2
    DATASETS["modelnet10-12"].load()
    assert len(renderings) == 2


def test_a_failed_write_leaves_nothing_and_costs_only_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_modelnet10(root)

    def full(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    assert len(DATASETS["modelnet10-12"].load().labels) == 20
    assert list(cache.folder().iterdir()) == []
    (root / "file").touch()
    monkeypatch.setenv("COLONNADE_CACHE", str(root / "file" / "below"))
    assert len(DATASETS["modelnet10-12"].load().labels) == 20


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLONNADE_CACHE", raising=False)
    assert cache.folder() == Path.home() / ".cache" / "colonnade"
    monkeypatch.setenv("COLONNADE_CACHE", "~/elsewhere")
    assert cache.folder() == Path.home() / "elsewhere"


# the real files -------------------------------------------------------------------------------------------------------


def paths(name: str) -> list[Path]:
    return [Path(os.environ["COLONNADE_DATA"]) / file for file in DATASETS[name].files]


def real(name: str) -> Any:
    if not DATASETS[name].available():
        pytest.skip(f"COLONNADE_DATA does not name a folder with {', '.join(DATASETS[name].files)}")
    return DATASETS[name]


def test_real_mnist_halves() -> None:
    train, test = (part.views for part in real("mnist-halves").read(2, *paths("mnist-halves")))
    assert {view.x.shape for view in train.values()} == {(60000, 1, 28, 14)}
    assert {view.x.shape for view in test.values()} == {(10000, 1, 28, 14)}


def test_real_fashion_mnist_halves_are_made_of_the_quarters() -> None:
    halves, quarters = real("fashion_mnist-halves").load(), DATASETS["fashion_mnist"].load()
    assert {view.x.shape for view in halves.views.values()} == {(10000, 1, 28, 14)}
    np.testing.assert_array_equal(halves.views["left"].x[:, :, :14], quarters.views["nw"].x)
    np.testing.assert_array_equal(halves.views["right"].x[:, :, 14:], quarters.views["se"].x)


def test_real_modelnet10_from_twelve_directions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = real("modelnet10-12")
    monkeypatch.setenv("COLONNADE_CACHE", str(tmp_path))
    parts = one(labels=0.05)
    assert {view.x.shape for view in parts.test.views.values()} == {(908, 1, 32, 32)}
    assert len(parts.train.labels) == round(0.05 * len(parts.train.aligned))
    (path,) = tmp_path.iterdir()
    with np.load(path) as saved, np.load(paths("modelnet10-12")[0]) as z:
        images, bits = saved["pixels"], np.concatenate([z["X_train_bits"], z["X_test_bits"]])
    assert images.shape == (4899, 12, 32, 32)
    np.testing.assert_array_equal(images.any(axis=(2, 3)).T, [bits.any(axis=1)] * 12)  # some grids are empty
    for row in (7, 2000):
        cells = np.unpackbits(bits[row], count=30**3).reshape(30, 30, 30)
        for view in (0, 1, 5, 11):
            np.testing.assert_array_equal(images[row, view], reference(cells, view))
