"""scipy.optimize.milp as a solver: a Python package that takes arrays and hands back a point."""

from odtc.extend import Dialect, Job, Outcome, Termination

TYPE = "solver"
NAME = "scipy_milp"
SUMMARY = "scipy.optimize.milp, in a process of its own"
DIALECT = Dialect(reads=("mps",))  # the files of a job script; here it takes arrays
ENDS = {0: Termination.OPTIMAL, 1: Termination.TIME_LIMIT, 2: Termination.INFEASIBLE, 3: Termination.UNBOUNDED}


def version() -> str | None:
    import scipy

    return scipy.__version__


def read_log(text: str) -> None:
    """It has no log."""


def run(job: Job, emit, cancelled) -> Outcome:
    from scipy.optimize import Bounds, LinearConstraint, milp

    limit = {} if job.options.time_limit is None else {"time_limit": job.options.time_limit}
    found = milp(
        job.c,
        constraints=LinearConstraint(job.A, job.row_lower, job.row_upper) if job.A.shape[0] else None,
        bounds=Bounds(job.col_lower, job.col_upper),
        integrality=job.integrality,
        options={"mip_rel_gap": job.options.gap, **limit},
    )
    end = ENDS.get(found.status, Termination.UNKNOWN)
    if found.x is None:
        return Outcome(None, end)
    bound = found.mip_dual_bound if job.integrality.any() else found.fun
    return Outcome(found.x, end, found.fun + job.offset, None if bound is None else bound + job.offset)
