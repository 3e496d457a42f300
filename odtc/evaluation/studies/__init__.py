"""Studies of many fits: one engine for all, resumable, on one machine or on a cluster."""
