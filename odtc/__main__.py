"""`python -m odtc` is the command line."""

from odtc.base import interrupts

interrupts.hear(starting=True)

from odtc.cli.app import program  # noqa: E402  what takes time is imported once a signal has its answer

program()
