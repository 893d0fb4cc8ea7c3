"""What a party can learn alone, from its own table."""

from colonnade.objectives.augment import Augmentation, corrupt, replace
from colonnade.objectives.base import Objective
from colonnade.objectives.byol import BYOL
from colonnade.objectives.contrastive import Contrastive
from colonnade.objectives.moco import MoCo
from colonnade.objectives.nat import NAT, assign
from colonnade.objectives.pca import PCA, LinearEncoder
from colonnade.objectives.scarf import Scarf
from colonnade.objectives.similarity import negative_cosine
from colonnade.objectives.simsiam import SimSiam
from colonnade.objectives.supervised import Supervised

#: every objective by name; PCA is fitted, the others are trained
OBJECTIVES: dict[str, type[Objective] | type[PCA]] = {
    "simsiam": SimSiam,
    "byol": BYOL,
    "moco": MoCo,
    "contrastive": Contrastive,
    "scarf": Scarf,
    "nat": NAT,
    "pca": PCA,
    "supervised": Supervised,
}

__all__ = [
    "BYOL",
    "NAT",
    "OBJECTIVES",
    "PCA",
    "Augmentation",
    "Contrastive",
    "LinearEncoder",
    "MoCo",
    "Objective",
    "Scarf",
    "SimSiam",
    "Supervised",
    "assign",
    "corrupt",
    "negative_cosine",
    "replace",
]
