"""A party's courses on its own disk while a run lasts: after a crash, learning alone goes on after the last epoch."""

from __future__ import annotations

import json
import time
from pathlib import Path

from colonnade.objectives.training import Course
from colonnade.sites.files.parts import write_bytes

_APART = 1.0  # seconds between two writes: what a crash costs at most, beside the epoch it falls into


class Courses:
    """One file for each course of a party in a run; the how-manieth a course is tells which is its own.

    Args:
        folder: of the site.
        name: how the files begin: the run and the party.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.begun = 0
        self._written = 0.0

    def load(self, course: Course) -> list[float]:
        """Put the next course where it was kept last; the losses of its epochs until then."""
        from safetensors import safe_open

        self.begun += 1
        self._written = 0.0
        if not self._path.exists():
            return []
        with safe_open(self._path, "pt") as file:
            losses: list[float] = json.loads(file.metadata()["losses"])
            course.load_state({name: file.get_tensor(name) for name in file.keys()}, len(losses))  # noqa: SIM118
        return losses

    def save(self, course: Course, losses: list[float]) -> None:
        """Keep a course as it is after an epoch: the last one always, others at most once a second."""
        from safetensors.torch import save

        if len(losses) < course.lesson.epochs and time.monotonic() - self._written < _APART:
            return
        state = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in course.state().items()}
        write_bytes(self._path, save(state, {"losses": json.dumps(losses)}))
        self._written = time.monotonic()

    def remove(self) -> None:
        """Delete the files, as the run has ended."""
        for path in self.folder.glob(f"{self.name}-course*.safetensors"):
            path.unlink(missing_ok=True)

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.name}-course{self.begun}.safetensors"
