"""Certificates, kits, processes and connections of a federation."""
