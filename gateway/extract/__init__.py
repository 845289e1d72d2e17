"""Reading untrusted files in a sandboxed child."""
