"""Collections, sources, ingestion, search and the citation log."""
