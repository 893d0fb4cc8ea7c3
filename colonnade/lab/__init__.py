"""Runs, reports, attacks, comparisons, reproduced tables and advice."""
