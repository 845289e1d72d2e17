"""Language models, through their protocol."""
