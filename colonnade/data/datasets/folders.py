"""Images in folders named by class: ModelNet40 from twelve directions, ImageNet100 in halves.

Classes are numbered in the order of their names. Row numbers are the ids, training rows first.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets.cifar import cut
from colonnade.data.datasets.columns import apart
from colonnade.data.datasets.downloaded import Downloaded
from colonnade.data.datasets.pictures import check_side, read_pictures, report, size_of
from colonnade.data.datasets.rendered import VIEWS, shared_out
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError

Labels = npt.NDArray[np.int64]

SIDE = 64  # pixels, of the scaled images
_ENDINGS = (".png", ".jpg", ".jpeg")
_VIEW = re.compile(r"(?P<object>.+\D)(?P<view>\d{3})\.\w+")
_MODELNET = "CLASS/{train,test}/OBJECT_NNN.jpg (or .png), NNN = 001 … 012, like airplane/train/airplane_0001_001.jpg"
_IMAGENET = "train/CLASS/*.JPEG, and val/CLASS/*.JPEG if there is a test set"


def read_modelnet40(parties: int, folder: Path, *, side: int = SIDE) -> tuple[VerticalData, VerticalData]:
    """Objects of 40 kinds from 12 directions, in grey, official split; 4 or 12 parties. MVCNN's images of ModelNet40.

    With 12 parties each holds one view, (N, 1, side, side); with 4 three neighbouring ones as channels.
    """
    problems: list[str] = []
    names = _classes(folder)
    objects: list[list[Path]] = []
    y: list[int] = []
    sizes = []
    for part in ("train", "test"):
        found = [(paths, k) for k, name in enumerate(names) for paths in _objects(folder / name / part, problems)]
        if not found:
            problems.append(f"{folder} holds no {part} images. They are expected as {_MODELNET}.")
        objects += [paths for paths, _ in found]
        y += [k for _, k in found]
        sizes.append(len(found))
    report(problems, "dataset 'modelnet40'")
    paths = [path for views in objects for path in views]
    images = read_pictures(paths, "L", size=size_of(paths[0]), side=side).reshape(-1, VIEWS, side, side)
    return apart(VerticalData(shared_out(images, parties), np.array(y), task="multiclass"), sizes[0])


def _objects(folder: Path, problems: list[str]) -> list[list[Path]]:
    """The twelve files of each object in a folder, in the order of the views."""
    views: dict[str, dict[int, Path]] = {}
    for path in _images(folder):
        match = _VIEW.fullmatch(path.name)
        if not match:
            problems.append(f"{path}: the name does not end in the three digits of a view.")
        elif path != (first := views.setdefault(match["object"], {}).setdefault(int(match["view"]), path)):
            problems.append(f"{path}: this view is also in {first.name}. Remove one of them.")
    for name, found in views.items():
        if set(found) != set(range(1, VIEWS + 1)):
            have = ", ".join(f"{view:03}" for view in sorted(found))
            problems.append(f"{folder / name}: views 001 … {VIEWS:03} are expected. Found {have}.")
    return [[found[view] for view in sorted(found)] for found in views.values()]


def read_imagenet100(
    parties: int, train: Path, *, side: int = SIDE
) -> VerticalData | tuple[VerticalData, VerticalData]:
    """Photographs of 100 kinds; parties left and right, (N, 3, side, side / 2) each. ImageNet100.

    An image's central square is scaled to `side` pixels, then halved. The folder val beside train, where there is one,
    is the test set.
    """
    names = _classes(train)
    paths, y = _labelled(train, names)
    report([] if paths else [f"{train} holds no images. They are expected as {_IMAGENET}."], "dataset 'imagenet100'")
    val = train.parent / "val"
    test_paths, test_y = _labelled(val, names) if val.is_dir() else ([], y[:0])
    _same_classes(names, val)
    images = read_pictures(paths + test_paths, "RGB", side=side)  # (N, 3, side, side)
    data = VerticalData(cut(images, 2), np.concatenate([y, test_y]), task="multiclass")
    return apart(data, len(paths)) if test_paths else data


def _same_classes(names: list[str], val: Path) -> None:
    extra = sorted(set(_classes(val)) - set(names)) if val.is_dir() else []
    report([f"{val / name}: train has no such class." for name in extra], "dataset 'imagenet100'")


def _labelled(folder: Path, names: list[str]) -> tuple[list[Path], Labels]:
    """Files of all classes and their class numbers (N,)."""
    found = [(path, k) for k, name in enumerate(names) for path in _images(folder / name)]
    return [path for path, _ in found], np.array([k for _, k in found], dtype=np.int64)


def _classes(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))


def _images(folder: Path) -> list[Path]:
    """Image files of a folder by name; none where there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in _ENDINGS and not p.name.startswith("."))


def modelnet40(parties: int, side: int = SIDE) -> Downloaded:
    """The data set for 4 or 12 parties with images scaled to `side` x `side` pixels."""
    check_side(side)
    if parties not in (4, VIEWS):
        raise ConfigError(f"parties must be 4 or {VIEWS}. Got {parties!r}.")
    twelve = f"view1 … view12: {side} x {side} pixels each"
    four = f"views1-3, views4-6, views7-9, views10-12: 3 channels of {side} x {side} pixels each"
    return Downloaded(
        name=f"modelnet40-{parties}",
        title=f"forty kinds of objects from 12 directions, {VIEWS // parties} per party",
        parties=twelve if parties == VIEWS else four,
        task="multiclass",
        metric="accuracy",
        source="ModelNet40 (Wu et al. 2015) as the 12 rendered views of MVCNN (Su et al. 2015): " + _MODELNET,
        terms="academic use; the models belong to their authors; not to be passed on",
        read=partial(read_modelnet40, side=side),
        files=("modelnet40v1",),
        default_parties=parties,
        party_numbers=(parties,),
    )


def imagenet100(side: int = SIDE) -> Downloaded:
    """The data set with images scaled to `side` x `side` pixels, `side` even."""
    check_side(side, even=True)
    return Downloaded(
        name="imagenet100",
        title=f"photographs of 100 kinds, scaled to {side} x {side} pixels, half of the image per party",
        parties=f"left, right: 3 x {side} x {side // 2} pixels each",
        task="multiclass",
        metric="accuracy",
        source="100 classes of ImageNet (ILSVRC 2012): " + _IMAGENET,
        terms="ImageNet's terms of access: non-commercial research and education; not to be passed on",
        read=partial(read_imagenet100, side=side),
        files=("imagenet100/train",),
        party_numbers=(2,),
    )


MODELNET40_4 = modelnet40(4)
MODELNET40_12 = modelnet40(12)
IMAGENET100 = imagenet100()
