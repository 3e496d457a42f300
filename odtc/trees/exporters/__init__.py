"""Exporters that make a binary file; those that make text are templates in templates/tree."""
