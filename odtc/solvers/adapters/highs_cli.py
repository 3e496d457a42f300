"""HiGHS by its command line: the program `highs`, or the one inside the package highsbox.

HiGHS documentation, "Executable"; docs/reference/file-formats.md.
"""

import importlib.util
import re
from pathlib import Path

from odtc.model.solution import Termination
from odtc.solvers.executables import Program
from odtc.solvers.log_parser import HIGHS_BOUND, HIGHS_NODES, HIGHS_STARTED
from odtc.solvers.protocols import Dialect

NAME = "HiGHS (command line)"
SUMMARY = "the program highs, also from the package highsbox; MIP and LP"
DIALECT = Dialect(start="highs", duals=True)
PROGRAMS = ("highs",)
PACKAGE = "highsbox"
VERSION = (("--version",), r"HiGHS version (\S+)")
COMMAND = "highs-cli"
SOLUTION = "file"
LIVE = re.compile(r"^ [A-Za-z ] +\S+ +\S+ +\S+ +[\d.]+% +(?P<bound>\S+) +(?P<incumbent>\S+) +(?:[\d.]+%|inf|Large) ")
OPTIONS = True
BOUND, NODES, STARTED = HIGHS_BOUND, HIGHS_NODES, HIGHS_STARTED


def bundled() -> Program:
    """Return the program inside highsbox, which needs its own libraries."""
    folder = Path(importlib.util.find_spec(PACKAGE).origin).parent / "highs_dist"
    return Program(
        (str(folder / "bin" / "highs"),), COMMAND, f"package {PACKAGE}", {"LD_LIBRARY_PATH": str(folder / "lib")}
    )


def read_log(text: str) -> Termination | None:
    """None: the solution file holds the status, and the embedded HiGHS reads such logs."""
    return None
