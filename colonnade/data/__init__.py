"""Data by sample id: views, labels, splits, preprocessing, datasets."""

from colonnade.data.labels import Labels
from colonnade.data.splits import Split, split, transductive
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View

__all__ = ["Labels", "Split", "VerticalData", "View", "split", "transductive"]
