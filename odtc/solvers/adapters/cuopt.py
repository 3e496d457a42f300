"""NVIDIA cuOpt: cuopt_cli, its command line, as documented; it was never run by us.

Source of the log format: cuOpt source, mip_solver_solution and pdlp_solver_solution; docs/reference/file-formats.md.
"""

import re

from odtc.fileformats.status_words import CUOPT
from odtc.model.solution import Termination
from odtc.solvers.protocols import Dialect

NAME = "cuOpt"
SUMMARY = "NVIDIA, by cuopt_cli on a GPU; MIP and LP (as documented, not tested on one)"
DIALECT = Dialect(reads=("mps", "fixed-mps"), start="name-value", start_suffix=".sol", duals=True)
PROGRAMS = ("cuopt_cli",)
VERSION = (("--version",), r"(\d+\.\d+\S*)")
COMMAND = "cuopt"
SOLUTION = "file"

STATUS = re.compile(r"^(?:.*\bstatus\b|# Status)\s*[:=]\s*([A-Za-z ]+?)\s*(?:[,;.].*)?$", re.M | re.I)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from the last line of the log with a status; the words are compared without blanks."""
    if "cuopt" not in text.lower():
        return None
    named = ["".join(words.split()).lower() for words in STATUS.findall(text)]
    found = [CUOPT[words] for words in named if words in CUOPT]
    return found[-1] if found else None
