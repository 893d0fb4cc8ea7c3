"""Comparisons of methods, tuning with one budget for all, and utility against leakage."""
