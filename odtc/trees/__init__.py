"""A decision tree: its record, its layout on a complete tree, text, pictures and exports. Imports data and base."""
