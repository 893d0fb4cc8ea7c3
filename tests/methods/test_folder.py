"""Folders that `save` and `export` write: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import colonnade as cn
from colonnade.deploy.export.folder import export_onnx
from colonnade.methods._base.folder import new_folder
from tests.conftest import make_data

MODEL = cn.SplitNN(epochs=1, hidden=(4,), width=2).fit(make_data(rows=60))
Write = Callable[[Path], object]
WRITERS: dict[str, Write] = {"model.json": MODEL.save, "export.json": lambda folder: export_onnx(MODEL, folder)}
both = pytest.mark.parametrize("marker", list(WRITERS))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(write: Write, folder: Path) -> str:
    before = tree(folder.parent)
    with pytest.raises(cn.ConfigError) as caught:
        write(folder)
    assert tree(folder.parent) == before
    return str(caught.value)


@both
def test_new_empty_and_own_folders_are_written(marker: str, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "mine"
    WRITERS[marker](folder)
    first = set(tree(folder))
    assert set(json.loads((folder / marker).read_text())["files"]) == first
    WRITERS[marker](folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    WRITERS[marker](empty)
    assert set(tree(folder)) == set(tree(empty)) == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "empty"]  # no draft is left
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["mine"]


@both
@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "not json",
        '{"format": "layers-model", "weightsManifest": []}',  # TensorFlow.js has a model.json too
        '{"format": 1, "method": "splitnn"}',
        '{"format": 1, "method": "splitnn", "files": ["../thesis.tex"]}',
        '{"colonnade": "0.1", "method": "splitnn", "encoders": {}}',
    ],
)
def test_a_folder_of_somebody_elses_that_holds_such_a_file_is_left_alone(
    marker: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "theirs" / marker).write_text(content)
    (tmp_path / "theirs" / "photos.zip").write_text("photos")
    assert "theirs holds other files, e.g." in refused(WRITERS[marker], tmp_path / "theirs")
    (tmp_path / "theirs" / "photos.zip").unlink()
    assert f"theirs holds other files, e.g. {marker}. Name a new" in refused(WRITERS[marker], tmp_path / "theirs")


@both
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_folder_of_ours_with_something_added_is_left_alone(marker: str, kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    WRITERS[marker](folder)
    (tmp_path / "thesis.tex").write_text("years of work")
    if kind == "file":
        (folder / "notes.txt").write_text("do not lose")
    elif kind == "folder":
        (folder / "notes.txt").mkdir()
    else:
        (folder / "notes.txt").symlink_to(tmp_path / "thesis.tex")
    assert f"also holds what was not written with {marker}: notes.txt. Move it away" in refused(WRITERS[marker], folder)


@both
def test_a_listed_path_outside_the_folder_is_not_touched(marker: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    WRITERS[marker](folder)
    (tmp_path / "thesis.tex").write_text("years of work")
    content = json.loads((folder / marker).read_text())
    content["files"].append("../thesis.tex")
    (folder / marker).write_text(json.dumps(content))
    WRITERS[marker](folder)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@both
def test_a_link_keeps_pointing_to_the_folder_that_is_written(marker: str, tmp_path: Path) -> None:
    WRITERS[marker](tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    WRITERS[marker](tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "mine" / marker).is_file()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    for write in WRITERS.values():
        assert "mine is a file. Name a folder." in refused(write, tmp_path / "mine")


def test_a_failure_half_way_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    MODEL.save(folder)
    before = tree(tmp_path)
    with pytest.raises(OSError, match="disk full"), new_folder(folder, "model.json") as draft:
        (draft / "half").write_text("")
        raise OSError("disk full")
    assert tree(tmp_path) == before
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if target == folder and "-" in self.name:
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="disk full"):
        MODEL.save(folder)
    assert tree(tmp_path) == before and [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_what_is_added_while_a_model_is_written_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    MODEL.save(folder)
    before = tree(folder)
    with pytest.raises(cn.ConfigError, match=r"notes\.txt"), new_folder(folder, "model.json") as draft:
        (draft / "model.json").write_text("{}")
        (folder / "notes.txt").write_text("do not lose")
    assert tree(folder) == {**before, "notes.txt": b"do not lose"}
