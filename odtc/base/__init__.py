"""Foundations of all other packages: registry, deadline, memory, atomic writes, JSON schemas, templates.

Imports only odtc.errors.
"""
