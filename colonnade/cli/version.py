"""Which versions are in use, found without importing anything heavy."""

from __future__ import annotations

import platform
from importlib.metadata import version

from colonnade import __version__


def version_text() -> str:
    """Versions of Colonnade, torch and Python, on one line."""
    return f"colonnade {__version__}, torch {version('torch')}, Python {platform.python_version()}"
