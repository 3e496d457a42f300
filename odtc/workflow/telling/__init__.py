"""Lines that report a result: on screen, and for a printed fit in Python."""
