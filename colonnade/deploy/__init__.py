"""Trained models in use: exported as ONNX files, served over HTTP."""
