"""Proofs at length: random worlds against rules written down a second time."""
