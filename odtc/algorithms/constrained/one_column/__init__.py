"""Trees that split on only one column: their leaves are intervals of its ranks."""
