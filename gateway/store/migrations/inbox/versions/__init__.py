"""Revisions, oldest first; forward only."""
