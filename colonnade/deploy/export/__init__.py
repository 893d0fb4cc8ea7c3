"""Trained networks as ONNX files: one for each party's encoder, one for the head; each checked before it is left.

colonnade.deploy.export.export_onnx(model, "onnx/")
colonnade.deploy.export.export_encoder(party, "splitnn", draft)    # one party's alone, at its own site
"""

from colonnade.deploy.export.check import ExportError
from colonnade.deploy.export.folder import export_onnx
from colonnade.deploy.export.parts import Exported, export_encoder, export_head

__all__ = ["ExportError", "Exported", "export_encoder", "export_head", "export_onnx"]
