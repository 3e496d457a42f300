"""The linear relaxation of the master over the current columns, kept in HiGHS while columns are added.

    min  Σ_e Σ_{p∈P(e)} c_p x_p                                                           (3)
         Σ_{p∈P(e)} x_p = 1                                   e               [α_e]       (4)
         Σ_{p∈P(e): s_j(p)=a} x_p - ρ_ja = 0                  e, j above e, a [γ_eja]     (6)
         Σ_e Σ_{p∈P(e): r∈R_p} x_p = 1                        some r          [β_r]       (5)
         x_p ≥ 0,   0 ≤ ρ_ja ≤ 1                                                          (7, 8)

The equations are numbered as in Firat et al. (2020), section 4.1, with ends e for the leaves
(odtc.formulations.cg.decision_paths). The values of a include "none", with which a path stops. Constraints (5) are
implied if x is integer (Patel, Desaulniers & Lodi 2024), so they are cuts: they are added when they are violated. Each
simplex run continues from the last basis.
"""

import numpy as np

from odtc.base.value_class import value_class
from odtc.formulations.cg.column_pool import Columns
from odtc.formulations.cg.pricing import Duals
from odtc.model.feasibility import TOLERANCE
from odtc.model.in_packages import growing_lp, solve_growing_lp

MOST_COVERS = 50  # maximum number of constraints (5) that are added for one point


@value_class
class RelaxedPoint:
    """A point of the relaxation: its value, x of the columns, rho per node (splits + 1,), and the duals.
    `feasible` is False while some end needs a path that does not exist yet."""

    value: float
    x: np.ndarray
    rho: dict[int, np.ndarray]
    duals: Duals
    feasible: bool


class RestrictedMaster:
    """Master over `columns`, which may grow between two calls of `solve`."""

    def __init__(self, columns: Columns):
        import highspy

        self.columns, self.paths, self.h = columns, columns.paths, growing_lp(strategy=4)
        paths, inf = self.paths, highspy.kHighsInf
        self.rho, n = {}, 0
        for j in paths.upper.tolist():
            self.rho[j], n = n, n + len(paths.splits[j]) + 1
        self.n_rho, self.n_rows = n, len(paths.ends)
        self.link = {}  # (end, level) -> its first row
        for e in paths.ends.tolist():
            for level in range(paths.depth):
                j = e >> paths.depth - level
                size = len(paths.splits[j]) + 1
                self.link[e, level] = self.n_rows
                self.n_rows += size
        for _ in range(n):
            self.h.addCol(0.0, 0.0, 1.0, 0, [], [])
        # An end without a path that fits takes one that costs more than any tree.
        self.penalty = 2.0 * (float(paths.most.sum()) + paths.reward * 2 ** (paths.depth + paths.tail)) + 1.0
        for _ in paths.ends:
            self.h.addCol(self.penalty, 0.0, inf, 0, [], [])
        for at in range(len(paths.ends)):
            self.h.addRow(1.0, 1.0, 1, np.array([n + at], np.int32), np.ones(1))
        for (e, level), _ in self.link.items():
            j = e >> paths.depth - level
            for a in range(len(paths.splits[j]) + 1):
                self.h.addRow(0.0, 0.0, 1, np.array([self.rho[j] + a], np.int32), np.array([-1.0]))
        self.cover, self.n_columns, self.allowed = np.zeros(0, int), 0, {}
        if columns.cover:
            self.add_cover(np.array(columns.cover))

    def restrict(self, allowed: dict[int, np.ndarray]) -> None:
        """Allow only these splits (bool (splits + 1,), none last) at these nodes, and all at the others."""
        for j, first in self.rho.items():
            mask = allowed.get(j)
            before = self.allowed.get(j)
            if mask is before:
                continue
            size = len(self.paths.splits[j]) + 1
            upper = np.ones(size) if mask is None else mask.astype(float)
            self.h.changeColsBounds(size, np.arange(first, first + size, dtype=np.int32), np.zeros(size), upper)
        self.allowed = allowed

    def add_cover(self, groups: np.ndarray) -> None:
        """Add constraints (5) for these groups."""
        bits = self.paths.bits(self.columns.rows())[: self.n_columns]
        for group in groups.tolist():
            on = np.flatnonzero(bits[:, group])
            self.h.addRow(
                1.0, 1.0, len(on), (self.n_rho + len(self.paths.ends) + on).astype(np.int32), np.ones(len(on))
            )
        self.cover = np.append(self.cover, groups).astype(int)
        self.columns.cover = sorted({*self.columns.cover, *groups.tolist()})

    def violated(self, relaxed: RelaxedPoint) -> np.ndarray:
        """Return the groups whose constraints (5) the point violates most."""
        used = np.flatnonzero(relaxed.x > 1e-9)
        bits = self.paths.bits(self.columns.rows()[used])
        missed = np.abs(relaxed.x[used] @ bits - 1)
        missed[self.cover] = 0
        worst = np.argsort(-missed, kind="stable")[:MOST_COVERS]
        return worst[missed[worst] > TOLERANCE]

    def _add_columns(self) -> None:
        paths, begin = self.paths, self.n_columns
        keys = self.columns.keys[begin:]
        if not keys:
            return
        bits = paths.bits(self.columns.rows(begin))[:, self.cover] if len(self.cover) else None
        base = paths.ends[0]
        starts, index = [0], []
        for at, (e, t, number) in enumerate(keys):
            index.append(e - base)
            places = paths.reached[t].places[number].tolist()
            for level in range(paths.depth):
                j = e >> paths.depth - level
                index.append(self.link[e, level] + (places[level] if level < len(places) else len(paths.splits[j])))
            if bits is not None:
                index += (self.n_rows + np.flatnonzero(bits[at])).tolist()
            starts.append(len(index))
        n = len(keys)
        self.h.addCols(
            n,
            self.columns.cost(begin),
            np.zeros(n),
            np.full(n, 1e30),
            len(index),
            np.array(starts[:-1], np.int32),
            np.array(index, np.int32),
            np.ones(len(index)),
        )
        self.n_columns += n

    def solve(self, seconds: float | None = None) -> RelaxedPoint | None:
        """Return the optimum over the current columns; None if the time ended first. Raises SolverError."""
        self._add_columns()
        value = solve_growing_lp(self.h, seconds)
        if value is None:
            return None
        point = self.h.getSolution()
        x, dual, paths = np.array(point.col_value), np.array(point.row_dual), self.paths
        ends, first = len(paths.ends), self.n_rho + len(paths.ends)
        gamma = {
            e: [
                dual[self.link[e, level] :][: len(paths.splits[e >> paths.depth - level]) + 1]
                for level in range(paths.depth)
            ]
            for e in paths.ends.tolist()
        }
        rho = {j: x[at : at + len(paths.splits[j]) + 1] for j, at in self.rho.items()}
        duals = Duals(dual[:ends], gamma, dual[self.n_rows : self.n_rows + len(self.cover)], self.cover)
        return RelaxedPoint(value, x[first:], rho, duals, bool((x[self.n_rho : first] < 1e-7).all()))
