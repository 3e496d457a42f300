"""CPLEX through its Python package; status codes: CPLEX callable library, "Solution status codes"."""

import sys
from typing import Any

STATUS = {
    1: "optimal",
    2: "unbounded",
    3: "infeasible",
    4: "infeasible_or_unbounded",
    11: "time_limit",
    13: "interrupted",
    101: "optimal",
    102: "optimal",
    103: "infeasible",
    107: "time_limit",
    108: "time_limit",
    113: "interrupted",
    114: "interrupted",
    118: "unbounded",
    119: "infeasible_or_unbounded",
}


def solve(job: Any) -> Any:
    import cplex

    model = cplex.Cplex()
    for channel in (model.set_log_stream, model.set_results_stream, model.set_warning_stream, model.set_error_stream):
        channel(sys.stdout)
    model.read(job.model)
    model.parameters.mip.tolerances.mipgap.set(job.gap)
    model.parameters.mip.tolerances.absmipgap.set(job.gap)
    model.parameters.randomseed.set(job.seed)
    if job.threads:
        model.parameters.threads.set(job.threads)
    if job.time_limit:
        model.parameters.timelimit.set(job.time_limit)
    if job.start:
        model.MIP_starts.read(job.start)
    model.solve()
    status = STATUS.get(model.solution.get_status(), "unknown")
    if model.solution.is_primal_feasible() and status != "unbounded":
        model.solution.write(job.solution)
    is_mip = model.problem_type[model.get_problem_type()] in ("MILP", "MIQP")
    return status, model.solution.MIP.get_best_objective() if is_mip and status != "infeasible" else None
