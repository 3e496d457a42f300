"""HiGHS through highspy: arrays in, events while it runs, no file between.

HiGHS documentation, "Options" and "Callbacks"; what it does with starts and limits: FORMATS §7, §10.
"""

import re
import time
from functools import cache
from pathlib import Path

import numpy as np

from odtc.dialect import Dialect
from odtc.errors import ModelError, SolverError
from odtc.model import Model, NamedBlock
from odtc.solution import Incumbent, Job, Log, Outcome, Progress, Termination

NAME = "HiGHS"
SUMMARY = "embedded, through the package highspy; MIP and LP"
DIALECT = Dialect(reads=("mps", "lp", "fixed-mps"), start="highs", duals=True)

# HighsModelStatus by name; the words of its log differ between versions, the names do not.
STATUS = {
    "kOptimal": Termination.OPTIMAL,
    "kInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.UNBOUNDED,
    "kUnboundedOrInfeasible": Termination.INFEASIBLE_OR_UNBOUNDED,
    "kTimeLimit": Termination.TIME_LIMIT,
    "kInterrupt": Termination.INTERRUPTED,
    "kHighsInterrupt": Termination.INTERRUPTED,
    "kModelEmpty": Termination.OPTIMAL,
}


# The same in its log.
WORDS = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "primal infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "interrupted by user": Termination.INTERRUPTED,
}


@cache
def version() -> str | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("highspy")
    except PackageNotFoundError:
        return None


def run(job: Job, emit, cancelled) -> Outcome:
    """Solves the job in this thread's process; `emit` and `cancelled` as in odtc.solver."""
    import highspy

    h = highspy.Highs()
    options = {
        "output_flag": True, "log_to_console": False, "random_seed": job.options.seed,
        "mip_rel_gap": job.options.gap, "mip_abs_gap": job.options.gap,
    }
    if job.options.time_limit is not None:
        options["time_limit"] = float(job.options.time_limit)
    if job.options.threads is not None:
        highspy.Highs.resetGlobalScheduler(True)  # the number of threads is fixed at its first use
        options["threads"] = job.options.threads
    for key, value in options.items():
        h.setOptionValue(key, value)
    A, whole = job.A, bool(job.integrality.any())
    n_rows, n_cols = A.shape
    status = h.passModel(
        n_cols, n_rows, A.nnz, int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize), job.offset,
        job.c, job.col_lower, job.col_upper, job.row_lower, job.row_upper,
        A.indptr.astype(np.int32, copy=False), A.indices.astype(np.int32, copy=False), A.data,
        job.integrality.astype(np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refuses the model's arrays")
    if job.start is not None and whole:
        point = highspy.HighsSolution()
        point.col_value = job.start.tolist()
        h.setSolution(point)

    began, verdict = time.monotonic(), ["none"]

    def on_log(event):
        if "MIP start solution is" in event.message:
            verdict[0] = "accepted" if "is feasible" in event.message else "rejected"
        emit(Log(event.message))

    def on_progress(event):
        out = event.data_out
        emit(Progress(time.monotonic() - began, _finite(out.mip_primal_bound), _finite(out.mip_dual_bound),
                      int(out.mip_node_count)))

    h.cbLogging.subscribe(on_log)
    h.cbMipLogging.subscribe(on_progress)
    h.cbMipImprovingSolution.subscribe(lambda event: emit(Incumbent(np.array(event.data_out.mip_solution))))
    for interrupt in (h.cbSimplexInterrupt, h.cbIpmInterrupt, h.cbMipInterrupt):
        interrupt.subscribe(lambda event: event.interrupt(cancelled()))
    h.run()

    status, info = h.getModelStatus(), h.getInfo()
    termination = STATUS.get(status.name, Termination.UNKNOWN)
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if termination == Termination.UNBOUNDED:
        feasible = False  # a point on an unbounded ray says nothing
    x = np.array(h.getSolution().col_value) if feasible else None
    objective = info.objective_function_value if feasible else None
    if whole:
        bound, nodes = _finite(info.mip_dual_bound), max(0, int(info.mip_node_count))
    else:
        bound, nodes = (objective if termination == Termination.OPTIMAL else None), None
    if feasible or bound is not None:
        emit(Progress(time.monotonic() - began, objective, bound, nodes))
    message = h.modelStatusToString(status) if termination in (Termination.UNKNOWN, Termination.ERROR) else ""
    return Outcome(x, termination, objective, bound, nodes, verdict[0], message)


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
        (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_, np.int32), np.array(lp.a_matrix_.start_, np.int32)),
        shape=(lp.num_row_, lp.num_col_),
    )
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    whole = np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_] or [0] * lp.num_col_, np.uint8)
    return Model(
        Path(path).name, sign * np.array(lp.col_cost_, float), sign * lp.offset_, np.array(lp.row_lower_, float),
        np.array(lp.row_upper_, float), np.array(lp.col_lower_, float), np.array(lp.col_upper_, float), whole,
        (NamedBlock(tuple(lp.col_names_)),), (NamedBlock(tuple(lp.row_names_)),), matrix=matrix,
    )


def read_log(text: str) -> Termination | None:
    """From the report at the end of its log, "  Status            Optimal"."""
    if "Running HiGHS" not in text and "HiGHS" not in text[:2000] and "Solving report" not in text:
        return None
    found = re.search(r"^(?:Model status +: |  Status +)(.+)$", text, re.M)
    return WORDS.get(found[1].strip().lower()) if found else None


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e30 else None
