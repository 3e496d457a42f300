"""Gurobi through gurobipy; status codes: Gurobi reference manual, "Optimization status codes"."""

from typing import Any

STATUS = {
    2: "optimal",
    3: "infeasible",
    4: "infeasible_or_unbounded",
    5: "unbounded",
    9: "time_limit",
    11: "interrupted",
}


def solve(job: Any) -> Any:
    import gurobipy

    model = gurobipy.read(job.model)
    model.Params.MIPGap = model.Params.MIPGapAbs = job.gap
    model.Params.Seed = job.seed
    if job.threads:
        model.Params.Threads = job.threads
    if job.time_limit:
        model.Params.TimeLimit = job.time_limit
    if job.start:
        model.read(job.start)
    model.optimize()
    status = STATUS.get(model.Status, "unknown")
    if model.SolCount and status != "unbounded":
        model.write(job.solution)
    return status, model.ObjBound if model.IsMIP else None
