"""From a data file to typed columns: readers of all formats, separators, encodings of text, missing marks, numbers and
dates as people write them.

The lowest of the three layers of odtc.data (cells, table, data set): it knows no features, labels or rows to keep.
"""
