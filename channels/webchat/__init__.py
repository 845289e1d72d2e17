"""Signed-in web chat."""
