"""Groups of options that methods gather: fields alone, each with its bounds and its help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import nn

from colonnade.methods._base.options.data import Ge, Gt, Help, Lt, Must, OneOf
from colonnade.nets.image import IMAGE_ENCODERS
from colonnade.nets.optimizer import OPTIMIZERS
from colonnade.objectives.base import Objective
from colonnade.objectives.training import OwnObjective
from colonnade.parties.joined import JOINS
from colonnade.parties.skills.towers import SHARED
from colonnade.privacy.accounting import DIVISIONS
from colonnade.wire.codec import PRECISIONS


def _is_device(value: Any) -> bool:
    return isinstance(value, str) and (
        value.startswith("cpu") or (value.startswith("cuda") and torch.cuda.is_available())
    )


def _names_parties(value: Any) -> bool:
    return isinstance(value, str | tuple | list) and all(isinstance(name, str) for name in value)


DEVICE = Must("'cpu', or 'cuda' (or 'cuda:1', …) where a CUDA device is here", _is_device)
BY_PARTY = Must("a mapping of party names to modules", lambda v: isinstance(v, Mapping))
PARTIES = Must("names of parties, e.g. ['shop'], or [] for none", _names_parties)

Hidden = Annotated[
    tuple[int, ...],
    Help(
        "Widths of the hidden layers of each encoder. Wider or more layers fit more, and need more rows.",
        "Use e.g. [128, 64], or [] for none.",
    ),
]
Width = Annotated[
    int, Ge(1), Help("Width of the representation that each party sends. Smaller costs fewer bytes and can say less.")
]
HeadHidden = Annotated[
    tuple[int, ...],
    Help(
        "Widths of the hidden layers of the head. None makes it linear, which suits few labels.",
        "Use e.g. [64], or [] for none.",
    ),
]
Epochs = Annotated[int, Ge(1), Help("Training epochs at most. Early stopping on the validation loss may end earlier.")]
BatchSize = Annotated[
    int, Ge(1), Help("Rows in a batch. Larger batches need fewer messages in an epoch, and make fewer updates.")
]
LearningRate = Annotated[
    float, Gt(0), Help("Step size of the optimizer. Lower it when the loss jumps or becomes infinite.")
]
WeightDecay = Annotated[
    float, Ge(0), Help("Strength of weight decay. More of it holds weights smaller, against overfitting.")
]
Optimizer = Annotated[str, OneOf(OPTIMIZERS), Help("Optimizer: adam, sgd (momentum 0.9), plain-sgd or adagrad.")]
Patience = Annotated[
    int, Ge(1), Help("Epochs without a lower validation loss before training stops. Read only with validation rows.")
]
Device = Annotated[str, DEVICE, Help("Where networks are trained: cpu, or cuda for a GPU.", "Use device='cpu'.")]
Join = Annotated[
    str,
    OneOf(JOINS),
    Help("How the head reads the parties' representations: concat, mean or sum. Mean and sum need equal widths."),
]
Codec = Annotated[
    str,
    OneOf(PRECISIONS),
    Help(
        "Number format of representations and gradients on the wire: float32, float16 or int8. "
        "int8 sends a quarter of the bytes."
    ),
]
ResponseLimit = Annotated[
    float | None,
    Gt(0),
    Help(
        "Seconds after which a party's answer counts as zero. None waits for every party.",
        "Use None to wait for every party.",
    ),
]
Late = Annotated[
    str | tuple[str, ...], PARTIES, Help("Parties whose every answer comes too late, to rehearse their absence.")
]
Protect = Annotated[
    str | tuple[str, ...],
    Help(
        "Noise that senders add to messages: NAME:KIND:STRENGTH, e.g. iso:gradient:1. "
        "More strength hides more and costs accuracy."
    ),
]
PretrainEpochs = Annotated[
    int, Ge(0), Help("Passes over a party's rows before the parties talk. 0 leaves encoders as they were drawn.")
]
PretrainBatchSize = Annotated[
    int, Ge(1), Help("Rows in a batch of pre-training. Contrastive objectives gain from larger ones.")
]
PretrainLearningRate = Annotated[float, Gt(0), Help("Step size of the optimizer in pre-training.")]
PretrainOptimizer = Annotated[
    str, OneOf(OPTIMIZERS), Help("Optimizer of pre-training: adam, sgd (momentum 0.9), plain-sgd or adagrad.")
]
Epsilon = Annotated[
    float | None,
    Gt(0),
    Help(
        "Privacy budget ε per person over all parties. Smaller means more noise in training. None adds no noise.",
        "2 to 8 are usual; None trains without noise.",
    ),
]
Aggregate = Annotated[bool, Help("Average the tops of the parties' local encoders after each pass of pre-training.")]


@dataclass(kw_only=True, eq=False, repr=False)
class Networks:
    """The networks of the parties, and how the supervised phase trains them."""

    hidden: Hidden = (128,)
    width: Width = 64
    embedding: Annotated[int, Ge(1), Help("Width of the embedding of each categorical column.")] = 8
    image_encoder: Annotated[
        str,
        OneOf(IMAGE_ENCODERS),
        Help("Network of parties that hold images: cnn0, cnn1, resnet18 or resnet50. The first is the smallest."),
    ] = "cnn0"
    head_hidden: HeadHidden = ()
    epochs: Epochs = 200
    batch_size: BatchSize = 128
    learning_rate: LearningRate = 1e-3
    weight_decay: WeightDecay = 1e-5
    optimizer: Optimizer = "adam"
    patience: Patience = 20
    precision: Annotated[
        str,
        OneOf(("float32", "bf16")),
        Help("Number format of the networks. bf16 is faster on recent GPUs and slightly less exact."),
    ] = "float32"
    device: Device = "cpu"
    encoders: Annotated[
        Mapping[str, nn.Module] | None,
        BY_PARTY,
        Help("Modules of your own by party name. The other parties get the default encoder. None: all do."),
    ] = None


@dataclass(kw_only=True, eq=False, repr=False)
class Travel:
    """How messages travel and are protected, and who is waited for."""

    codec: Codec = "float32"
    response_limit: ResponseLimit = None
    late: Late = ()
    protect: Protect = ()


@dataclass(kw_only=True, eq=False, repr=False)
class Crossing:
    """How representations are joined, travel and are protected, and who is waited for."""

    join: Join = "concat"
    codec: Codec = "float32"
    response_limit: ResponseLimit = None
    late: Late = ()
    protect: Protect = ()


@dataclass(kw_only=True, eq=False, repr=False)
class Privacy:
    """Differential privacy of the trained networks."""

    epsilon: Epsilon = None
    delta: Annotated[
        float,
        Gt(0),
        Lt(1),
        Help(
            "Chance with which ε may not hold. Keep it far below one over the number of rows.",
            "1e-5 suits some ten thousand rows.",
        ),
    ] = 1e-5
    clip: Annotated[
        float, Gt(0), Help("Bound on the norm of each row's gradient in private training (Ω). Noise grows with it.")
    ] = 1.0
    division: Annotated[
        str,
        OneOf(DIVISIONS),
        Help("How parties share the budget: moments, simple (ε/k for each of k parties) or pld (the tightest)."),
    ] = "moments"


@dataclass(kw_only=True, eq=False, repr=False)
class Pretraining:
    """Learning alone, before the parties talk."""

    pretrain_epochs: PretrainEpochs = 30
    pretrain_batch_size: PretrainBatchSize = 256
    pretrain_learning_rate: PretrainLearningRate = 1e-3
    pretrain_optimizer: PretrainOptimizer = "adam"
    flip: Annotated[
        bool, Help("Whether views of images may be mirrored. Use false where left and right matter, as for digits.")
    ] = True


@dataclass(kw_only=True, eq=False, repr=False)
class SelfSupervision:
    """What a party learns by self-supervision, and how."""

    objective: Annotated[str | type[Objective] | OwnObjective, Help("What parties learn alone.")] = "simsiam"
    projection: Annotated[
        int,
        Ge(1),
        Help(
            "Width of the projector that pre-training puts on the encoder, and drops afterwards. "
            "The authors use 512 for encoders as wide."
        ),
    ] = 128
    rate: Annotated[
        float | None, Gt(0), Help("Share of columns that a view distorts. None: the objective's own, 0.3 (scarf 0.6).")
    ] = None
    cosine: Annotated[
        bool, Help("Let the learning rate of pre-training fall to 0 along a cosine, except the predictor's.")
    ] = True


AVERAGED = Must(
    f"a list of some of {', '.join(SHARED)}",
    lambda v: isinstance(v, tuple | list) and bool(v) and all(part in SHARED for part in v),
)


@dataclass(kw_only=True, eq=False, repr=False)
class Averages:
    """Averaging of the parties' local encoders in pre-training (He et al. 2022, step 3)."""

    aggregate: Aggregate = False
    averaged: Annotated[
        tuple[str, ...],
        AVERAGED,
        Help("Parts that aggregate averages: some of top, projector and predictor.", "Use e.g. ['top']."),
    ] = SHARED
    secure_aggregation: Annotated[
        bool,
        Help(
            "Mask what is averaged, so that only the sum over all parties can be read. Needs three parties to hide one."
        ),
    ] = False
