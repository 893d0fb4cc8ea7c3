"""Trained networks as ONNX files: one for each party's encoder, one for the head; each checked before it is left.

colonnade.export.export_onnx(model, "onnx/")
colonnade.export.export_encoder(party, "splitnn", draft)    # one party's alone, at its own site
"""

from colonnade.export.check import ExportError
from colonnade.export.folder import export_onnx
from colonnade.export.parts import Exported, export_encoder, export_head

__all__ = ["ExportError", "Exported", "export_encoder", "export_head", "export_onnx"]
