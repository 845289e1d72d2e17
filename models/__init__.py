"""Model files and the encoders that run them."""
