"""Algorithms on plain arrays: nothing here uses a data set, a tree with names, or a model. Imports only odtc.base."""
