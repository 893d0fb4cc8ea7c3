"""Colonnade: vertical federated learning for few labels, little overlap and expensive rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from colonnade.advisor import Advice, Appraisal, advise, appraise
    from colonnade.data import Labels, Split, VerticalData, split
    from colonnade.data.datasets import DATASETS
    from colonnade.errors import ColonnadeError, ConfigError, DataError, WireError
    from colonnade.methods import (
        METHODS,
        MMVFL,
        SSVFL,
        SSVFLC,
        SSVFLDP,
        SSVFLI,
        VAFL,
        VFLHLP,
        VFLHLPA,
        VFLHLPP,
        Combined,
        FedCSSL,
        FedGSSL,
        FedGSSLStar,
        FedHSSL,
        FedHSSLStar,
        FedLocalSSL,
        FedOnce,
        FedOnceL1,
        FedOnceMulti,
        FedOncePCA,
        Hybrid,
        LightGBM,
        Linear,
        Local,
        Method,
        SecureBoost,
        SplitNN,
    )
    from colonnade.methods.store import load
    from colonnade.objectives import OBJECTIVES, Objective

# Names are imported when they are first used, so that `colonnade --help` does not wait for torch.
_HOME = {
    **dict.fromkeys(("Labels", "Split", "VerticalData", "split"), "colonnade.data"),
    "DATASETS": "colonnade.data.datasets",
    **dict.fromkeys(("OBJECTIVES", "Objective"), "colonnade.objectives"),
    **dict.fromkeys(("ColonnadeError", "ConfigError", "DataError", "WireError"), "colonnade.errors"),
    **dict.fromkeys(("METHODS", "Combined", "LightGBM", "Linear", "Local", "Method", "SplitNN"), "colonnade.methods"),
    **dict.fromkeys(
        (
            "Hybrid",
            "SecureBoost",
            "SSVFL",
            "SSVFLC",
            "SSVFLDP",
            "SSVFLI",
            "FedLocalSSL",
            "FedOnce",
            "FedOnceL1",
            "FedOnceMulti",
            "FedOncePCA",
        ),
        "colonnade.methods",
    ),
    **dict.fromkeys(("MMVFL", "VAFL", "VFLHLP", "VFLHLPA", "VFLHLPP"), "colonnade.methods"),
    **dict.fromkeys(("FedCSSL", "FedGSSL", "FedGSSLStar", "FedHSSL", "FedHSSLStar"), "colonnade.methods"),
    "load": "colonnade.methods.store",
    **dict.fromkeys(("Advice", "Appraisal", "advise", "appraise"), "colonnade.advisor"),
}

__all__ = [
    "DATASETS",
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
