"""Code that several formulations share."""
