"""Results of a run: the claim, the facts, and the lines that show them on screen and in Python."""
