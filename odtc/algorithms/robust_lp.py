"""Linear programs with few columns and many rows, such as the one of a hyperplane, solved so that they end with an
answer."""

import time

import numpy as np

FIRST_ROWS = 500  # rows that a program with many begins with, and that are added at once
# (tolerance, presolve) of a program, until one ends.
WAYS = ((1e-10, False), (1e-8, False), (1e-7, False), (1e-7, True))


def solve_lp(cost, A, b, bounds, seconds: float = np.inf) -> np.ndarray | None:
    """Return float64 (columns,): the minimizer of cost·x with A x <= b within the bounds, None if there is none, or if
    none is found in this many seconds. If there are many rows, few of them hold with equality, so the rows that the
    solution for some of them violates most are added until it violates none."""
    end, taken = time.monotonic() + seconds, np.zeros(A.shape[0], bool)
    taken[np.linspace(0, A.shape[0] - 1, FIRST_ROWS).astype(int) if A.shape[0] > 4 * FIRST_ROWS else slice(None)] = True
    while True:
        found = _ended(cost, A[taken], b[taken], bounds, end)
        if found.status == 3 and not taken.all():  # the rows so far do not bound it
            taken[:] = True
            continue
        if found.status:
            return None
        over = np.where(taken, 0.0, A @ found.x - b)
        worst = np.argsort(-over)[:FIRST_ROWS]
        worst = worst[over[worst] > WAYS[0][0]]
        if not len(worst):
            return found.x
        taken[worst] = True


def _ended(cost, A, b, bounds, end: float):
    """Return scipy's result of a program. If columns nearly depend on each other, HiGHS may end without an answer,
    more often with a smaller tolerance; and with presolve it may report a point as optimal that is far from the
    optimum."""
    from scipy.optimize import linprog

    for tolerance, presolve in WAYS:
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "presolve": presolve,
        }
        limit = {"time_limit": max(0.0, end - time.monotonic())} if end < np.inf else {}
        found = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method="highs", options=options | limit)
        if found.status not in (1, 4) or time.monotonic() > end:
            break
    return found
