"""The readers of data files. One module a format."""
