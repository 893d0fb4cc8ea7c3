"""Predictions as a service at the active party: ids in, probabilities out, representations gathered from the parties.

    predictor = colonnade.deploy.serve.predictor_of(colonnade.load("my-run/model"), views)
    colonnade.deploy.serve.serve(predictor, colonnade.deploy.serve.Settings(port=8000))

The service knows a `Predictor`, and the predictor a `Source` of representations: in one process, or between sites.
"""

from colonnade.deploy.serve.predictor import GatheringPredictor, Prediction, Predictor
from colonnade.deploy.serve.server import Settings, serve
from colonnade.deploy.serve.source import Found, InProcessSource, Source, predictor_of

__all__ = [
    "Found",
    "GatheringPredictor",
    "InProcessSource",
    "Prediction",
    "Predictor",
    "Settings",
    "Source",
    "predictor_of",
    "serve",
]
