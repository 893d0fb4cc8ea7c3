"""Boosted trees over columns that stay where they are: bins, histograms, splits, and what each side keeps of a tree."""
