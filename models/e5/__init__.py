"""Builds `multilingual-e5-small` from the weights a package ships, by arithmetic alone."""
