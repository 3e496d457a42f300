"""COPT through coptpy; status codes: COPT reference manual, "Solution status"."""

from typing import Any

STATUS = {
    1: "optimal",
    2: "infeasible",
    3: "unbounded",
    4: "infeasible_or_unbounded",
    8: "time_limit",
    10: "interrupted",
}


def solve(job: Any) -> Any:
    import coptpy

    model = coptpy.Envr().createModel("model")
    model.read(job.model)
    model.setParam("RelGap", job.gap)
    model.setParam("AbsGap", job.gap)
    model.setParam("RandSeed", job.seed)
    if job.threads:
        model.setParam("Threads", job.threads)
    if job.time_limit:
        model.setParam("TimeLimit", job.time_limit)
    if job.start:
        model.readMst(job.start)
    model.solve()
    status = STATUS.get(model.status, "unknown")
    has_point = bool(model.hasmipsol) if model.ismip else bool(model.haslpsol) and status == "optimal"
    if has_point:
        model.write(job.solution)
    return status, model.bestbnd if model.ismip and status != "infeasible" else None
