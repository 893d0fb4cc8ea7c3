"""Runs between organisations: each party at a site of its own."""
