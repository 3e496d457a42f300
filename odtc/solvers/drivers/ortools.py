"""OR-tools reads the MPS file (ModelBuilder) and solves it with the SCIP inside; it writes `name value` lines.

SCIP's plain search has one thread, so --threads has no effect.
"""

from typing import Any


def solve(job: Any) -> Any:
    from ortools.linear_solver.python import model_builder

    model = model_builder.Model()
    if not model.import_from_mps_file(job.model):
        raise ValueError("OR-tools cannot read the MPS file")
    solver = model_builder.Solver("scip")
    solver.enable_output(True)
    if job.time_limit:
        from datetime import timedelta

        limit = timedelta(seconds=job.time_limit)
        try:
            solver.set_time_limit_in_seconds(job.time_limit)
        except AttributeError:
            solver.set_time_limit(limit)
    solver.set_solver_specific_parameters(
        f"limits/gap = {job.gap}\nlimits/absgap = {job.gap}\nrandomization/randomseedshift = {job.seed}"
    )
    found = solver.solve(model)
    status = {
        "OPTIMAL": "optimal",
        "FEASIBLE": "time_limit",
        "INFEASIBLE": "infeasible",
        "UNBOUNDED": "unbounded",
        "NOT_SOLVED": "time_limit",
        "ABNORMAL": "error",
        "MODEL_INVALID": "error",
    }.get(found.name, "unknown")
    if found.name in ("OPTIMAL", "FEASIBLE"):
        with open(job.solution, "w") as stream:
            stream.writelines(f"{v.name} {solver.value(v)!r}\n" for v in model.get_variables())
        return status, solver.best_objective_bound
    return status, None
