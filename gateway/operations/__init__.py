"""What the program can be asked to do, each declared once."""
