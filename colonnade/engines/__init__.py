"""Engines: how a call reaches the passive parties."""
