"""Migrations of the inbox database."""
