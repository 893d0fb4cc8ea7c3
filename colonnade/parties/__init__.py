"""Parties: what each holds, what may be asked of it, and the federation as a method sees it."""
