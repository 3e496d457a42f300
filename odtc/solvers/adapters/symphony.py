"""SYMPHONY (COIN-OR): its command line, whose standard output is log and solution at once.

Source of the log format: SYMPHONY user's manual, master.c (`sym_solve`); docs/reference/file-formats.md.
"""

import os
import re

from odtc.fileformats.status_words import SYMPHONY
from odtc.model.solution import Termination
from odtc.solvers.protocols import Dialect

NAME = "SYMPHONY"
SUMMARY = "COIN-OR, by its command line; MIP, no starts"
# CoinUtils of Debian's build reads LP files with other bounds, so MPS comes first; no MIP start.
DIALECT = Dialect(reads=("mps", "fixed-mps"), gzip=False)
PROGRAMS = ("symphony",)
VERSION = (("-F", os.devnull), r"Version: (\S+)")
COMMAND = "symphony"
SOLUTION = "stdout"
BOUND = re.compile(r"^Current Lower Bound: +(\S+)", re.M)
WITHIN_GAP = re.compile(r"^\* Target gap achieved", re.M | re.I)
NODES = re.compile(r"^Number of analyzed nodes: +(\d+)", re.M)

BANNER = re.compile(r"^==  Welcome to the SYMPHONY MILP Solver", re.M)
LINE = re.compile(r"^\* (\S.*?) +\*\s*$", re.M)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from the box of stars in the log, "* Optimal Solution Found   *"."""
    if not BANNER.search(text):
        return None
    known = [SYMPHONY[word.lower()] for word in LINE.findall(text) if word.lower() in SYMPHONY]
    return known[-1] if known else None
