"""The command line: of `python -m odtc`, and of the command `odtc`."""

from odtc.base import interrupts

interrupts.hear(starting=True)

from odtc.cli.app import program  # noqa: E402  what takes time is imported once a signal has its answer

if __name__ == "__main__":
    program()
