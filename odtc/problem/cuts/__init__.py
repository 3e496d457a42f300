"""Cut families: their contract, and separation at the root relaxation."""
