"""The check of a certificate under constraints: its own reader of constraints, bounds by multipliers, and lists."""
