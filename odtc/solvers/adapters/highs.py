"""HiGHS through highspy: arrays in, events while it runs, no file in between.

Source: HiGHS documentation, "Options" and "Callbacks"; its behaviour with starts and limits:
docs/reference/file-formats.md.
"""

import io
import re
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from odtc.fileformats.status_words import HIGHS
from odtc.model.in_packages import new_highs, pass_to_highs
from odtc.model.solution import Progress, Termination
from odtc.solvers.log_buffer import TALK
from odtc.solvers.log_parser import HIGHS_BOUND, HIGHS_NODES, HIGHS_STARTED
from odtc.solvers.protocols import Dialect, Incumbent, Job, Log, Outcome

NAME = "HiGHS"
SUMMARY = "embedded, through the package highspy; MIP and LP"
ELSEWHERE = "highs-cli"  # the program that a script for another machine calls
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
BOUND, NODES, STARTED = HIGHS_BOUND, HIGHS_NODES, HIGHS_STARTED


@cache
def version() -> str | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("highspy")
    except PackageNotFoundError:
        return None


def run(job: Job, emit: Callable[[Any], object], cancelled: Callable[[], bool]) -> Outcome:
    """Solve the job in this thread's process; `emit` and `cancelled` as in odtc.solvers.solve."""
    import highspy

    h, whole = _loaded(job), bool(job.integrality.any())
    began, first_lines = time.monotonic(), io.StringIO()

    def on_log(event: Any) -> None:
        if first_lines.tell() < TALK:  # its start is checked before it branches
            first_lines.write(event.message)
        emit(Log(event.message))

    def on_progress(event: Any) -> None:
        out = event.data_out
        emit(
            Progress(
                time.monotonic() - began,
                _finite(out.mip_primal_bound),
                _finite(out.mip_dual_bound),
                int(out.mip_node_count),
            )
        )

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
    start = "none" if job.start is None or not whole else _start_taken(first_lines.getvalue())
    message = h.modelStatusToString(status) if termination in (Termination.UNKNOWN, Termination.ERROR) else ""
    return Outcome(x, termination, objective, bound, nodes, start, message)


def _loaded(job: Job) -> Any:
    """Return a highspy.Highs with the model, the options and the start of a job."""
    import highspy

    h = new_highs()
    options = {
        "output_flag": True,
        "log_to_console": False,
        "random_seed": job.options.seed,
        "mip_rel_gap": job.options.gap,
        "mip_abs_gap": job.options.gap,
    }
    if job.options.time_limit is not None:
        options["time_limit"] = float(job.options.time_limit)
    if job.options.threads is not None:
        highspy.Highs.resetGlobalScheduler(True)  # the number of threads is fixed at its first use
        options["threads"] = job.options.threads
    for key, value in options.items():
        h.setOptionValue(key, value)
    pass_to_highs(h, job)
    if job.start is not None and job.integrality.any():
        point = highspy.HighsSolution()
        point.col_value = job.start.tolist()
        h.setSolution(point)
    return h


def _start_taken(text: str) -> str:
    """Return whether a log reports that the start was accepted or rejected; "not confirmed" if it does not."""
    if STARTED.search(text):
        return "accepted"
    return "rejected" if "MIP start solution is" in text else "not confirmed"


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from the report at the end of the log, "  Status            Optimal"."""
    if "Running HiGHS" not in text and "HiGHS" not in text[:2000] and "Solving report" not in text:
        return None
    found = re.search(r"^(?:Model status +: |  Status +)(.+)$", text, re.M)
    return HIGHS.get(found[1].strip().lower()) if found else None


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e30 else None
