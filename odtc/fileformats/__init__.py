"""Model files (MPS, LP) and solution files, written and read. Knows no tree and no data: imports model and base."""
