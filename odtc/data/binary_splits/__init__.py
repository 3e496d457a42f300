"""The possible splits on columns of data, and which of them have equal results for all rows."""
