"""The property tests, a module for each kind of plug_in."""
