"""`python -m odtc` is the command line."""

from odtc.cli.app import main

main()
