"""Real clients of other people's, each in an environment of its own: `make test-clients`."""
