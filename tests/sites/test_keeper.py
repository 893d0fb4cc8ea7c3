"""Learning alone that was cut after an epoch goes on as if nothing had happened, whatever is learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from colonnade.data.view import as_view
from colonnade.objectives.training import Course, Lesson
from colonnade.parties.party import Party
from colonnade.sites.recovery.keeper import Courses

SETTINGS: dict[str, dict[str, Any]] = {
    "simsiam": {"cosine": True}, "byol": {}, "moco": {"queue": 32}, "contrastive": {}, "scarf": {},
    "nat": {"frequency": 2},
}  # fmt: skip


class CutError(Exception):
    pass


class Cut(Courses):
    """Keeps every epoch, and is cut after some."""

    def __init__(self, folder: Path, after: int) -> None:
        super().__init__(folder, "run-shop")
        self.after = after

    def save(self, course: Course, losses: list[float]) -> None:
        self._written = -1e9
        super().save(course, losses)
        if len(losses) == self.after:
            raise CutError


def party(keeper: Courses | None) -> Party:
    x = np.random.default_rng(0).normal(size=(70, 5)).astype(np.float32)
    made = Party("shop", as_view(x, "shop", (), []), np.arange(70))
    made.fit_preprocessor()
    made.build_encoder(hidden=[8], width=4, embedding=4, image="cnn0", seed=3)
    made.keeper = keeper
    return made


def lesson(objective: str) -> Lesson:
    return Lesson(
        objective=objective, epochs=5, batch_size=16, learning_rate=0.01, weight_decay=1e-5, optimizer="adam", seed=1,
        **SETTINGS[objective],
    )  # fmt: skip


@pytest.mark.parametrize("objective", SETTINGS)
def test_a_course_that_was_cut_ends_as_one_that_was_not(objective: str, tmp_path: Path) -> None:
    calm = party(None)
    losses = calm.learn(lesson(objective))
    with pytest.raises(CutError):
        party(Cut(tmp_path, after=2)).learn(lesson(objective))
    again = party(Courses(tmp_path, "run-shop"))
    assert again.learn(lesson(objective)) == losses
    assert all(torch.equal(a, b) for a, b in zip(calm.state().values(), again.state().values(), strict=True))
    finished = party(Courses(tmp_path, "run-shop"))
    assert finished.learn(lesson(objective)) == losses, "what was finished is not learnt again"
    assert all(torch.equal(a, b) for a, b in zip(calm.state().values(), finished.state().values(), strict=True))


def test_each_course_of_a_run_has_its_own_file(tmp_path: Path) -> None:
    keeper = Courses(tmp_path, "run-shop")
    twice = party(keeper)
    twice.learn(lesson("nat"))
    twice.learn(lesson("scarf"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"run-shop-course{n}.safetensors" for n in (1, 2)]
    keeper.remove()
    assert not list(tmp_path.iterdir())
