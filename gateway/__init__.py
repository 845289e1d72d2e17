"""Shutten: a chat gateway that answers from a company's documents and names its sources."""
