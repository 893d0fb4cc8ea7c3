"""Breast histology (BHI): patches of slides with and without invasive ductal carcinoma, two of a patient per row."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np

from colonnade.data.datasets.downloaded import Downloaded
from colonnade.data.datasets.pictures import read_pictures, report, size_of
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError

EDGE = 50  # pixels
_NAME = re.compile(r"(?P<patient>\d+)_idx\d+_x\d+_y\d+_class(?P<label>[01])\.png")
_LAYOUT = "PATIENT/0/*.png and PATIENT/1/*.png, named like 8863_idx5_x101_y1251_class0.png"

Group = tuple[str, int]  # patient, label


def read_bhi(parties: int, folder: Path, *, seed: int = 0) -> VerticalData:
    """Pairs of patches of one patient with the same label; parties patch1 and patch2, (N, 3, 50, 50) each. BHI.

    Who is paired with whom is drawn with `seed`; of an odd number one patch is left over. Patches that the slide's
    border cut short are left out. The rows of a patient are a group: a split puts them on one side (000, App. B).
    """
    groups = {group: _whole(paths) for group, paths in _patches(folder).items()}
    pairs, y, patients = _pairs(groups, seed)
    report([] if pairs else [f"no patient in {folder} has two patches with the same label."], "dataset 'bhi'")
    first, second = (read_pictures([pair[k] for pair in pairs], "RGB", size=(EDGE, EDGE)) for k in (0, 1))
    views = {"patch1": first, "patch2": second}
    return VerticalData(views, np.array(y, dtype=np.int64), task="binary", groups=np.array(patients))


def _patches(folder: Path) -> dict[Group, list[Path]]:
    """All files by patient and label, in the order of their names; a file in the wrong folder is a problem."""
    groups: dict[Group, list[Path]] = {}
    problems: list[str] = []
    for patient in sorted(p for p in folder.iterdir() if p.name.isdigit()):
        for label in (0, 1):
            paths = sorted((patient / str(label)).glob("*.png"))
            groups[patient.name, label] = paths
            problems += [f"{p}: {fault}" for p in paths if (fault := _fault(p.name, patient.name, label))]
    if not any(groups.values()):
        problems.append(f"{folder} holds no patches. They are expected as {_LAYOUT}.")
    report(problems, "dataset 'bhi'")
    return groups


def _fault(name: str, patient: str, label: int) -> str:
    match = _NAME.fullmatch(name)
    if not match:
        return "the name is not like 8863_idx5_x101_y1251_class0.png."
    if (match["patient"], match["label"]) != (patient, str(label)):
        return (
            f"the name says patient {match['patient']} and class {match['label']}, the folders {patient} and {label}."
        )
    return ""


def _whole(paths: list[Path]) -> list[Path]:
    """Without the patches that the slide's border cut short; larger ones stay, and are refused when they are read."""
    return [path for path in paths if min(size_of(path)) >= EDGE]


def _pairs(groups: dict[Group, list[Path]], seed: int) -> tuple[list[tuple[Path, Path]], list[int], list[str]]:
    """Pairs of files, and of each pair the label and the patient."""
    rng = np.random.default_rng([seed, 0xB41])
    pairs: list[tuple[Path, Path]] = []
    y: list[int] = []
    patients: list[str] = []
    for (patient, label), paths in groups.items():
        order = rng.permutation(len(paths)).tolist()
        drawn = [(paths[a], paths[b]) for a, b in zip(order[0::2], order[1::2], strict=False)]
        pairs += drawn
        y += [label] * len(drawn)
        patients += [patient] * len(drawn)
    return pairs, y, patients


def bhi(seed: int = 0) -> Downloaded:
    """The data set with pairs drawn by `seed`, at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigError(f"seed must be a whole number of at least 0. Got {seed!r}.")
    return Downloaded(
        name="bhi",
        title="breast tissue with or without carcinoma, two patches of a patient",
        parties="patch1, patch2: 3 x 50 x 50 pixels each, of one patient and with the same label",
        task="binary",
        metric="auc",
        source="Breast Histopathology Images (Janowczyk, Madabhushi 2016; Kaggle): the patients' folders, " + _LAYOUT,
        terms="CC0 on Kaggle; cite the paper",
        read=partial(read_bhi, seed=seed),
        files=("bhi",),
        party_numbers=(2,),
    )


BHI = bhi()
