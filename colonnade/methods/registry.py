"""All methods by name, and loading of saved ones: safetensors and JSON, never pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError, DataError, did_you_mean
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
from colonnade.methods.secureboost.secureboost import SecureBoost
from colonnade.methods.splitnn import SplitNN
from colonnade.methods.ss_vfl import SSVFLC, SSVFLI
from colonnade.methods.ssvfl import SSVFL, SSVFLDP
from colonnade.methods.vafl import VAFL
from colonnade.methods.vflhlp import VFLHLP, VFLHLPA, VFLHLPP
from colonnade.wire.meter import Traffic

METHODS: dict[str, type[Method]] = {
    "local": Local,
    "splitnn": SplitNN,
    "vafl": VAFL,
    "mmvfl": MMVFL,
    "secureboost": SecureBoost,
    "combined": Combined,
    "linear": Linear,
    "lightgbm": LightGBM,
    "ss-vfl-i": SSVFLI,
    "ss-vfl-c": SSVFLC,
    "fed-local-ssl": FedLocalSSL,
    "fedonce": FedOnce,
    "fedonce-pca": FedOncePCA,
    "fedonce-multi": FedOnceMulti,
    "fedonce-l1": FedOnceL1,
    "vflhlp": VFLHLP,
    "vflhlp-a": VFLHLPA,
    "vflhlp-p": VFLHLPP,
    "fedcssl": FedCSSL,
    "fedgssl": FedGSSL,
    "fedhssl": FedHSSL,
    "fedgssl*": FedGSSLStar,
    "fedhssl*": FedHSSLStar,
    "ssvfl": SSVFL,
    "ssvfl-dp": SSVFLDP,
    "hybrid": Hybrid,
}


def method_named(name: str) -> type[Method]:
    """The class of a method; an unknown name is an error that suggests the nearest."""
    if name not in METHODS:
        raise ConfigError(f"there is no method {name!r}. {did_you_mean(name, METHODS)}")
    return METHODS[name]


def load(folder: str | Path, *, encoders: Mapping[str, Any] | None = None) -> Method:
    """A model that `Method.save` wrote.

    Args:
        folder: where it was saved.
        encoders: the user's own modules by party, where the model was trained with some; their weights are loaded.
    """
    from safetensors.torch import load_file

    folder = Path(folder)
    try:
        saved = json.loads((folder / "model.json").read_text())
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} holds no saved model: {error}. Give the folder that model.save wrote.") from None
    if saved.get("format") != FORMAT:
        raise DataError(f"{folder} was saved in format {saved.get('format')!r}, and this version reads {FORMAT}.")
    options: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in saved["options"].items()}
    if options.get("encoders"):
        wanted = sorted(options["encoders"])
        if encoders is None or sorted(encoders) != wanted:
            raise ConfigError(
                f"{folder} was trained with own encoders for {wanted}. Pass them: load(folder, encoders=…)."
            )
        options["encoders"] = encoders
    model = method_named(saved["method"])(**options)
    model.task_, model.metric_, model.active_ = saved["task"], saved["metric"], saved["active"]
    model.history_, model.traffic_ = saved["history"], Traffic.from_json(saved["traffic"])
    model.restore(saved, {path.stem: load_file(path) for path in folder.glob("*.safetensors")})
    return model
