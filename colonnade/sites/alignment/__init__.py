"""Alignment between sites: set intersection over the link of the federation."""
