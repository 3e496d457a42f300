"""What a result tells, in lines: on screen, and of a printed fit in Python."""
