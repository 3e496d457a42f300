"""The command line: the app, its options, its help and its output; the commands are in `commands`. Imports all
packages above."""
