"""Pages: plain ES modules, no build step."""
