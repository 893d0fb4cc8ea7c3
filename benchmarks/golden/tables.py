"""What the cases know of the methods: small options, and which of them can do what."""

from __future__ import annotations

from typing import Any

from .data import Data

NETWORK: dict[str, Any] = {"hidden": (8,), "width": 4, "epochs": 3, "batch_size": 32, "learning_rate": 0.01}
TAUGHT: dict[str, Any] = {**NETWORK, "pretrain_epochs": 2, "pretrain_batch_size": 32}
PROJECTED: dict[str, Any] = {**TAUGHT, "projection": 8}

# every method of `cn.METHODS`, small
METHODS: dict[str, dict[str, Any]] = {
    "local": NETWORK,
    "splitnn": NETWORK,
    "vafl": NETWORK,
    "mmvfl": {"epochs": 3},
    "secureboost": {"trees": 3, "depth": 3, "encrypt": False},
    "combined": NETWORK,
    "linear": {},
    "lightgbm": {"trees": 5},
    "ss-vfl-i": PROJECTED,
    "ss-vfl-c": PROJECTED,
    "fed-local-ssl": PROJECTED,
    "fedonce": TAUGHT,
    "fedonce-pca": {**NETWORK, "width": 3},
    "fedonce-multi": TAUGHT,
    "fedonce-l1": {"epochs": 2, "epsilon": 200.0},
    "vflhlp": TAUGHT,
    "vflhlp-a": NETWORK,
    "vflhlp-p": TAUGHT,
    **dict.fromkeys(("fedcssl", "fedgssl", "fedhssl", "fedgssl*", "fedhssl*"), PROJECTED),
    "ssvfl": NETWORK,
    "ssvfl-dp": NETWORK,
    "hybrid": PROJECTED,
}
NO_REGRESSION = ("mmvfl", "ssvfl", "ssvfl-dp")
ALONE = ("combined", "linear", "lightgbm")  # all columns in one place
TOGETHER = tuple(name for name in METHODS if name not in (*ALONE, "local"))  # methods whose parties talk
SENT = tuple(name for name in TOGETHER if name != "secureboost")  # with codecs, protections, late parties, and sites
OWN_COLUMNS = ("vflhlp", "vflhlp-a", "fedcssl", "fedgssl", "fedhssl", "fedgssl*", "fedhssl*", "hybrid")
EPSILON = ("local", "splitnn", "combined", "fed-local-ssl", "ss-vfl-i", "ss-vfl-c", "fedonce-l1")

# options where encoders differ, or are the user's: their tops cannot be averaged
MIXED: dict[str, dict[str, Any]] = {
    name: {"averaged": ("projector",)} for name in ("fed-local-ssl", "fedhssl", "fedhssl*")
}

PROTECTED: list[tuple[str, str]] = [
    *((name, "iso:representation:0.1") for name in SENT),
    ("splitnn", "marvell:gradient:4"),
    ("splitnn", "gaussian:gradient:1:2"),
    ("splitnn", "noise:representation:0.2@train+iso:gradient:0.1"),
    ("fedonce", "gaussian:representation:1:2"),
    ("fedhssl", "iso:parameters:0.1"),
    ("fedhssl", "gaussian:average:1:2"),
    ("fedhssl", "iso:target:0.1+iso:projection:0.1"),
]

_FEW = Data(parties=3, rows=150, labels=0.4, aligned=0.5)
_THREE = Data(parties=3)
EXTRA: list[tuple[str, dict[str, Any], Data]] = [
    *(("splitnn", {"join": join}, Data(parties=4, columns="equal")) for join in ("mean", "sum")),
    *(("splitnn", {"optimizer": name}, _THREE) for name in ("sgd", "adagrad")),
    ("splitnn", {"head_hidden": (6,), "hidden": (8, 8)}, _THREE),
    ("splitnn", {"precision": "bf16"}, Data(parties=4, columns="equal")),
    ("splitnn", {"max_bytes": 20_000}, _THREE),
    ("splitnn", {"patience": 1, "epochs": 12, "learning_rate": 0.2}, _THREE),
    ("splitnn", {"image_encoder": "cnn1", "epochs": 1}, Data(columns="images", rows=40)),
    ("vafl", {"speeds": {"p1": 1.0, "p2": 3.0}}, _THREE),
    ("vafl", {"max_staleness": 2}, _THREE),
    ("vafl", {"noise": 0.1}, _THREE),
    ("mmvfl", {"beta": 1.0, "eta": 10.0}, _FEW),
    ("secureboost", {"encrypt": True, "trees": 1, "depth": 2, "key_bits": 1024}, Data(parties=3, rows=60)),
    ("secureboost", {"first_alone": True, "subsample": 0.7}, _THREE),
    *(
        ("fed-local-ssl", {"objective": name}, Data(parties=4, columns="equal"))
        for name in ("byol", "moco", "contrastive", "scarf", "nat")
    ),
    ("fed-local-ssl", {"aggregate": True}, _THREE),
    ("fed-local-ssl", {"aggregate": True, "secure_aggregation": True}, _THREE),
    ("fed-local-ssl", {"precision": "bf16"}, _THREE),
    ("fedonce", {"frequency": 2, "assignment": "fixed"}, _THREE),
    *(("fedhssl", {"objective": name}, _FEW) for name in ("byol", "moco")),
    ("fedhssl", {"updates": 2, "staleness": 1}, _THREE),
    ("fedhssl", {"gamma": 0.0}, _THREE),
    ("fedhssl", {"aggregate": False}, _THREE),
    ("fedhssl", {"secure_aggregation": True}, _THREE),
    ("fedhssl", {"averaged": ("projector",), "cosine": False}, _FEW),
    ("fedhssl", {"precision": "bf16"}, _THREE),
    ("fedhssl", {"late": ("p1",), "objective": "moco"}, _THREE),
    ("vflhlp", {"warm_start": True}, _FEW),
    ("ssvfl", {"contrast": 0.0, "loss": "mse"}, _FEW),
    ("ssvfl", {"consistency": 0.0, "join": "concat"}, _FEW),
    ("hybrid", {"warm_start": True, "unaligned": 0.0}, _FEW),
    ("hybrid", {"gamma": 0.0, "consistency": (1.0, 1.0)}, _FEW),
]
