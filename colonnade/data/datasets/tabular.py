"""Tables: phishing sites, forests, superconductors, indoor positions. Row numbers are the ids."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from colonnade.data.datasets.columns import apart, blocks, numeric, pick
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View

CRITICAL_TEMPERATURE = 185.0  # K, the highest in the data: targets lie in [0, 1]
NOT_HEARD = -105.0  # dBm, just below the weakest signal in the data
WEST, EAST = -7696.0, -7299.0  # m, the ends of the campus: targets lie in [0, 1]

PROPERTIES = (
    "atomic_mass",
    "fie",
    "atomic_radius",
    "Density",
    "ElectronAffinity",
    "FusionHeat",
    "ThermalConductivity",
    "Valence",
)


def read_phishing(parties: int, path: Path) -> VerticalData:
    """11,055 sites, 68 indicators; parties hold contiguous blocks, by default four of 17. UCI 327."""
    from sklearn.datasets import load_svmlight_file

    x, y = load_svmlight_file(str(path))
    return VerticalData(blocks(numeric(x.toarray()), parties), y.astype(np.int64))


def read_covtype20k(parties: int, path: Path, *, binary: bool = False) -> VerticalData:
    """20,000 patches of forest; parties terrain (10 columns) and cover (wilderness and soil), or blocks. UCI 31.

    With `binary`, the task is to tell lodgepole pine, the most frequent type, from all others.
    """
    import pandas as pd

    values = pd.read_csv(path, header=None).to_numpy()  # (N, 55), the class last
    terrain = ["elevation", "aspect", "slope", "hydrology-horizontal", "hydrology-vertical", "roadways"]
    terrain += ["hillshade-9am", "hillshade-noon", "hillshade-3pm", "fire-points"]
    cover = [f"wilderness{i}" for i in range(1, 5)] + [f"soil{i}" for i in range(1, 41)]
    view = numeric(values[:, :54], terrain + cover)
    natural = {"terrain": pick(view, terrain), "cover": pick(view, cover)}
    kind = values[:, 54].astype(np.int64) - 1
    return VerticalData(
        natural if parties == 2 else blocks(view, parties), (kind == 1).astype(np.int64) if binary else kind
    )


def read_superconduct(parties: int, path: Path) -> VerticalData:
    """21,263 materials, 76 columns on eight properties; by default four parties of two properties each. UCI 464.

    The target is the critical temperature divided by 185 K. Up to eight parties share the properties out whole; more
    get contiguous blocks of columns.
    """
    import pandas as pd

    frame = pd.read_csv(path)
    target = frame.pop("critical_temp").to_numpy(dtype=np.float64) / CRITICAL_TEMPERATURE
    view = numeric(frame.to_numpy(), [str(c) for c in frame.columns])
    views = _by_property(view, parties) if parties <= len(PROPERTIES) else blocks(view, parties)
    return VerticalData(views, target, task="regression")


def _by_property(view: View, parties: int) -> dict[str, View]:
    shares = [share.tolist() for share in np.array_split(np.array(PROPERTIES), parties)]
    return {
        "+".join(share): pick(view, [c for c in view.columns if c.endswith(tuple(f"_{p}" for p in share))])
        for share in shares
    }


def read_ujiindoorloc(
    parties: int, train: Path, validation: Path, *, longitude: bool = False
) -> tuple[VerticalData, VerticalData]:
    """19,937 WiFi fingerprints and 1,111 official test rows; parties hold blocks of access points. UCI 310.

    The target is one of 13 pairs of building and floor or, with `longitude`, how far east, as 0 to 1. Access points
    that no training row heard are dropped; one that was not heard has -105 dBm.
    """
    import pandas as pd

    first = pd.read_csv(train)
    frame = pd.concat([first, pd.read_csv(validation)], ignore_index=True)
    points = [str(c) for c in frame.columns if str(c).startswith("WAP")]
    signal = frame[points].to_numpy(dtype=np.float32)
    signal[signal == 100] = NOT_HEARD
    views = blocks(numeric(signal, points, train=len(first)), parties, "points")
    if longitude:
        target = (frame["LONGITUDE"].to_numpy(dtype=np.float64) - WEST) / (EAST - WEST)
        return apart(VerticalData(views, target, task="regression"), len(first))
    place = frame["BUILDINGID"].to_numpy() * 10 + frame["FLOOR"].to_numpy()
    y = np.unique(place, return_inverse=True)[1]  # 0 … 12
    return apart(VerticalData(views, y), len(first))


def read_ujiindoorloc_all(parties: int, train: Path, validation: Path) -> VerticalData:
    """All 21,048 fingerprints with every column but the longitude, which is the target; parties hold blocks.

    Wu et al. 2022 count 529 features, which is every column of the file, the target included.
    """
    import pandas as pd

    frame = pd.concat([pd.read_csv(train), pd.read_csv(validation)], ignore_index=True)
    target = (frame.pop("LONGITUDE").to_numpy(dtype=np.float64) - WEST) / (EAST - WEST)
    names = [str(c) for c in frame.columns]
    values = frame.to_numpy(dtype=np.float64)
    points = np.array([name.startswith("WAP") for name in names])
    values[:, points] = np.where(values[:, points] == 100, NOT_HEARD, values[:, points])
    first = values[:, names.index("TIMESTAMP")].min()
    values[:, names.index("TIMESTAMP")] -= first  # seconds since the first, which float32 tells apart
    return VerticalData(blocks(numeric(values, names), parties), target, task="regression")


PHISHING = Dataset(
    name="phishing",
    title="phishing or honest web sites",
    parties="block1, block2, …: contiguous blocks of the 68 indicators",
    task="binary",
    metric="accuracy",
    source="UCI 327, Phishing Websites, in the encoding of the LIBSVM data page (binary, 'phishing')",
    terms="CC BY 4.0",
    read=read_phishing,
    files=("phishing/phishing.libsvm.gz",),
    default_parties=4,
)

COVTYPE20K = Dataset(
    name="covtype20k",
    title="seven types of forest from maps, the first 20,000 rows of Covertype",
    parties="terrain: 10 measurements; cover: wilderness area and soil type; other numbers: blocks",
    task="multiclass",
    metric="accuracy",
    source="UCI 31, Covertype: the first 20,000 lines of covtype.data",
    terms="CC BY 4.0",
    read=read_covtype20k,
    files=("covtype20k/covtype.20k.data.gz",),
)

COVTYPE20K_BINARY = replace(
    COVTYPE20K,
    name="covtype20k-binary",
    title="lodgepole pine or another type of forest, the first 20,000 rows of Covertype",
    task="binary",
    read=partial(read_covtype20k, binary=True),
)

SUPERCONDUCT = Dataset(
    name="superconduct",
    title="critical temperature of superconductors, divided by 185 K",
    parties="two of eight properties of the elements each; other numbers: other groups, above 8 blocks of columns",
    task="regression",
    metric="rmse",
    source="UCI 464, Superconductivity (Hamidieh 2018); 76 of the 81 columns and critical_temp",
    terms="CC BY 4.0",
    read=read_superconduct,
    files=("superconduct/superconduct.csv.xz",),
    default_parties=4,
)

UJIINDOORLOC = Dataset(
    name="ujiindoorloc",
    title="building and floor from the strength of WiFi signals",
    parties="points1, points2, …: contiguous blocks of the access points",
    task="multiclass",
    metric="accuracy",
    source="UCI 310, UJIIndoorLoc; the validation file is the test set",
    terms="CC BY 4.0",
    read=read_ujiindoorloc,
    files=("ujiindoorloc/trainingData.csv.gz", "ujiindoorloc/validationData.csv.gz"),
    default_parties=4,
)

UJIINDOORLOC_LONGITUDE = replace(
    UJIINDOORLOC,
    name="ujiindoorloc-longitude",
    title="position from west to east by the strength of WiFi signals, as 0 to 1",
    task="regression",
    metric="rmse",
    read=partial(read_ujiindoorloc, longitude=True),
)

UJIINDOORLOC_ALL = replace(
    UJIINDOORLOC_LONGITUDE,
    name="ujiindoorloc-all",
    title="position from west to east by all other columns, both files together (Wu et al. 2022)",
    parties="block1, block2, …: contiguous blocks of all columns but the longitude",
    source="UCI 310, UJIIndoorLoc; both files, of which a tenth of the rows is the test set",
    read=read_ujiindoorloc_all,
    test_share=0.1,
)
