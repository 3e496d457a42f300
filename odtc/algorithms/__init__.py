"""Algorithms on plain arrays: nothing here knows a data set, a tree in words, or a model. Imports base only."""
