"""A party learns alone by DP-SGD: its pre-training (Wu et al. 2022, Alg. 1, lines 4-15), entered in a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from colonnade.objectives import NAT
from colonnade.objectives.training import Course, Lesson, sort_of
from colonnade.privacy.accounting import sampling_rate, steps_of
from colonnade.privacy.dp_sgd import PrivateSteps
from colonnade.privacy.entry import Entry, SampledGaussian
from colonnade.seeds import generator


def planned_steps(lesson: Lesson, rows: int) -> SampledGaussian:
    """What a lesson will do with a table of this many rows; σ is the lesson's, or None."""
    steps = steps_of(lesson.epochs, lesson.batch_size, rows)
    rate = sampling_rate(lesson.batch_size, rows)
    return SampledGaussian(noise_multiplier=lesson.noise, rate=rate, steps=steps)


def not_covered(lesson: Lesson) -> str | None:
    """Why no ε holds for a lesson."""
    sort = sort_of(lesson)
    fixed = sort.keeps_targets and lesson.assignment == "fixed"
    return None if fixed else sort.mixes or None


def has_epsilon(lesson: Lesson) -> bool:
    """Whether an ε is known for learning this lesson by DP-SGD."""
    return bool(sort_of(lesson).has_epsilon) and not_covered(lesson) is None


def learn_privately(
    course: Course, party: str, after: Callable[[int, float], bool], secret: bytes | None = None
) -> Entry:
    """All steps of a course; what happened. Who knows the seed knows the noise, unless there is a secret in it."""
    lesson, objective = course.lesson, course.objective
    rows = len(course.rows)
    entry = Entry(party, "pretrain", planned_steps(lesson, rows), not_covered(lesson))
    assert lesson.clip is not None
    own = "" if secret is None else secret.hex()
    order = generator(lesson.seed, party, "sample" + own)
    noise = generator(lesson.seed, party, "privacy noise" + own, device=course.rows.device)
    with PrivateSteps(
        objective, course.optimizer, entry, clip=lesson.clip, rows=rows, order=order, noise=noise
    ) as steps:
        for epoch, count in enumerate(per_epoch(entry, lesson.epochs), 1):
            exchange = isinstance(objective, NAT) and not objective.fixed and (epoch - 1) % objective.frequency == 0

            def draw(positions: Tensor, exchange: bool = exchange) -> tuple[Tensor, ...]:
                part = course.rows[positions]
                if exchange:
                    assert isinstance(objective, NAT)
                    with torch.no_grad():
                        objective.reassign(part, objective.encoder(*course.table.rows(part)))
                return objective.draw(course.table, part, course.draws)

            losses = [steps.step(draw, objective) for _ in range(count)]
            after(epoch, float(torch.stack(losses).mean()) if losses else 0.0)
    return entry


def per_epoch(entry: Entry, epochs: int) -> Iterator[int]:
    """How many of the planned steps fall into each epoch."""
    assert entry.mechanism is not None
    done = 0
    for epoch in range(1, epochs + 1):
        due = round(entry.mechanism.times * epoch / epochs)
        yield due - done
        done = due
