"""Algorithm 1 as printed (papers/000, Zhu et al. 2020, §3.2), with LP (7) for ε' > 0 and no limit on the kept rows.

    I  the points with b = 1 in an optimal solution of (7)
    J  the points with a weight λ of 1/(d+1) or more in a mixture of a point of I
    |I| >= (1-β1) |N|   keep N \\ I
    else |J| > β2 |N|   keep J
    else                keep J and the β2 |N| - |J| points of N \\ (I ∪ J) nearest to a hyperplane of the leaf, and one
    at least

ε' is in the units of the paper's points: each column scaled to [0, 1] over all rows, not within the cluster. For ε' = 0
every optimal solution has the same I; its mixtures of extreme points (T(λ) in the paper) come from the search for the
convex hull, or with `solver` from (7), whose solutions are transformed: λ_JE <- (1 - λ_II)^-1 λ_IE. For ε' > 0 the
transformation may not exist, because two near points may be mixtures of each other; the solver's λ is then used.
"""

import numpy as np
import scipy.sparse as sp

from odtc.algorithms.convex_hull import hull
from odtc.base import deadline
from odtc.base.system import STDOUT
from odtc.errors import ChoiceError, NoSolutionError
from odtc.model.in_packages import scipy_keywords
from odtc.model.milp import Model
from odtc.model.solution import Options, Termination
from odtc.solvers.solve import solve
from odtc.workflow.row_selection.programs import SEVEN, by_algorithm, heavy_points, program
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "printed"
SUMMARY = "Algorithm 1 of Zhu et al. 2020 as printed: beta1 = beta2 = 0.1, eps in units of the scaled columns, no limit"
OPTIONS = {
    "beta1": (float, "keep all extreme points if they are at most this share of the cluster (default 0.1)"),
    "beta2": (float, "else keep the points that weigh in mixtures, filled up to this share (default 0.1)"),
    "eps": (float, "ε′: how far a mixture may be off, for columns scaled to [0, 1] over all rows (default 0)"),
    "solver": (str, "solver of LP (7); by default the embedded HiGHS for eps above 0, and no solver for eps = 0"),
}
BETA = 0.1  # of β1 and β2 by default
SURE = 1e-7  # how far a solver's b may be from 1, and λ from 0
# Variables of a model of several targets: a solver's process takes longer to start than to solve many targets.
BLOCK_COLUMNS, BLOCK_COLUMNS_EMBEDDED = 50_000, 4_000


def expect(dimensions: int, beta1: float = BETA, beta2: float = BETA, eps: float = 0.0, solver: str = "") -> None:
    if not 0 < beta1 < 1 or not 0 < beta2 <= 1 or not 0 <= eps < 1:
        raise ChoiceError(
            f"expected beta1 in (0, 1), beta2 in (0, 1] and eps in [0, 1), got beta1={beta1:g}, beta2={beta2:g}, "
            f"eps={eps:g}"
        )
    if beta2 >= (most := (dimensions + 1) * (1 - beta1)):
        raise ChoiceError(
            f"expected beta2 < (d + 1) (1 - beta1) = {most:.4g} for d = {dimensions}, got beta2={beta2:g}"
        )


def select(cluster: Cluster, beta1: float = BETA, beta2: float = BETA, eps: float = 0.0, solver: str = "") -> KeptRows:
    points, first = np.unique(cluster.Z, axis=0, return_index=True)
    extreme = np.zeros(len(cluster.Z), bool)
    if eps or solver:
        b, mix = solved(points, eps, solver)
        inside, undecided = b >= 1 - SURE, int(np.isnan(b).sum())
        extreme[first[~inside]] = True
        J = first[heavy(mix[inside] if eps else transformed(mix, inside), points.shape[1])]
    else:
        found = hull(cluster.Z)
        extreme, undecided, J = found.extreme, found.n_open, heavy_points(found, points.shape[1])
    kept = by_algorithm(extreme, J, cluster.near, beta1, beta2)
    facts = {"n_inside": int((~extreme).sum()), "n_extreme": int(extreme.sum()), "n_heavy_in_mixtures": len(J)}
    return KeptRows(kept, np.zeros(len(kept), bool), facts, undecided=undecided)


def solved(points: np.ndarray, eps: float, solver: str) -> tuple[np.ndarray, sp.csr_array]:
    """Return (b, λ), float64 (points,) and sparse (points, points), of an optimal solution of (7) for distinct points:
    blocks of targets, each a model, by a solver, or by the embedded HiGHS if it is "". b is NaN for targets that were
    not solved before the deadline. Raises NoSolutionError without an optimal solution, and the errors of a solver."""
    n = len(points)
    if n == 1:
        return np.zeros(1), sp.csr_array((1, 1))
    step, b, parts, done = max(1, (BLOCK_COLUMNS if solver else BLOCK_COLUMNS_EMBEDDED) // n), [], [], 0
    while done < n and not deadline.is_over():
        model = program(points, SEVEN, eps, targets=(done, min(n, done + step)))
        try:
            x = _optimum(model, solver)
        except NoSolutionError:
            if deadline.is_over():
                break
            raise
        done = min(n, done + step)
        x = np.where(np.abs(x) > SURE, x, 0.0)
        of_b, of_mix = model.columns
        b.append(x[of_b.start : of_b.stop])
        j, i = np.divmod(of_mix.grid_places(), n)
        parts.append(sp.csr_array((x[of_mix.start : of_mix.stop], (j, i)), shape=(of_b.size, n)))
    mix = sp.csr_array(sp.vstack([*parts, sp.csr_array((n - done, n))]))
    mix.eliminate_zeros()
    return np.concatenate([*b, np.full(n - done, np.nan)]), mix


def _optimum(model: Model, solver: str) -> np.ndarray:
    """Return an optimal point of a linear program by a solver, or by the embedded HiGHS if it is ""."""
    if not solver:
        from scipy.optimize import milp

        with STDOUT.away():  # HiGHS prints lines of its own
            found = milp(**scipy_keywords(model), options={"time_limit": deadline.time_share(np.inf)})
        if found.status == 0:
            return found.x
        raise NoSolutionError(f"HiGHS found no optimum of LP (7): {found.message}")
    ended = solve(model, solver, Options(time_limit=deadline.seconds_left(), threads=1))
    if ended.termination == Termination.OPTIMAL and ended.x is not None:
        return ended.x
    raise NoSolutionError(f"{solver} ended with {ended.termination} on LP (7)")


def transformed(mix: sp.csr_array, inside: np.ndarray) -> sp.csr_array:
    """Return T(λ) of the points inside, sparse (inside, points): the same points as mixtures of extreme points only."""
    from scipy.sparse.linalg import splu

    I, E = np.flatnonzero(inside), np.flatnonzero(~inside)
    if not len(I):
        return sp.csr_array((0, len(inside)))
    right, solve = mix[I][:, E].toarray(), splu(sp.csc_array(sp.eye_array(len(I)) - mix[I][:, I])).solve
    out = np.zeros((len(I), len(inside)))
    out[:, E] = solve(right)
    return sp.csr_array(out)


def heavy(mix: sp.csr_array, dimensions: int) -> np.ndarray:
    """Return J: the points with a weight of 1/(d+1) or more in some mixture."""
    return np.unique(mix.indices[mix.data >= 1 / (dimensions + 1) - SURE])
