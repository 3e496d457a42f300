"""The sparse solution file of HiGHS (style 4): only nonzero values. It is read by `highs`.

Source: HiGHS documentation, "writeSolution"; docs/reference/file-formats.md. Lines `name value index` follow a
negative number of columns.
"""

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats.model_files import gather, lines, name_table, number_table, text_table
from odtc.model.milp import Model
from odtc.model.solution import Termination

NAME = "highs-sparse"
SUFFIX = ".sol"
SUMMARY = "HiGHS raw solution file, sparse (written here, read as highs)"


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    status = "Optimal" if termination == Termination.OPTIMAL else "Unknown"
    which = np.flatnonzero(x)
    stream.write(
        f"Model status\n{status}\n\n# Primal solution values\nFeasible\n"
        f"Objective {show_number(model.objective(x))}\n# Columns -{len(which)}\n".encode("ascii")
    )
    if len(which):
        texts, code = number_table(x[which])
        places = text_table([str(place) for place in which])
        stream.write(lines(gather(name_table(model.columns), which), " ", gather(texts, code), " ", places, "\n"))
