"""Runs over NVIDIA FLARE: the classes that a job builds, and what the commands of the active party do."""
