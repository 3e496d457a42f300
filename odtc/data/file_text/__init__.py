"""The text of data files: whole signs of it in pieces, and numbers as people write them."""
