"""Adapters for chat platforms: the same four files each."""
