"""SecureBoost: boosted trees over the columns of several parties, without loss (Cheng et al. 2021).

The active party computes the derivatives g_i, h_i of each row and sends them encrypted. A passive party adds up, for
each bin of its columns, what it cannot read (Alg. 1). The active party decrypts the sums, finds the best split over all
parties and asks its owner to divide the rows (Alg. 2). The owner keeps column and threshold in a lookup table; the
active party keeps [party, record] and the leaves. The trees are those of the same columns in one place, bit for bit.

Symbols: g_i, h_i first and second derivative of the loss at row i; G_kv, H_kv their sums over bin v of column k; λ
`penalty`, γ `gamma`, ε `learning_rate`. n training rows, C outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.ids import Ids
from colonnade.data.vertical import VerticalData
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import DataError
from colonnade.methods._base.method import Method, Progress
from colonnade.methods._base.options import above, at_least
from colonnade.methods.secureboost.rows import check_labels, load_given, load_validation
from colonnade.methods.secureboost.store import restore, state
from colonnade.methods.secureboost.trees.bins import MAX_BINS
from colonnade.methods.secureboost.trees.columns import Layout
from colonnade.methods.secureboost.trees.derivatives import Counted, derivatives, first_scores, logits
from colonnade.methods.secureboost.trees.forest import Forest
from colonnade.methods.secureboost.trees.growing import Growth, grow
from colonnade.methods.secureboost.trees.owner import Owner
from colonnade.methods.secureboost.trees.owners import Owners
from colonnade.methods.secureboost.trees.splits import Rules
from colonnade.methods.secureboost.watch import Watch
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.seeds import generator
from colonnade.wire.meter import Traffic
from colonnade.wire.wire import Wire

if TYPE_CHECKING:
    from colonnade.methods.secureboost.trees.paillier import Keys

Floats = npt.NDArray[np.float64]
MAX_DEPTH = 9  # the nodes of a level are numbered by one byte


@dataclass(kw_only=True, eq=False, repr=False)
class SecureBoost(Method):
    """Gradient boosting with histograms from every party, on aligned labelled rows."""

    name = "secureboost"
    paper = "Cheng et al. 2021"
    summary = "boosted trees; gradients encrypted, their sums tell bins"
    family = "rounds"
    extra = "secureboost"
    packages = ("cryptography", "gmpy2", "tno")

    trees: int = 200  # at most, one per class in each round; early stopping on the validation loss ends before
    depth: int = 5  # levels of splits
    learning_rate: float = 0.1  # ε, by which a tree's weights are multiplied
    bins: int = 32  # of a column, at most
    penalty: float = 1.0  # λ, on the weights of leaves
    gamma: float = 0.0  # γ, the least gain of a split
    min_weight: float = 1.0  # least sum of h on each side of a split
    subsample: float = 1.0  # share of the rows that a tree learns from
    patience: int = 20  # rounds without a lower validation loss before training stops
    first_alone: bool = False  # whether the first trees use the active party's columns alone, which hides more
    encrypt: bool = True  # false sends gradients in the clear: passive parties can read labels out of them
    key_bits: int = 2048  # of the Paillier key

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        for name in ("trees", "patience"):
            at_least(problems, name, getattr(self, name), 1)
        _between(problems, "depth", self.depth, 1, MAX_DEPTH)
        _between(problems, "bins", self.bins, 2, MAX_BINS)
        above(problems, "learning_rate", self.learning_rate, 0)
        for name in ("penalty", "gamma"):
            at_least(problems, name, getattr(self, name), 0, whole=False)
        above(problems, "min_weight", self.min_weight, 0, "A side without weight would have no rows.")
        if (
            isinstance(self.subsample, bool)
            or not isinstance(self.subsample, int | float)
            or not 0 < self.subsample <= 1
        ):
            problems.append(f"subsample must be in (0, 1]. Got {self.subsample!r}. Use 1.0 for all rows.")
        for name in ("first_alone", "encrypt"):
            if not isinstance(getattr(self, name), bool):
                problems.append(f"{name} must be true or false. Got {getattr(self, name)!r}.")
        if self.key_bits not in (1024, 2048, 3072, 4096):
            problems.append(f"key_bits must be 1024, 2048, 3072 or 4096. Got {self.key_bits!r}. 2048 is usual today.")

    def _check_data(self, data: VerticalData, validation: VerticalData | None) -> None:
        super()._check_data(data, validation)
        if self.first_alone and data.active not in data.views:
            raise DataError(f"first_alone needs columns of party {data.active!r}, which has labels only. Leave it out.")

    # training -----------------------------------------------------------------------------------------------------

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        fed = self._assemble(data)
        check_labels(fed.active, self.name)
        self.federation_, self.parties_ = fed, tuple(data.views)
        with fed.phase("setup"):
            self.owners_ = self._prepare(fed)
        truth = None if validation is None else load_validation(fed, validation)
        self._boost(truth, progress)
        self.owners_.keys = None  # nothing more will be encrypted
        self.traffic_, fed.wire.traffic = fed.wire.traffic, Traffic()

    def wire(self) -> Wire:
        """The wire between the parties."""
        return Wire()

    def _assemble(self, data: VerticalData) -> Federation:
        aligned = data.aligned
        active = ActiveParty(data.active, data.views.get(data.active), aligned, data.labels, data.task)
        passive = [PassiveParty(name, data.views[name], aligned) for name in data.passive]
        return Federation(active, InProcess(passive, self.wire()))

    def _prepare(self, fed: Federation) -> Owners:
        """Everybody bins its columns; with a passive party, the active one makes a key pair."""
        active = fed.active
        rows = active.labelled_aligned.numpy()
        outputs = active.targets.outputs if self.task_ == "multiclass" else 1
        keys = self._keys() if self.encrypt and fed.passive else None
        own = None if active.view is None else Owner.fit(active, self.bins)
        key = {} if keys is None else {"key": torch.from_numpy(keys.modulus)}
        sent = fed.ask("bin", bins=self.bins, rows=len(rows), outputs=outputs, **key)
        layouts = {name: Layout.of_tensor(tensor) for name, tensor in sent.items()}
        if own is not None:
            layouts[active.name] = own.layout
        ordered = [layouts[name] for name in self.parties_]
        return Owners(fed, self.parties_, own, ordered, [0] * len(ordered), rows, outputs, 2 ** (self.depth - 1), keys)

    def _keys(self) -> Keys:
        from colonnade.methods.secureboost.trees.paillier import Keys  # deferred: needs gmpy2

        return Keys(self.key_bits)

    def _boost(self, truth: npt.NDArray[Any] | None, progress: Progress) -> None:
        """The rounds: derivatives of the present scores, and a tree for each output."""
        fed, owners = self.federation_, self.owners_
        known = fed.active.y["train"][fed.active.labelled_aligned]
        y = known.numpy().astype(np.float64)
        n, outputs = len(owners.rows), owners.outputs
        self.first_ = first_scores(self.task_, y, outputs)  # ŷ⁽⁰⁾
        self.forest_ = Forest(outputs)
        scores = np.tile(self.first_, (n, 1))
        watch = Watch(
            fed, self.forest_, self.first_, self.metric_, self.history_, progress, self.trees, self.patience, truth
        )
        growth = Growth(self.depth, self.learning_rate, Rules(self.penalty, self.gamma, self.min_weight))
        draw = generator(self.seed, fed.active.name, "rows")
        for round_ in range(1, self.trees + 1):
            owners.alone = self.first_alone and round_ == 1
            counted = Counted.of(*derivatives(self.task_, scores, y))  # g_i, h_i
            sample = _sample(n, self.subsample, draw)
            with fed.phase("train"):
                owners.tell(counted, sample)  # <g_i>, <h_i>
                for output in range(outputs):  # Alg. 1 and 2, for each level
                    scores[:, output] += grow(self.forest_, owners, counted, output, sample, growth)
            if watch.after(round_, scores, known, partial(owners.sides, "valid")):
                break
        watch.recall()

    # prediction ---------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of `predict_proba`'s columns."""
        return self.federation_.active.targets.classes

    @property
    def gradients_(self) -> str:
        """How the gradients travelled."""
        self._check_fitted()
        if not self.federation_.passive:
            return "not sent"
        return f"encrypted: Paillier, {self.key_bits} bits" if self.encrypt else "in the clear"

    def _outputs(self, views: Mapping[str, Any], absent: str) -> tuple[Ids, npt.NDArray[Any]]:
        fed = self.federation_
        ids, self.absent_ = load_given(fed, self.parties_, views, absent)
        with fed.phase("predict"):
            scores = self.first_ + self.forest_.scores(len(ids), partial(self.owners_.sides, "predict"))
        return ids, fed.active.targets.decode(torch.from_numpy(logits(self.task_, scores)))

    # storing ------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        return state(self.owners_, self.forest_, self.first_)

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        self.owners_, self.forest_, self.first_ = restore(saved, tensors, self.wire())
        self.federation_, self.parties_ = self.owners_.fed, self.owners_.names


def _sample(rows: int, share: float, draw: torch.Generator) -> npt.NDArray[np.int64]:
    """The rows that a tree learns from, in order."""
    if share == 1:
        return np.arange(rows)
    chosen = torch.randperm(rows, generator=draw)[: max(1, round(share * rows))]
    return np.sort(chosen.numpy())


def _between(problems: list[str], name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        problems.append(f"{name} must be a whole number from {least} to {most}. Got {value!r}.")
