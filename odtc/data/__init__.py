"""From a file to encoded rows: column types, readers, encodings, splits in the units of the data.

Imports algorithms and base.
"""
