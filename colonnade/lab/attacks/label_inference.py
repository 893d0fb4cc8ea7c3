"""Label inference by model completion (Fu et al. 2022, §4.2; He et al. 2022, §4.4).

The adversary is a passive party after training. It puts a new head on its own trained encoder and fine-tunes both on a
few rows whose labels it knows, helped by all its own rows without labels; then it labels everyone.

Fu et al. fine-tune by MixMatch, which mixes images. For tables: FixMatch (Sohn et al. 2020), where a row whose label is
guessed with confidence teaches its own distorted copy. Whether that helps is chosen by cross-validation over the
auxiliary rows. The baseline attacker does the same from encoders that never federated: a fresh one, and one that
SimSiam trained on the adversary's own rows (the baseline of He et al. 2022, Table 6).

B batch, A auxiliary rows, U own rows without labels, N rows attacked, C classes, D width of the representation.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from colonnade.data.ids import locate
from colonnade.data.metrics import score
from colonnade.data.table import Table
from colonnade.data.vertical import VerticalData
from colonnade.lab.attacks.auxiliary import balanced, count_auxiliary, folds
from colonnade.lab.attacks.finding import Finding, RefusedError, beyond, standard_error
from colonnade.lab.attacks.run import Run
from colonnade.nets.two_towers import fresh_copy
from colonnade.objectives.augment import Augmentation, replace
from colonnade.objectives.image_augment import ImageAugmentation
from colonnade.objectives.training import Course, Lesson, build_objective, learn
from colonnade.seeds import derive, generator, seeded

STEPS, BATCH, RATE, EPOCHS = 200, 256, 1e-3, 30  # epochs: of the baseline attacker's SimSiam
CONFIDENT = 0.95  # FixMatch's threshold
WEIGHTS = (0.0, 1.0)  # of the rows without labels: none, or FixMatch's


@dataclass(frozen=True)
class Knowledge:
    """What the adversary has beside an encoder."""

    own: Table  # U rows without labels
    rows: Table  # A auxiliary rows
    y: Tensor  # (A,) their classes
    classes: int  # C


class Completed(nn.Module):
    """An encoder and a new head: (B, …) → (B, C)."""

    def __init__(self, encoder: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.BatchNorm1d(width, affine=False), nn.Linear(width, classes))

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, …) → (B, C)."""
        out: Tensor = self.head(self.encoder(*inputs).float())
        return out


def complete(start: nn.Module, known: Knowledge, at: npt.NDArray[np.int64], weight: float, seed: int) -> Completed:
    """Fine-tune a copy of the encoder and a new head on the auxiliary rows `at`, and on own rows with `weight`."""
    draws = generator(seed, "completion")
    augment: Augmentation = ImageAugmentation() if known.own.is_image else replace
    encoder = copy.deepcopy(start)
    with seeded(seed, "completion", "head"):
        model = Completed(encoder, _width(encoder, known.rows), known.classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=1e-4)
    labelled = torch.from_numpy(at)
    model.train()
    for _ in range(STEPS):
        batch = labelled[torch.randperm(len(at), generator=draws)[:BATCH]]
        loss = F.cross_entropy(model(*known.rows.rows(batch)), known.y[batch])
        if weight:
            own = torch.randint(len(known.own), (BATCH,), generator=draws)
            loss = loss + weight * consistency(model, known.own, own, augment, draws)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model.eval()


def consistency(model: nn.Module, table: Table, rows: Tensor, augment: Augmentation, draws: torch.Generator) -> Tensor:
    """FixMatch, Eq. 4: cross entropy of distorted rows with their own confident guess, zero for the others."""
    with torch.no_grad():
        confidence, guess = torch.softmax(model(*table.rows(rows)), dim=1).max(dim=1)  # (B,)
    loss = F.cross_entropy(model(*augment(table, rows, draws)), guess, reduction="none")
    return (loss * (confidence >= CONFIDENT)).mean()


def infer(starts: list[nn.Module], known: Knowledge, attacked: list[Table], seed: int) -> list[npt.NDArray[np.float64]]:
    """Class probabilities of each table's rows, (N, C), by the start and weight that do best on auxiliary rows.

    No label of an attacked row comes in here.
    """
    y = known.y.numpy()

    def held_out(start: nn.Module, weight: float) -> float:
        """Share of auxiliary rows labelled rightly by a completion that did not learn from them."""
        right = [
            _predict(complete(start, known, at, weight, seed), known.rows)[rest].argmax(axis=1) == y[rest]
            for at, rest in folds(y)
        ]
        return float(np.concatenate(right).mean())

    pairs = [(start, weight) for start in starts for weight in WEIGHTS]
    best = max(pairs, key=lambda pair: held_out(*pair))
    model = complete(best[0], known, np.arange(len(y)), best[1], seed)
    return [_predict(model, table) for table in attacked]


def label_inference(run: Run, adversary: str, *, auxiliary: int | None = None, seed: int = 0) -> list[Finding]:
    """Attack the labels of new rows, and of the rows by which the run was trained."""
    party = run.party(adversary)
    kinds = run.telling(adversary)
    if run.model.task_ == "regression":
        raise RefusedError("a completed model names a class, and this task is regression.")
    if not kinds:
        raise RefusedError(f"party {adversary!r} received nothing that other parties' rows or labels made.")
    if party.encoder is None:
        raise RefusedError(f"party {adversary!r} has no encoder that a head could be put on.")
    where = f"party {adversary!r}"
    own = party.fitted_preprocessor().transform(run.parts.train.views[adversary], where)
    new, y_new = _labelled(run, run.parts.test, adversary)
    trained, y_trained = _labelled(run, run.parts.train, adversary)
    classes = run.model.classes_
    count = count_auxiliary(auxiliary, len(y_new), len(classes))
    at, rest = balanced(y_new, count, np.random.default_rng([seed, 0xA0]))
    known = Knowledge(own, _take(new, at), torch.from_numpy(y_new[at]), len(classes))
    tables, truths = [_take(new, rest), trained], [y_new[rest], y_trained]
    encoder = copy.deepcopy(party.encoder).cpu().float()
    guesses = infer([encoder], known, tables, seed)
    alone = infer(never_federated(encoder, own, derive(seed, adversary, "alone") % 2**31), known, tables, seed)
    used = f"its own encoder, columns and {count} labelled rows, after it received {', '.join(kinds)}"
    targets = ("labels of new rows", "labels of training rows")
    return [
        _finding(run, adversary, target, truth, [guess, other], used, seed)
        for target, truth, guess, other in zip(targets, truths, guesses, alone, strict=True)
    ]


def never_federated(encoder: nn.Module, own: Table, seed: int) -> list[nn.Module]:
    """Where the baseline attacker starts: fresh weights, and fresh weights that SimSiam trained on its own rows."""
    with seeded(seed, "fresh"):
        fresh = fresh_copy(encoder)
    lesson = Lesson(
        objective="simsiam", epochs=EPOCHS, batch_size=256, learning_rate=1e-3, weight_decay=1e-5, optimizer="adam",
        seed=seed,
    )  # fmt: skip
    trained = copy.deepcopy(fresh).train()
    objective = build_objective(lesson, trained, _width(trained, own), own, "baseline", {})
    learn(Course(objective, own, lesson, "baseline", autocast=nullcontext), lambda epoch, loss: False)
    return [fresh, trained]


def _finding(
    run: Run, adversary: str, target: str, truth: npt.NDArray[np.int64], guesses: list[npt.NDArray[np.float64]],
    used: str, seed: int,
) -> Finding:  # fmt: skip
    guesses = [*guesses, _constant(truth, len(run.model.classes_))]

    def figures(at: npt.NDArray[np.int64]) -> list[float]:
        return [_score(run, truth[at], guess[at]) for guess in guesses]

    found = figures(np.arange(len(truth)))
    return Finding(
        attack="label-inference", adversary=adversary, target=target, metric=run.model.metric_, score=found[0],
        baseline=found[1], prior=found[2], advantage=beyond(*found),
        error=standard_error(lambda at: beyond(*figures(at)), len(truth)), used=used, n=len(truth), seed=seed,
    )  # fmt: skip


def _labelled(run: Run, data: VerticalData, party: str) -> tuple[Table, npt.NDArray[np.int64]]:
    """The rows of a party that the active party has labels of, and their classes as training knows them."""
    view = data.views[party]
    values, known = data.labels.of(view.ids)
    classes = run.model.classes_
    at = locate(classes, values)
    keep = np.flatnonzero(known & (at >= 0))
    made = run.party(party).fitted_preprocessor()
    return made.transform(view.take(keep), f"party {party!r}"), at[keep]


def _take(table: Table, at: npt.NDArray[np.int64]) -> Table:
    positions = torch.from_numpy(at)
    codes = None if table.codes is None else table.codes[positions]
    return Table(table.x[positions], codes, table.sizes)


def _score(run: Run, truth: npt.NDArray[np.int64], probabilities: npt.NDArray[np.float64]) -> float:
    classes = run.model.classes_
    return score(run.model.metric_, classes[truth], probabilities, classes)


def _constant(truth: npt.NDArray[np.int64], classes: int) -> npt.NDArray[np.float64]:
    """The guess that looks at no row: the shares of the classes, (N, C)."""
    return np.tile(np.bincount(truth, minlength=classes) / len(truth), (len(truth), 1))


@torch.no_grad()
def _predict(model: nn.Module, table: Table) -> npt.NDArray[np.float64]:
    return torch.softmax(model(*table.all()).double(), dim=1).numpy()


@torch.no_grad()
def _width(encoder: nn.Module, table: Table) -> int:
    return int(encoder(*table.rows(torch.arange(2))).shape[1])
