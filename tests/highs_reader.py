"""A model file as HiGHS reads it: the independent reader that ours is compared with."""

from pathlib import Path

import numpy as np

from odtc.errors import ModelError
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model


def read_model(path) -> Model:
    """A model file as HiGHS reads it: MPS or LP, also .gz. Raises ModelError with its words."""
    import highspy
    import scipy.sparse as sp

    path = str(path)
    if not Path(path).is_file():
        raise ModelError(f"expected a model file (.mps, .lp, also .gz), got {path!r}, which is no file")
    h, said = highspy.Highs(), []
    h.setOptionValue("log_to_console", False)
    h.cbLogging.subscribe(lambda event: said.append(event.message))
    if h.readModel(path) == highspy.HighsStatus.kError:
        words = " ".join("".join(said).split()).removeprefix("ERROR: ")
        raise ModelError(f"HiGHS cannot read {path!r} as a model: {words or 'is it an MPS or LP file?'}")
    lp = h.getLp()
    matrix = sp.csc_array(
        (
            np.array(lp.a_matrix_.value_),
            np.array(lp.a_matrix_.index_, np.int32),
            np.array(lp.a_matrix_.start_, np.int32),
        ),
        shape=(lp.num_row_, lp.num_col_),
    )
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    whole = np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_] or [0] * lp.num_col_, np.uint8)
    return Model(
        Path(path).name,
        sign * np.array(lp.col_cost_, float),
        sign * lp.offset_,
        np.array(lp.row_lower_, float),
        np.array(lp.row_upper_, float),
        np.array(lp.col_lower_, float),
        np.array(lp.col_upper_, float),
        whole,
        (NamedBlock(tuple(lp.col_names_)),),
        (NamedBlock(tuple(lp.row_names_)),),
        matrix=matrix,
    )
