"""SecureBoost: boosted trees over the columns of several parties, without loss (Cheng et al. 2021).

The active party computes the derivatives g_i, h_i of each row and sends them encrypted. A passive party adds up, for
each bin of its columns, what it cannot read (Alg. 1). The active party decrypts the sums, finds the best split over all
parties and asks its owner to divide the rows (Alg. 2). The owner keeps column and threshold in a lookup table; the
active party keeps [party, record] and the leaves. The trees are those of the same columns in one place, bit for bit.

Symbols: g_i, h_i first and second derivative of the loss at row i; G_kv, H_kv their sums over bin v of column k; λ
`penalty`, γ `gamma`, ε `learning_rate`. n training rows, C outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.vertical import VerticalData
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import DataError
from colonnade.methods._base.method import Method, Progress
from colonnade.methods._base.network import load_validation
from colonnade.methods._base.options import Ge, Gt, Help, Le, Must
from colonnade.methods._base.parts.labels import check_labels
from colonnade.methods._base.setup import Setup
from colonnade.methods.secureboost.model import TreesModel, restore
from colonnade.methods.secureboost.skills import ClearSums, Columns, EncryptedSums
from colonnade.methods.secureboost.trees.bins import MAX_BINS
from colonnade.methods.secureboost.trees.columns import Layout
from colonnade.methods.secureboost.trees.derivatives import Counted, derivatives, first_scores
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

MAX_DEPTH = 9  # the nodes of a level are numbered by one byte
KEYS = (1024, 2048, 3072, 4096)
KEY_BITS = Must(", ".join(map(str, KEYS[:-1])) + f" or {KEYS[-1]}", lambda v: type(v) is int and v in KEYS)


@dataclass(kw_only=True, eq=False, repr=False)
class SecureBoost(Method):
    """Gradient boosting with histograms from every party, on aligned labelled rows."""

    name = "secureboost"
    paper = "Cheng et al. 2021"
    summary = "boosted trees; gradients encrypted, their sums tell bins"
    family = "rounds"
    skills = (Columns, ClearSums, EncryptedSums)
    packages = ("cryptography", "gmpy2", "tno")
    extra = "secureboost"
    between_sites: ClassVar[bool] = False

    trees: Annotated[
        int,
        Ge(1),
        Help("Rounds at most, each with one tree per class. Early stopping on the validation loss may end earlier."),
    ] = 200
    depth: Annotated[int, Ge(1), Le(MAX_DEPTH), Help("Levels of splits of a tree. Deeper trees fit more.")] = 5
    learning_rate: Annotated[float, Gt(0), Help("Factor of each tree's weights (ε). Smaller needs more trees.")] = 0.1
    bins: Annotated[
        int, Ge(2), Le(MAX_BINS), Help("Bins of a column at most. More are finer, and cost more bytes.")
    ] = 32
    penalty: Annotated[float, Ge(0), Help("Penalty on the weights of leaves (λ). More of it is more careful.")] = 1.0
    gamma: Annotated[float, Ge(0), Help("Least gain of a split (γ). More of it makes smaller trees.")] = 0.0
    min_weight: Annotated[
        float,
        Gt(0),
        Help("Least sum of second derivatives on each side of a split.", "A side without weight would have no rows."),
    ] = 1.0
    subsample: Annotated[
        float, Gt(0), Le(1), Help("Share of the rows that a tree learns from.", "Use 1.0 for all rows.")
    ] = 1.0
    patience: Annotated[int, Ge(1), Help("Rounds without a lower validation loss before training stops.")] = 20
    first_alone: Annotated[
        bool, Help("Let the first trees use the active party's columns alone, which hides more of the labels.")
    ] = False
    encrypt: Annotated[
        bool, Help("Encrypt gradients. False sends them in the clear: passive parties can read labels out of them.")
    ] = True
    key_bits: Annotated[
        int, KEY_BITS, Help("Bits of the Paillier key. Longer is safer and slower.", "2048 is usual today.")
    ] = 2048

    def setup(self) -> Setup:
        """Columns are binned at their owners; sums are asked in the clear or under encryption."""
        return Setup(skills=(Columns, EncryptedSums if self.encrypt else ClearSums))

    def check_data(self, data: VerticalData) -> None:
        """The first trees may need columns of the active party."""
        if self.first_alone and data.active not in data.views:
            raise DataError(f"first_alone needs columns of party {data.active!r}, which has labels only. Leave it out.")

    def train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        """Put the parties together, bin their columns, and grow trees."""
        fed = self._assemble(data)
        check_labels(fed.active, self.name)
        with fed.phase("setup"):
            owners = self._prepare(fed, tuple(data.views))
        truth = None if validation is None else load_validation(fed, validation)
        model = self.fitted_ = TreesModel(owners, *self._start(owners))
        self._boost(model, truth, progress)
        owners.keys = None  # nothing more will be encrypted
        self.traffic_, fed.wire.traffic = fed.wire.traffic, Traffic()

    def restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        """Take over a saved model."""
        self.fitted_ = restore(self.setup(), saved, tensors)

    @property
    def facts_(self) -> dict[str, Any]:
        """How the gradients travelled."""
        return {"gradients": self.gradients_}

    @property
    def gradients_(self) -> str:
        """How the gradients travelled."""
        if not self.federation_.passive:
            return "not sent"
        return f"encrypted: Paillier, {self.key_bits} bits" if self.encrypt else "in the clear"

    def _assemble(self, data: VerticalData) -> Federation:
        setup, aligned = self.setup(), data.aligned
        active = ActiveParty(data.active, data.views.get(data.active), aligned, data.labels, data.task)
        passive = [PassiveParty(name, data.views[name], aligned, skills=setup.skills) for name in data.passive]
        return Federation(active, InProcess(passive, Wire(setup.offer.kinds, observers=[*self.observers]), setup.offer))

    def _prepare(self, fed: Federation, parties: tuple[str, ...]) -> Owners:
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
        ordered = [layouts[name] for name in parties]
        return Owners(fed, parties, own, ordered, [0] * len(ordered), rows, outputs, 2 ** (self.depth - 1), keys)

    def _keys(self) -> Keys:
        from colonnade.methods.secureboost.trees.paillier import Keys  # deferred: needs gmpy2

        return Keys(self.key_bits)

    def _start(self, owners: Owners) -> tuple[Forest, npt.NDArray[np.float64]]:
        """No tree yet, and the scores before the first one, ŷ⁽⁰⁾."""
        active = owners.fed.active
        y = active.y["train"][active.labelled_aligned].numpy().astype(np.float64)
        return Forest(owners.outputs), first_scores(self.task_, y, owners.outputs)

    def _boost(self, model: TreesModel, truth: npt.NDArray[Any] | None, progress: Progress) -> None:
        """The rounds: derivatives of the present scores, and a tree for each output."""
        owners, forest, first = model.owners, model.forest, model.first
        fed = owners.fed
        known = fed.active.y["train"][fed.active.labelled_aligned]
        y = known.numpy().astype(np.float64)
        n, outputs = len(owners.rows), owners.outputs
        scores = np.tile(first, (n, 1))
        watch = Watch(fed, forest, first, self.metric_, self.history_, progress, self.trees, self.patience, truth)
        growth = Growth(self.depth, self.learning_rate, Rules(self.penalty, self.gamma, self.min_weight))
        draw = generator(self.seed, fed.active.name, "rows")
        for round_ in range(1, self.trees + 1):
            owners.alone = self.first_alone and round_ == 1
            counted = Counted.of(*derivatives(self.task_, scores, y))  # g_i, h_i
            sample = _sample(n, self.subsample, draw)
            with fed.phase("train"):
                owners.tell(counted, sample)  # <g_i>, <h_i>
                for output in range(outputs):  # Alg. 1 and 2, for each level
                    scores[:, output] += grow(forest, owners, counted, output, sample, growth)
            if watch.after(round_, scores, known, partial(owners.sides, "valid")):
                break
        watch.recall()


def _sample(rows: int, share: float, draw: torch.Generator) -> npt.NDArray[np.int64]:
    """The rows that a tree learns from, in order."""
    if share == 1:
        return np.arange(rows)
    chosen = torch.randperm(rows, generator=draw)[: max(1, round(share * rows))]
    return np.sort(chosen.numpy())
