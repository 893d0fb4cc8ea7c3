"""Methods: one paper, one file."""

from colonnade.methods.base import Method
from colonnade.methods.combined import Combined
from colonnade.methods.fed_local_ssl import FedLocalSSL
from colonnade.methods.fedhssl import FedCSSL, FedGSSL, FedGSSLStar, FedHSSL, FedHSSLStar
from colonnade.methods.fedonce import FedOnce, FedOnceMulti, FedOncePCA
from colonnade.methods.fedonce_l1 import FedOnceL1
from colonnade.methods.hybrid import Hybrid
from colonnade.methods.lightgbm import LightGBM
from colonnade.methods.linear import Linear
from colonnade.methods.local import Local
from colonnade.methods.mmvfl import MMVFL
from colonnade.methods.secureboost import SecureBoost
from colonnade.methods.splitnn import SplitNN
from colonnade.methods.ss_vfl import SSVFLC, SSVFLI
from colonnade.methods.ssvfl import SSVFL, SSVFLDP
from colonnade.methods.vafl import VAFL
from colonnade.methods.vflhlp import VFLHLP, VFLHLPA, VFLHLPP

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

__all__ = [
    "METHODS",
    "MMVFL",
    "SSVFL",
    "SSVFLC",
    "SSVFLDP",
    "SSVFLI",
    "VAFL",
    "VFLHLP",
    "VFLHLPA",
    "VFLHLPP",
    "Combined",
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
    "LightGBM",
    "Linear",
    "Local",
    "Method",
    "SecureBoost",
    "SplitNN",
]
