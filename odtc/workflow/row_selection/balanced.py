"""Algorithm 2 (papers/003, Zhu et al. 2020, supplement B.1): as few points as possible express as many as possible.

    max Σ_i (b_i - a_i)                                                                   (6), f = g = 1
    b_j x_j = Σ_{i≠j} λ_ji x_i,   Σ_{i≠j} λ_ji = b_j,   0 ≤ λ_ji ≤ a_i,   a_j + b_j ≤ 1

Its relaxation (9) determines the points that express no other point and the points that are fully expressed; these are
fixed (b = 0, and a = 0 with b = 1), and the 0-1 program is solved for the others. A point that is neither kept nor
expressed is left out, because it represents no other point. The program has |N|² columns, so a cluster of more than
`part` points is first divided into parts of nearby points.
"""

import numpy as np

from odtc.base import deadline
from odtc.base.system import STDOUT
from odtc.errors import ChoiceError
from odtc.model.in_packages import scipy_keywords
from odtc.workflow.row_selection.programs import NINE, SIX, program
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "balanced"
SUMMARY = "few rows that express many: the balance of both counts (Zhu et al. 2020, Algorithm 2)"
OPTIONS = {
    "part": (int, "points of a program at most; larger clusters are cut by their nearness (default 60)"),
    "share": (float, "of the points that is kept where none can be expressed, one at least (default 0.1)"),
    "seconds": (float, "of a 0-1 program at most; then its best point so far counts (default 10)"),
}
PART_POINTS = 60  # points of a part
KEPT_SHARE = 0.1  # of the points of a part that are kept if its programs have no solution
PROGRAM_SECONDS = 10.0  # limit of a program
SURE = 1e-6  # a value this near to 0 or 1 is whole


def expect(
    dimensions: int, part: int = PART_POINTS, share: float = KEPT_SHARE, seconds: float = PROGRAM_SECONDS
) -> None:
    if part < 2 or not seconds > 0 or not 0 < share <= 1:
        raise ChoiceError(
            f"expected part of 2 or more, share in (0, 1] and seconds above 0, got part={part}, share={share:g}, "
            f"seconds={seconds:g}"
        )


def select(
    cluster: Cluster, part: int = PART_POINTS, share: float = KEPT_SHARE, seconds: float = PROGRAM_SECONDS
) -> KeptRows:
    points, first = np.unique(cluster.Z, axis=0, return_index=True)
    kept, expressed, undecided = [], 0, 0
    for places in halved(points, part):
        if deadline.is_over():
            b, undecided = np.zeros(len(places), bool), undecided + len(places)
        else:
            with STDOUT.away():  # HiGHS prints lines of its own there, whatever its options
                a, b = balance(points[places], deadline.time_share(seconds))
        if not b.any():
            nearest = np.argsort(cluster.near[first[places]], kind="stable")[: max(1, int(share * len(places)))]
            a = np.isin(np.arange(len(places)), nearest)
        kept.append(places[a])
        expressed += int(b.sum())
    places = np.sort(first[np.concatenate(kept)])
    return KeptRows(
        places,
        np.zeros(len(places), bool),
        {"n_expressed": expressed, "n_left_out": len(points) - expressed - len(places)},
        undecided=undecided,
    )


def halved(points: np.ndarray, most: int) -> list[np.ndarray]:
    """Return the positions of the points in parts of at most `most`, halved at the median of the widest coordinate."""
    stack, done = [np.arange(len(points))], []
    while stack:
        at = stack.pop()
        if len(at) <= most:
            done.append(at)
            continue
        order = at[np.argsort(points[at][:, np.ptp(points[at], axis=0).argmax()], kind="stable")]
        stack += [order[: len(order) // 2], order[len(order) // 2 :]]
    return done


def balance(points: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (a, b), bool (points,), of distinct points (n, d): which points are kept, and which are expressed."""
    from scipy.optimize import Bounds, milp

    n = len(points)
    if n < 3:
        return np.ones(n, bool), np.zeros(n, bool)
    relaxed, whole_program = (scipy_keywords(program(points, number, f=1.0)) for number in (NINE, SIX))
    loose = milp(**relaxed, options={"time_limit": seconds})
    if loose.x is None:
        return np.ones(n, bool), np.zeros(n, bool)
    a, b = loose.x[:n], loose.x[n : 2 * n]
    upper_a, lower_b, upper_b = np.ones(n), np.zeros(n), np.ones(n)
    upper_b[b <= SURE] = 0.0
    whole = b >= 1 - SURE
    lower_b[whole], upper_a[whole] = 1.0, 0.0
    m = len(loose.x) - 2 * n
    bounds = Bounds(np.concatenate([np.zeros(n), lower_b, np.zeros(m)]), np.concatenate([upper_a, upper_b, np.ones(m)]))
    found = milp(**whole_program | {"bounds": bounds}, options={"time_limit": seconds})
    if found.x is None:  # no time for a whole point: all that the relaxation uses
        a, b = a > SURE, np.zeros(n, bool)
    else:
        a, b = found.x[:n] > 0.5, found.x[n : 2 * n] > 0.5
    return (a, b) if a.any() else (np.ones(n, bool), np.zeros(n, bool))
