"""Files of the sources, made small, become those that the loaders read."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from colonnade.data.datasets import DATASETS
from colonnade.data.datasets.download import tables
from colonnade.data.datasets.download.convert import compressed, copied, first_lines, untarred, unzipped
from colonnade.data.datasets.tabular import PROPERTIES

RNG = np.random.default_rng(0)


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "made").mkdir()
    return tmp_path / "made"


def test_copied_compressed_and_first_lines(tmp_path: Path, target: Path):
    (tmp_path / "plain").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"one\ntwo\nthree\n"))
    copied({"a/b": "plain"})(tmp_path, target)
    compressed("c/d.gz", "plain")(tmp_path, target)
    first_lines("e/f.gz", "packed.gz", 2)(tmp_path, target)
    assert (target / "a/b").read_bytes() == b"one\ntwo\nthree\n"
    assert gzip.decompress((target / "c/d.gz").read_bytes()) == b"one\ntwo\nthree\n"
    assert gzip.decompress((target / "e/f.gz").read_bytes()) == b"one\ntwo\n"
    with pytest.raises(ValueError, match=r"packed\.gz has 3 lines, fewer than the 4 expected"):
        first_lines("e/f.gz", "packed.gz", 4)(tmp_path, target)


def test_members_are_found_in_any_folder_but_once(tmp_path: Path, target: Path):
    zipped(tmp_path / "a.zip", {"UJI/x.csv": b"1,2\n", "__MACOSX/x.csv": b"rubbish"})
    unzipped("a.zip", {"x/x.csv.gz": "x.csv"})(tmp_path, target)
    assert gzip.decompress((target / "x/x.csv.gz").read_bytes()) == b"1,2\n"
    with pytest.raises(ValueError, match=r"expected one file y\.csv in the archive, found 0"):
        unzipped("a.zip", {"y.gz": "y.csv"})(tmp_path, target)
    zipped(tmp_path / "b.zip", {"one/x.csv": b"1", "two/x.csv": b"2"})
    with pytest.raises(ValueError, match="found 2"):
        unzipped("b.zip", {"x.gz": "x.csv"})(tmp_path, target)


def test_a_tar_archive_writes_nothing_outside_its_folder(tmp_path: Path, target: Path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as out:
        for name in ("../../evil.bin", "deep/good.bin"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            out.addfile(entry, io.BytesIO(b"abc"))
    untarred("a.tar.gz", "folder", ("evil.bin", "good.bin"))(tmp_path, target)
    assert sorted(p.name for p in (target / "folder").iterdir()) == ["evil.bin", "good.bin"]
    assert not (tmp_path / "evil.bin").exists() and not (tmp_path.parent / "evil.bin").exists()


def test_movielens_keeps_user_film_and_stars(tmp_path: Path, target: Path):
    zipped(
        tmp_path / "ml-1m.zip",
        {
            "ml-1m/users.dat": b"1::F::1::10::48067\n2::M::56::16::70072\n",
            "ml-1m/movies.dat": "3::Toy (1995)::Animation|Comedy\n4::Caf\xe9 (1990)::Drama\n".encode("latin1"),
            "ml-1m/ratings.dat": b"1::3::5::978300760\n2::3::1::978302109\n2::4::3::978301968\n",
        },
    )
    tables.movielens(tmp_path, target)
    data = DATASETS["movielens1m"].read(2, *(target / file for file in DATASETS["movielens1m"].files))
    assert data.labels.values.tolist() == [1.0, 0.0, 0.5]
    assert gzip.decompress((target / "movielens1m/ratings.csv.gz").read_bytes()) == (
        b"user,movie,rating\n1,3,5\n2,3,1\n2,4,3\n"
    )


def test_credit_columns_get_their_names(tmp_path: Path, target: Path):
    header = ",".join(["ID", *(f"X{i}" for i in range(1, 24)), "Y"])
    rows = ["1,20000,2,2,1,24,2,2,-1,-1,-2,-2,3913,3102,689,0,0,0,0,689,0,0,0,0,1", "2,9,1,3,2," + "1," * 19 + "0"]
    (tmp_path / "data.csv").write_text("\n".join([header, *rows]) + "\n")
    tables.credit(tmp_path, target)
    data = DATASETS["credit_default"].read(2, target / DATASETS["credit_default"].files[0])
    assert data.labels.values.tolist() == [1, 0]
    payments = dict(zip(data.views["payments"].columns, data.views["payments"].x[0].tolist(), strict=True))
    assert (payments["PAY_0"], payments["PAY_6"], payments["BILL_AMT1"], payments["PAY_AMT2"]) == (2, -2, 3913, 689)
    (tmp_path / "data.csv").write_text(header.replace("X7", "Z7") + "\n")
    with pytest.raises(ValueError, match="not ID, X1 to X23, Y"):
        tables.credit(tmp_path, target)


def test_superconduct_has_the_76_columns_as_they_are_written(tmp_path: Path, target: Path):
    kinds = ["mean", "wtd_mean", "gmean", "wtd_gmean", "entropy", "wtd_entropy", "range", "wtd_range", "std", "wtd_std"]
    names = ["number_of_elements", *(f"{kind}_{p}" for p in PROPERTIES for kind in kinds), "critical_temp"]
    numbers = [f"{x:.15g}" for x in RNG.random(len(names))]
    table = ",".join(names) + "\n" + ",".join(numbers) + "\n"
    zipped(tmp_path / "superconduct.zip", {"train.csv": table.encode(), "unique_m.csv": b"x"})
    tables.superconduct(tmp_path, target)
    head, row = lzma.decompress((target / "superconduct/superconduct.csv.xz").read_bytes()).decode().split()
    assert len(head.split(",")) == 77 and head.startswith("entropy_atomic_mass,gmean_atomic_mass,mean_atomic_mass,")
    missing = set(names) - set(head.split(","))
    assert missing == {
        "number_of_elements", "gmean_fie", "entropy_ThermalConductivity", "wtd_entropy_ThermalConductivity",
        "range_Valence",
    }  # fmt: skip
    given = dict(zip(names, numbers, strict=True))
    assert [given[name] for name in head.split(",")] == row.split(",")


def test_superconduct_columns_are_those_of_the_file_that_is_here():
    if not DATASETS["superconduct"].available():
        pytest.skip("needs superconduct")
    head = pd.read_csv(DATASETS["superconduct"].paths()[0], nrows=0).columns
    assert all(head[i].endswith(p) for i, p in zip((0, 10, 19, 29, 39, 49, 59, 67), PROPERTIES, strict=True))
    assert len(head) == 77 and tables._LEFT_OUT.isdisjoint(head)


@pytest.mark.parametrize("inner", [False, True], ids=["plain", "tar inside"])
def test_numerals_from_text_files(tmp_path: Path, target: Path, inner: bool):
    widths = {"pix": 240, "fou": 76, "mor": 6, "fac": 216, "kar": 64, "zer": 47}
    arrays = {name: RNG.integers(0, 9, (2000, width)) for name, width in widths.items()}
    texts = {f"mfeat-{n}": "\n".join("  ".join(map(str, row)) for row in a.tolist()) for n, a in arrays.items()}
    if inner:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as out:
            for name, text in texts.items():
                entry = tarfile.TarInfo(f"mfeat/{name}")
                entry.size = len(text)
                out.addfile(entry, io.BytesIO(text.encode()))
        zipped(tmp_path / "mfeat.zip", {"mfeat.tar": packed.getvalue()})
    else:
        zipped(tmp_path / "mfeat.zip", {name: text.encode() for name, text in texts.items()})
    tables.mfeat(tmp_path, target)
    with np.load(target / DATASETS["mfeat"].files[0]) as made:
        assert set(made) == {*widths, "y"} and all(np.array_equal(made[n], a) for n, a in arrays.items())
        assert made["y"][[0, 199, 200, 1999]].tolist() == [0, 0, 1, 9]
        assert {n: made[n].dtype.name for n in widths} == {
            "pix": "uint8", "fou": "float64", "mor": "float64", "fac": "uint16", "kar": "float64", "zer": "float64",
        }  # fmt: skip


def test_clothing_by_class(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "_PER_CLASS", 2)
    y = np.tile(np.arange(10, dtype=np.uint8)[::-1], 3)
    images = np.arange(30, dtype=np.uint8)[:, None, None] + np.zeros((1, 2, 2), dtype=np.uint8)
    for name, array in (("images-idx3", images), ("labels-idx1", y)):
        raw = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()
        (tmp_path / f"train-{name}-ubyte.gz").write_bytes(gzip.compress(raw))
    tables.fashion(tmp_path, target)
    with np.load(target / DATASETS["fashion_mnist"].files[0]) as made:
        assert made["labels"].tolist() == np.repeat(np.arange(10), 2).tolist()
        assert made["images"][:4, 0, 0].tolist() == [9, 19, 8, 18]
