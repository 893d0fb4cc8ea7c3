"""Self-supervision as a method's options ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from colonnade.methods._base.options.data import Must
from colonnade.methods._base.parts.pretraining import TRAINABLE, lesson_of, objective_name
from colonnade.objectives import OBJECTIVES
from colonnade.objectives.base import CrossObjective
from colonnade.objectives.training import Lesson, OwnObjective


def known_objective(names: tuple[str, ...]) -> Must:
    """A known name, or a class or function that makes an objective."""
    fits: Callable[[Any], bool] = lambda v: v in names if isinstance(v, str) else callable(v)  # noqa: E731
    return Must(f"one of {', '.join(names)}, or a subclass of Objective", fits)


ANY_OBJECTIVE = known_objective(TRAINABLE)
CROSS_OBJECTIVE = known_objective(tuple(n for n, made in OBJECTIVES.items() if issubclass(made, CrossObjective)))


def own_objectives(method: Any) -> dict[str, OwnObjective]:
    """The user's objective, where one was passed."""
    return {} if isinstance(method.objective, str) else {objective_name(method.objective): method.objective}


def ssl_lesson(method: Any) -> Lesson:
    """What each party learns."""
    name = objective_name(method.objective)
    made: Any = OBJECTIVES.get(name)
    projects = made is not None and made.has_projector
    settings = {"projection": method.projection, "rate": method.rate} if projects else {}
    return lesson_of(method, name, cosine=method.cosine, **settings)
