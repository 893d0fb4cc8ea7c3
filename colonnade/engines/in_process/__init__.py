"""The default engine: all parties in one process."""
