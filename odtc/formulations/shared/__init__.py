"""What several formulations share."""
