"""What a party can learn alone: the shape that every objective has.

An objective is a module around the party's encoder. `draw` makes what one step reads out of a batch of the party's own
table (all randomness is there, from the party's own generator); `forward` turns that into the loss and touches nothing
else, so that equal objectives of several parties can run as one batched call; `after_step` follows the optimizer.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Generator, Tensor, nn

from colonnade.data.table import Table

VIEWS_OF_OTHERS = (
    "views of a row are made of other rows' values: clipping its own gradient does not bound what it changes"
)


class Objective(nn.Module):
    """Base of all objectives: B batch, F columns, D width of the representation."""

    #: whether it is computed at once, and not trained
    computed = False
    #: least rows in a batch for the loss to be defined
    min_batch = 1
    #: whether it puts a projector on the encoder, and distorts columns at a rate that can be chosen
    has_projector = False
    #: whether it compares two views of a row that an augmentation makes
    compares_views = False
    #: whether the rate of distortion is an option of its own, and not of an augmentation
    takes_rate = False
    #: whether it draws targets for the rows of its table, which may stay with their rows ("fixed")
    keeps_targets = False
    #: whether the objectives of several parties can be learnt as one, by stacked products
    can_stack = False
    #: why clipping the gradient of each row does not bound what the row changes; empty where it does
    mixes = ""
    #: whether an ε is known for it, with targets that stay where they are
    has_epsilon = False
    #: whether one step does the same as the next to other rows, without looking at values from Python
    same_steps = False

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """What `forward` reads for these rows of the table."""
        raise TypeError(f"{type(self).__name__} does not define draw")

    def forward(self, *drawn: Tensor) -> Tensor:
        """The loss, a scalar."""
        raise TypeError(f"{type(self).__name__} does not define forward")

    def begin_epoch(self, epoch: int, table: Table, batches: list[Tensor]) -> list[Callable[[], None]]:
        """Called before each epoch, counted from 0, with the batches in the order in which they will come.

        Returns what other threads can work on meanwhile, each to be started in its turn.
        """
        return []

    def before_batch(self, batch: int) -> None:
        """Called before each batch of an epoch, counted from 0."""

    def after_step(self) -> None:
        """Called after each optimizer step."""


class CrossObjective(Objective):
    """An objective that can also agree with other parties on rows that they share (He et al. 2022).

    P width of what is sent. Nothing received carries a gradient, and nothing sent does.
    """

    projector: nn.Module
    sent_width: int  # P
    same_steps = True

    def emit(self, *view: Tensor) -> Tensor:
        """z (B, P): what other parties, or this party's other tower, are to agree with; no gradient."""
        raise TypeError(f"{type(self).__name__} does not define emit")

    def cross(self, *view: Tensor) -> tuple[Tensor, Tensor]:
        """z (B, P) as `emit` gives it, and p (B, P), which is compared with what is received."""
        raise TypeError(f"{type(self).__name__} does not define cross")

    def match(self, p: Tensor, received: Tensor) -> Tensor:
        """How far p is from what was received for the same rows, a scalar."""
        raise TypeError(f"{type(self).__name__} does not define match")

    def receive(self, received: Tensor) -> None:
        """Called once for each (B, P) received, after the steps that it was compared in."""

    def forward(self, *drawn: Tensor, guides: tuple[Tensor, ...] = (), gamma: float = 0.0) -> Tensor:
        """The loss, plus γ times the distance from guides: (B, P) for each view, by the cross-party encoder."""
        raise TypeError(f"{type(self).__name__} does not define forward")
