"""Language models: the built-in extractive one and OpenAI-compatible ones."""
