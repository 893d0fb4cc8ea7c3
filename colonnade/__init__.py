"""Colonnade: vertical federated learning for few labels, little overlap and expensive rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from colonnade.data import Labels, Split, VerticalData, split
    from colonnade.data.datasets import DATASETS
    from colonnade.errors import ColonnadeError, ConfigError, DataError, WireError
    from colonnade.lab.advisor import Advice, Appraisal, advise, appraise
    from colonnade.methods._base.method import Method
    from colonnade.methods._base.store import FORMAT
    from colonnade.methods.fed_local_ssl import FedLocalSSL
    from colonnade.methods.fedhssl.methods import FedCSSL, FedGSSL, FedGSSLStar, FedHSSL, FedHSSLStar
    from colonnade.methods.fedonce import FedOnce, FedOnceMulti, FedOncePCA
    from colonnade.methods.fedonce_l1 import FedOnceL1
    from colonnade.methods.hybrid import Hybrid
    from colonnade.methods.local import Local
    from colonnade.methods.mmvfl.mmvfl import MMVFL
    from colonnade.methods.references.combined import Combined
    from colonnade.methods.references.lightgbm import LightGBM
    from colonnade.methods.references.linear import Linear
    from colonnade.methods.registry import METHODS, load
    from colonnade.methods.secureboost.secureboost import SecureBoost
    from colonnade.methods.splitnn import SplitNN
    from colonnade.methods.ss_vfl import SSVFLC, SSVFLI
    from colonnade.methods.ssvfl import SSVFL, SSVFLDP
    from colonnade.methods.vafl import VAFL
    from colonnade.methods.vflhlp import VFLHLP, VFLHLPA, VFLHLPP
    from colonnade.objectives import OBJECTIVES, Objective

# Names are imported when they are first used, so that `colonnade --help` does not wait for torch.
_ROOMS = {
    "colonnade.data": (
        "Labels",
        "Split",
        "VerticalData",
        "split",
    ),
    "colonnade.data.datasets": ("DATASETS",),
    "colonnade.errors": (
        "ColonnadeError",
        "ConfigError",
        "DataError",
        "WireError",
    ),
    "colonnade.objectives": (
        "OBJECTIVES",
        "Objective",
    ),
    "colonnade.methods._base.method": ("Method",),
    "colonnade.methods._base.store": ("FORMAT",),
    "colonnade.methods.fed_local_ssl": ("FedLocalSSL",),
    "colonnade.methods.fedhssl.methods": (
        "FedCSSL",
        "FedGSSL",
        "FedGSSLStar",
        "FedHSSL",
        "FedHSSLStar",
    ),
    "colonnade.methods.fedonce": (
        "FedOnce",
        "FedOnceMulti",
        "FedOncePCA",
    ),
    "colonnade.methods.fedonce_l1": ("FedOnceL1",),
    "colonnade.methods.hybrid": ("Hybrid",),
    "colonnade.methods.local": ("Local",),
    "colonnade.methods.mmvfl.mmvfl": ("MMVFL",),
    "colonnade.methods.references.combined": ("Combined",),
    "colonnade.methods.references.lightgbm": ("LightGBM",),
    "colonnade.methods.references.linear": ("Linear",),
    "colonnade.methods.secureboost.secureboost": ("SecureBoost",),
    "colonnade.methods.splitnn": ("SplitNN",),
    "colonnade.methods.ss_vfl": (
        "SSVFLC",
        "SSVFLI",
    ),
    "colonnade.methods.ssvfl": (
        "SSVFL",
        "SSVFLDP",
    ),
    "colonnade.methods.vafl": ("VAFL",),
    "colonnade.methods.vflhlp": (
        "VFLHLP",
        "VFLHLPA",
        "VFLHLPP",
    ),
    "colonnade.methods.registry": (
        "METHODS",
        "load",
    ),
    "colonnade.lab.advisor": (
        "Advice",
        "Appraisal",
        "advise",
        "appraise",
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "DATASETS",
    "FORMAT",
    "METHODS",
    "MMVFL",
    "OBJECTIVES",
    "SSVFL",
    "SSVFLC",
    "SSVFLDP",
    "SSVFLI",
    "VAFL",
    "VFLHLP",
    "VFLHLPA",
    "VFLHLPP",
    "Advice",
    "Appraisal",
    "ColonnadeError",
    "Combined",
    "ConfigError",
    "DataError",
    "FedCSSL",
    "FedGSSL",
    "FedGSSLStar",
    "FedHSSL",
    "FedHSSLStar",
    "FedLocalSSL",
    "FedOnce",
    "FedOnceL1",
    "FedOnceMulti",
    "FedOncePCA",
    "Hybrid",
    "Labels",
    "LightGBM",
    "Linear",
    "Local",
    "Method",
    "Objective",
    "SecureBoost",
    "Split",
    "SplitNN",
    "VerticalData",
    "WireError",
    "advise",
    "appraise",
    "load",
    "split",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'colonnade' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
