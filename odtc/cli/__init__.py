"""The command line: the app, its options, its help and what it prints; the commands are in `commands`. Imports all of
the above."""
