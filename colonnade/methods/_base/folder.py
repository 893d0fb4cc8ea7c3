"""Folders that we write: they appear complete or not at all, and replace nothing that somebody else wrote.

A folder is ours when its marker, a JSON file, lists the folder's files, and nothing else is in it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colonnade.errors import ConfigError


def check_replaceable(folder: Path, marker: str) -> list[str]:
    """Refuse a folder that holds anything but what we wrote; the names of the files that may go."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file. Name a folder.")
    entries = sorted(folder.iterdir())
    if not entries:
        return []
    listed = _listed(folder / marker)
    if listed is None:
        raise ConfigError(f"{folder} holds other files, e.g. {entries[0].name}. Name a new or empty folder.")
    foreign = [entry.name for entry in entries if entry.name not in listed or entry.is_symlink() or not entry.is_file()]
    if foreign:
        raise ConfigError(
            f"{folder} also holds what was not written with {marker}: {', '.join(foreign[:3])}. "
            f"Move it away, or name a new folder."
        )
    return [entry.name for entry in entries]


def _listed(marker: Path) -> list[str] | None:
    """The files of a folder of ours, its marker among them; None when it is not ours."""
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    files = content.get("files") if isinstance(content, dict) and isinstance(content.get("method"), str) else None
    return files if isinstance(files, list) and marker.name in files else None


@contextmanager
def new_folder(folder: Path, marker: str) -> Iterator[Path]:
    """An empty folder to write into, which takes the place of `folder` when all went well.

    What is written must hold the marker, with the names of all files under "files".
    """
    folder = folder.resolve()  # of a link, what it points to
    check_replaceable(folder, marker)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        yield draft
        draft.chmod(0o755)
        _swap(draft, folder, marker)
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # made by us a moment ago


def _swap(draft: Path, folder: Path, marker: str) -> None:
    """Put the draft in the folder's place; then remove the files of ours that the folder held."""
    if not folder.exists():
        draft.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    old = aside / folder.name
    folder.rename(old)
    try:
        files = check_replaceable(old, marker)  # nobody can add to it by its name any more
        draft.rename(folder)
    except BaseException:
        old.rename(folder)
        aside.rmdir()
        raise
    for name in files:
        (old / name).unlink(missing_ok=True)
    old.rmdir()
    aside.rmdir()
