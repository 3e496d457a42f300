"""Bytes made smaller, and unpacked no further than a file of their kind can be."""
