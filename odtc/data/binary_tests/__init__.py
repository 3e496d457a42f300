"""The tests that columns of data have, and which of them answer all rows alike."""
