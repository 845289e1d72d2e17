"""The databases: one schema, migrations, blobs, indexes; no row or SQL leaves this folder."""
