"""Rules of the house that import-linter cannot state. `python -m benchmarks.gates` checks them, as `make lint` does."""
