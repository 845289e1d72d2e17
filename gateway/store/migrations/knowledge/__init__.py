"""Migrations of the knowledge database."""
