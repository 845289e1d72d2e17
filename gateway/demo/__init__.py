"""The demo: a fictional company with documents, people and one agent."""
