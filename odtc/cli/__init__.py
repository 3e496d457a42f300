"""The command line: each command parses, calls the workflow and prints. Imports all of the above."""
