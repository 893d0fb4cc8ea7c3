"""The command line: what is typed, and what is printed."""

from colonnade.cli.app import app, main

__all__ = ["app", "main"]
