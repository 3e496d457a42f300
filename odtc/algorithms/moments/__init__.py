"""Trees whose leaves cost a function of sums over their rows: squared error, likelihood of events."""
