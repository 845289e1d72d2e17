"""The surfaces, from outside."""
