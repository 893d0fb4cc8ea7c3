"""What methods have in common: a setting that rewards one of them rewards the others that share the trait."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PARTNERS = "reads the partners' columns"
TOGETHER = "encoders learn with the head, over the wire"
PRETRAINED = "parties first learn alone, from unlabelled rows"
BETWEEN = "parties learn from one another's unlabelled aligned rows"
AGREEMENT = "predictions of unlabelled aligned rows have to agree"
OWN_LABELS = "learns from the active party's unaligned labels"
TREES = "boosted trees"
LINEAR = "linear at every party"

TRAITS: dict[str, tuple[str, ...]] = {
    "local": (OWN_LABELS,),
    "splitnn": (PARTNERS, TOGETHER),
    "vafl": (PARTNERS, TOGETHER),
    "mmvfl": (PARTNERS, LINEAR),
    "secureboost": (PARTNERS, TREES),
    "ss-vfl-i": (PARTNERS, PRETRAINED),
    "ss-vfl-c": (PARTNERS, TOGETHER, PRETRAINED),
    "fed-local-ssl": (PARTNERS, TOGETHER, PRETRAINED),
    "fedonce": (PARTNERS, PRETRAINED),
    "fedonce-pca": (PARTNERS, LINEAR),
    "fedonce-multi": (PARTNERS, TOGETHER, PRETRAINED),
    "fedonce-l1": (PARTNERS,),
    "vflhlp": (PARTNERS, TOGETHER, PRETRAINED, OWN_LABELS),
    "vflhlp-a": (PARTNERS, TOGETHER, OWN_LABELS),
    "vflhlp-p": (PARTNERS, TOGETHER, PRETRAINED),
    "fedcssl": (PARTNERS, TOGETHER, BETWEEN),
    "fedgssl": (PARTNERS, TOGETHER, PRETRAINED, BETWEEN),
    "fedhssl": (PARTNERS, TOGETHER, PRETRAINED, BETWEEN),
    "fedgssl*": (PARTNERS, TOGETHER, PRETRAINED, BETWEEN),
    "fedhssl*": (PARTNERS, TOGETHER, PRETRAINED, BETWEEN),
    "ssvfl": (PARTNERS, TOGETHER, AGREEMENT),
    "ssvfl-dp": (PARTNERS, TOGETHER, AGREEMENT),
    "hybrid": (PARTNERS, TOGETHER, PRETRAINED, BETWEEN, AGREEMENT, OWN_LABELS),
}
_EVERY = (PARTNERS, TOGETHER, PRETRAINED, BETWEEN, AGREEMENT, OWN_LABELS, TREES, LINEAR)


def trait_table(methods: list[str]) -> npt.NDArray[np.float64]:
    """(N, number of traits): 1 where a method has a trait; the first column is `PARTNERS`."""
    return np.array([[float(trait in TRAITS[method]) for trait in _EVERY] for method in methods])
