"""`python -m odtc` is the command line."""

from odtc.cli import main

main()
