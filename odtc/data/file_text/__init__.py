"""The text of data files: whole signs of it in pieces, numbers as people write them, and marks of missing cells."""
