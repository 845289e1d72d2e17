"""Vectors computed by a cloud provider, with consent and after redaction (A14)."""
