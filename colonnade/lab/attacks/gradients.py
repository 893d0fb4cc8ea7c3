"""Direct gradient attacks on labels of two classes (Li et al. 2022, §3): norm and cosine.

The adversary is a passive party. For each row of a batch it received g = ∂L/∂h. With a sigmoid or softmax at the top, g
is the error of the prediction times a direction: rows of the rarer class, which is predicted less well, have longer
gradients (norm attack), and the two classes point opposite ways (cosine attack).

Score: the leak AUC, how well the numbers rank the rows of the rarer class above the others, mean over the batches.

B batch, D width of the representation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from colonnade.lab.attacks.finding import Finding, RefusedError, beyond, standard_error
from colonnade.lab.attacks.run import Run
from colonnade.lab.attacks.witness import Witness
from colonnade.parties.skills.kinds import GRADIENT, ROWS

GUESS = 0.5  # AUC of numbers that know nothing
Batch = tuple[Tensor, Tensor]  # g (B, D) and whether a row is of the rarer class (B,)


def norm_attack(g: Tensor) -> Tensor:
    """r(g) = ‖g‖₂, (B, D) → (B,)."""
    return g.square().sum(dim=1).sqrt()


def cosine_attack(g: Tensor, known: Tensor) -> Tensor:
    """r(g) = cos(g, g₊), with the gradient g₊ (D,) of one row that is known to be of the rarer class."""
    return F.cosine_similarity(g, known.unsqueeze(0), dim=1)


def leak_auc(scores: Tensor, positive: Tensor) -> float:
    """How well the scores rank the positive rows above the others, (B,) and (B,) bool."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive.numpy(), scores.double().numpy()))


def attack_batches(batches: list[Batch], seed: int) -> dict[str, list[float]]:
    """Leak AUC of both attacks on each batch where it is defined; an attack without such a batch is left out."""
    draws = np.random.default_rng([seed, 0x6C])
    norm, cosine = [], []
    for g, positive in batches:
        rows = torch.nonzero(positive).squeeze(1)
        if not 0 < len(rows) < len(positive):
            continue
        norm.append(leak_auc(norm_attack(g), positive))
        if len(rows) < 2:
            continue
        known = int(rows[draws.integers(len(rows))])
        others = torch.arange(len(g)) != known  # the known row is no success
        cosine.append(leak_auc(cosine_attack(g[others], g[known]), positive[others]))
    return {name: found for name, found in (("norm", norm), ("cosine", cosine)) if found}


def gradients(run: Run, adversary: str, *, auxiliary: int | None = None, seed: int = 0) -> list[Finding]:
    """Both attacks on all gradients that the adversary received; `auxiliary` rows are not needed."""
    run.party(adversary)
    if GRADIENT.name not in run.received(adversary):
        raise RefusedError(f"party {adversary!r} received no gradient: {run.model.name} sends it none.")
    if run.model.task_ != "binary":
        raise RefusedError(f"norm and cosine tell two classes apart, and this task is {run.model.task_}.")
    witness = run.replay()[adversary]
    batches = labelled_batches(witness, *_labels(run))
    found = attack_batches(batches, seed)
    if not found:
        raise RefusedError(f"no batch of party {adversary!r} held labelled rows of both classes.")
    n = sum(len(positive) for _, positive in batches)
    seen = f"the gradients of {len(batches)} batches, by a replay of the training with the same seed"
    seen += f"; {witness.missed} later messages were not kept" if witness.missed else ""
    extra = {"norm": "", "cosine": ", and one row of the rarer class in each batch"}
    return [_finding(name, adversary, np.array(aucs), seen + extra[name], n, seed) for name, aucs in found.items()]


def _finding(name: str, adversary: str, aucs: npt.NDArray[np.float64], used: str, n: int, seed: int) -> Finding:
    score = float(aucs.mean())
    return Finding(
        attack=f"gradient {name}", adversary=adversary, target="labels of training rows", metric="leak AUC",
        score=score, baseline=GUESS, prior=GUESS, advantage=beyond(score, GUESS, GUESS),
        error=standard_error(lambda at: float(aucs[at].mean()), len(aucs)), used=used, n=n, seed=seed,
    )  # fmt: skip


def _labels(run: Run) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether each aligned training row is of the rarer class, and whether it has a label; in the agreed order."""
    train = run.parts.train
    values, known = train.labels.of(train.aligned)
    classes, counts = np.unique(values[known], return_counts=True)
    rarer = classes[::-1][np.argmin(counts[::-1])]  # the second of two equal ones
    return values == rarer, known


def labelled_batches(witness: Witness, positive: npt.NDArray[np.bool_], labelled: npt.NDArray[np.bool_]) -> list[Batch]:
    """For each gradient received: its labelled rows, and which of them are of the rarer class."""
    batches = []
    for rows, g in pairs(witness):
        keep = torch.from_numpy(labelled[rows.numpy()])
        if keep.any():
            batches.append((g[keep].float(), torch.from_numpy(positive[rows.numpy()])[keep]))
    return batches


def pairs(witness: Witness) -> Iterator[tuple[Tensor, Tensor]]:
    """Each gradient with the rows asked for just before it: (B,) and (B, D)."""
    rows: Tensor | None = None
    for message in witness.messages:
        if message.kind == ROWS.name:
            rows = message.tensors.get("rows")
        elif message.kind == GRADIENT.name and rows is not None:
            g = message.tensors["gradient"]
            if len(g) == len(rows):
                yield rows.long(), g
            rows = None
