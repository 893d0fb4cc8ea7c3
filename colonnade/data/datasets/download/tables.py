"""Conversions that look into a table: MovieLens, credit cards, superconductors, numerals, clothing."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from colonnade.data.datasets.download.convert import member, unzipped, writing_gzip, writing_xz
from colonnade.data.datasets.idx import read_pair
from colonnade.data.datasets.tabular import PROPERTIES

_CREDIT = ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0", *(f"PAY_{i}" for i in range(2, 7))]
_CREDIT += [*(f"BILL_AMT{i}" for i in range(1, 7)), *(f"PAY_AMT{i}" for i in range(1, 7))]
_LEFT_OUT = {"gmean_fie", "entropy_ThermalConductivity", "wtd_entropy_ThermalConductivity", "range_Valence"}
_VIEWS = {"pix": np.uint8, "fou": np.float64, "mor": np.float64, "fac": np.uint16, "kar": np.float64, "zer": np.float64}
_PER_CLASS = 1000


def movielens(source: Path, target: Path) -> None:
    """Users and films as they are; of the ratings user, film and stars, without the time."""
    tables = {f"movielens1m/{name}.dat.gz": f"{name}.dat" for name in ("users", "movies")}
    unzipped("ml-1m.zip", tables)(source, target)
    with (
        zipfile.ZipFile(source / "ml-1m.zip") as opened,
        opened.open(member(opened.namelist(), "ratings.dat")) as stream,
        writing_gzip(target, "movielens1m/ratings.csv.gz") as out,
    ):
        out.write(b"user,movie,rating\n")
        for line in stream:
            out.write(b",".join(line.split(b"::")[:3]) + b"\n")


def credit(source: Path, target: Path) -> None:
    """UCI's table with the names of the columns in place of X1 to X23 and Y."""
    with (
        (source / "data.csv").open("rb") as stream,
        writing_gzip(target, "credit_default/UCI_Credit_Card.csv.gz") as out,
    ):
        given = [cell.strip(b'"') for cell in stream.readline().strip().split(b",")]
        expected = [b"ID", *(f"X{i}".encode() for i in range(1, 24)), b"Y"]
        if given != expected:
            raise ValueError(f"the columns of data.csv are {given[:3]} …, not ID, X1 to X23, Y")
        out.write((",".join(["ID", *_CREDIT, "default.payment.next.month"]) + "\n").encode())
        out.write(stream.read())


def superconduct(source: Path, target: Path) -> None:
    """76 columns of train.csv, grouped by property, and the critical temperature; numbers as they are written there."""
    import pandas as pd

    with (
        zipfile.ZipFile(source / "superconduct.zip") as opened,
        opened.open(member(opened.namelist(), "train.csv")) as stream,
    ):
        frame = pd.read_csv(stream, dtype=str)
    kept = [c for p in PROPERTIES for c in sorted(frame.columns) if c.endswith(f"_{p}") and c not in _LEFT_OUT]
    with writing_xz(target, "superconduct/superconduct.csv.xz") as out:
        out.write(frame[[*kept, "critical_temp"]].to_csv(index=False, lineterminator="\n").encode())


def mfeat(source: Path, target: Path) -> None:
    """The six text files as arrays of one npz, and the classes: 200 rows for each digit, in order."""
    arrays: dict[str, Any] = {}
    with zipfile.ZipFile(source / "mfeat.zip") as opened:
        for view, kind in _VIEWS.items():
            with _numerals(opened, f"mfeat-{view}") as stream:
                arrays[view] = np.loadtxt(io.TextIOWrapper(stream, "ascii")).astype(kind)
    (target / "mfeat").mkdir(parents=True)
    np.savez_compressed(target / "mfeat" / "mfeat.npz", **arrays, y=np.repeat(np.arange(10, dtype=np.uint8), 200))


def _numerals(opened: zipfile.ZipFile, name: str) -> IO[bytes]:
    """A text file of the archive, or of the tar archive in it."""
    names = opened.namelist()
    if any(Path(one).name == name for one in names):
        return opened.open(member(names, name))
    inner = tarfile.open(fileobj=opened.open(member(names, "mfeat.tar")))  # noqa: SIM115 - closed with its member
    stream = inner.extractfile(member(inner.getnames(), name))
    if stream is None:
        raise ValueError(f"{name} in mfeat.tar is not a file")
    return stream


def fashion(source: Path, target: Path) -> None:
    """The first 1,000 training images of each class, by class."""
    images, y = read_pair(source / "train-images-idx3-ubyte.gz", source / "train-labels-idx1-ubyte.gz")
    chosen = np.concatenate([np.flatnonzero(y == c)[:_PER_CLASS] for c in range(10)])
    (target / "fashion_mnist10k").mkdir(parents=True)
    np.savez_compressed(target / "fashion_mnist10k" / "fashion_mnist10k.npz", images=images[chosen], labels=y[chosen])
