"""Xpress through its Python package; SolveStatus and SolStatus: Xpress Optimizer reference manual.

Without an incumbent its solution file would contain the linear relaxation, so it is written only if SolStatus reports
one. Ctrl-C would kill its library together with the incumbent, so the signal is kept from it and becomes a request to
stop.
"""

import threading
from typing import Any

from odtc.base import system


def solve(job: Any) -> Any:
    system.block_interrupt()  # also in the threads that it makes, from its import on
    import xpress

    xpress.init()
    model = xpress.problem()

    asked, done = threading.Event(), threading.Event()

    def stop() -> None:
        system.wait_for_interrupt()
        asked.set()
        while not done.wait(0.2):  # before its search it forgets that it was asked
            model.interrupt()

    threading.Thread(target=stop, daemon=True).start()
    # The text of a message is an argument of its callback, at another place in other versions.
    model.addcbmessage(lambda *words: print(next((w for w in words if isinstance(w, str)), ""), flush=True), None, 0)
    model.readProb(job.model)
    model.controls.miprelstop = model.controls.mipabsstop = job.gap
    model.controls.randomseed = job.seed
    if job.threads:
        model.controls.threads = job.threads
    if job.time_limit:
        model.controls.timelimit = job.time_limit
    if job.start:
        model.readSlxSol(job.start)
    model.optimize()
    done.set()
    solve_status, solution_status = (int(model.attributes.solvestatus), int(model.attributes.solstatus))
    found = {1: "optimal", 2: "feasible", 3: "infeasible", 4: "unbounded"}.get(solution_status, "none")
    if found in ("optimal", "feasible"):
        model.writeSlxSol(job.solution)
    if found == "feasible" or found == "none":
        status = ("interrupted" if asked.is_set() else "time_limit") if solve_status == 1 else "unknown"
    else:
        status = found
    if not model.attributes.mipents:
        return status, model.attributes.lpobjval if found == "optimal" else None
    return status, model.attributes.bestbound if found != "infeasible" else None
