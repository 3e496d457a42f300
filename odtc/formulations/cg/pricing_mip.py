"""The pricing problem of one end as a mixed-integer program: the path, with its subtree, of least reduced cost.

Firat et al. (2020), (11)-(16), with all classes in one problem (Patel, Desaulniers & Lodi 2024), the rows followed
level by level, and any number of levels below the end. u_la: the path has split a at level l; v_ta: node t below the
end has split a; y_lr: row r still follows the path after l of its splits; z_rtk: it ends at leaf t and is predicted k.
The split "none" sends every row left.

    min  Σ_rtk loss_rk z_rtk - Σ_r β_r y_mr - Σ_la γ_la u_la - α                          (11)
         Σ_a u_la = 1;   Σ_a v_ta = 1;   Σ_k w_tk = 1                                      (12)
         y_{l+1,r} ≤ y_lr,   y_{l+1,r} ≤ Σ_{a: r follows} u_la                            (13, 14)
         y_{l+1,r} ≥ y_lr + Σ_{a: r follows} u_la - 1                                     (15)
         Σ_r y_{l+1,r} ≥ Σ_{a not none} u_la,   Σ_r (y_lr - y_{l+1,r}) ≥ the same         each split separates the rows
         u_{l,none} ≤ u_{l+1,none}, and so on below                                       a path stops only once
         Σ_tk z_rtk = y_mr;   z_rtk ≤ w_tk;   Σ_{t left of s, k} z_rtk ≤ Σ_{a: r goes left} v_sa, mirrored

Rows with the same outcomes for all splits are one row. If a leaf has a penalty or a least number of rows, s_t is 1 if
it is used (appendix A). A split that separates no rows would be cheaper than (16) can forbid, so it is excluded.
"""

import numpy as np

from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.pricing import Duals
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model


def pricing_model(paths: Paths, duals: Duals, e: int) -> Model:
    """Return the model for this end, at these duals; its optimum is `pricing.price(…).least` in units of loss, once
    every path is evaluated."""
    program = _Pricing(paths, duals, e)
    program.ask()
    for level in range(paths.depth):
        program.follow(level)
    program.stop_once()
    program.end()
    if program.used is not None:
        program.use_leaves()
    return program.m.finish()


class _Pricing:
    """The program while it is written: its variables, and methods that add the constraints.

    Attributes
    ----------
    m : ModelBuilder
    asked : dict of Block
        u and v, by the node in the numbers of a complete tree; the last variable of a node is "none".
    y : list of Block, one a level
    z, w : Block
    used : Block or None
        s, if leaves have a penalty or a least number of rows.
    """

    def __init__(self, paths: Paths, duals: Duals, e: int):
        self.m, self.paths, self.e = ModelBuilder(f"pricing_{e}"), paths, e
        n, K = paths.n_groups, paths.loss.shape[1]
        self.inner = [t for level in range(paths.tail) for t in range(e << level, (e + 1) << level)]
        self.leaves = np.arange(e << paths.tail, (e + 1) << paths.tail)
        self.group, self.klass, self.r, self.k = Axis("row", n), Axis("class", K), np.arange(n), np.arange(K)
        self.leaf = Axis("leaf", len(self.leaves), int(self.leaves[0]))
        self._columns(duals)

    def _columns(self, duals: Duals) -> None:
        """Add the variables, with the objective (11)."""
        m, paths, unit, levels = self.m, self.paths, self.paths.unit, self.paths.depth
        beta = np.zeros(paths.n_groups)
        beta[duals.cover] = duals.beta
        self.asked = {}
        for level in range(levels):
            j, gamma = self._above(level), duals.gamma[self.e][level]
            self.asked[j] = m.columns(f"u{level + 1}", self._splits(j), cost=-unit * gamma, integer=True)
        for t in self.inner:
            self.asked[t] = m.columns(f"v{t}", self._splits(t), integer=True)
        self.y = [
            m.columns(f"y{level + 1}", self.group, cost=-unit * beta if level == levels - 1 else 0.0)
            for level in range(levels)
        ]
        shape = paths.n_groups, len(self.leaves), paths.loss.shape[1]
        cost = unit * np.broadcast_to(paths.loss[:, None, :], shape)
        self.z = m.columns("z", self.group, self.leaf, self.klass, cost=cost)
        self.w = m.columns("w", self.leaf, self.klass, integer=True)
        self.used = None
        if paths.reward or paths.least > 1:
            self.used = m.columns("s", self.leaf, cost=unit * paths.reward, integer=True)
        m.constant(-unit * float(duals.alpha[self.e - paths.ends[0]] + (beta.sum() if not levels else 0.0)))

    def ask(self) -> None:
        """Σ_a u_la = 1;   Σ_a v_ta = 1;   Σ_k w_tk = 1                                      (12)"""
        m, leaves = self.m, self.leaves
        one = {j: m.rows(f"ask{j}", lower=1, upper=1) for j in self.asked}
        for j, row in one.items():
            m.add(row[()], self.asked[j].all())
        sums = m.rows("label", self.leaf, lower=1, upper=1)
        m.add(sums[leaves[:, None]], self.w[leaves[:, None], self.k])

    def follow(self, level: int) -> None:
        """y_{l+1,r} ≤ y_lr,   y_{l+1,r} ≤ Σ_{a: r follows} u_la                            (13, 14)
        y_{l+1,r} ≥ y_lr + Σ_{a: r follows} u_la - 1                                        (15)
        and each split parts the rows.
        """
        m, r, j, now = self.m, self.r, self._above(level), self.y[level]
        before = self.y[level - 1] if level else None
        at, a = self._goes(j, self.e >> self.paths.depth - level - 1 & 1)
        if before is not None:
            row = m.rows(f"stay{level + 1}", self.group, upper=0)
            m.add(row[r], now[r])
            m.add(row[r], before[r], -1)
        row = m.rows(f"follow{level + 1}", self.group, upper=0)
        m.add(row[r], now[r])
        m.add(row[at], self.asked[j][a], -1)
        row = m.rows(f"must{level + 1}", self.group, upper=1 if before is not None else 0)
        m.add(row[r], now[r], -1)
        m.add(row[at], self.asked[j][a])
        if before is not None:
            m.add(row[r], before[r])
        self._separate(level)

    def _separate(self, level: int) -> None:
        """Σ_r y_{l+1,r} ≥ Σ_{a not none} u_la,   Σ_r (y_lr - y_{l+1,r}) ≥ the same; or as many rows as a leaf needs."""
        m, r, j, paths, now = self.m, self.r, self._above(level), self.paths, self.y[level]
        real = self.asked[j][np.arange(len(paths.splits[j]))]
        weight, least = (paths.copies, paths.least) if paths.least > 1 else (np.ones(paths.n_groups), 1)
        row = m.rows(f"some{level + 1}", lower=0)
        m.add(row[()], now[r], weight)
        m.add(row[()], real, -least)
        row = m.rows(f"rest{level + 1}", lower=0 if level else -float(weight.sum()))
        m.add(row[()], now[r], -weight)
        m.add(row[()], real, -least)
        if level:
            m.add(row[()], self.y[level - 1][r], weight)

    def stop_once(self) -> None:
        """u_{l,none} ≤ u_{l+1,none}, and so on below: a path stops only once."""
        levels = self.paths.depth
        chain = [(self._above(level), self._above(level + 1)) for level in range(levels - 1)]
        chain += [(self.e >> 1, self.e)] if levels and self.inner else []
        chain += [(t, 2 * t + side) for t in self.inner for side in (0, 1) if 2 * t + side in self.asked]
        for number, (above, below) in enumerate(chain):
            row = self.m.rows(f"stop{number + 1}", upper=0)
            self.m.add(row[()], self.asked[above][len(self.paths.splits[above])])
            self.m.add(row[()], self.asked[below][len(self.paths.splits[below])], -1)

    def end(self) -> None:
        """Σ_tk z_rtk = y_mr;   z_rtk ≤ w_tk;   Σ_{t left of s, k} z_rtk ≤ Σ_{a: r goes left} v_sa, mirrored"""
        m, r, k, z = self.m, self.r[:, None, None], self.k, self.z
        leaves, sure = self.leaves[:, None], 0 if self.y else 1
        arrive = m.rows("arrive", self.group, lower=sure, upper=sure)
        m.add(arrive[r], z[r, leaves, k])
        if self.y:
            m.add(arrive[self.r], self.y[-1][self.r], -1)
        row = m.rows("told", self.group, self.leaf, self.klass, upper=0)
        m.add(row[r, leaves, k], z[r, leaves, k])
        m.add(row[r, leaves, k], self.w[leaves, k], -1)
        for t in self.inner:
            up = self.paths.tail - (t.bit_length() - self.e.bit_length())  # levels from t to the leaves
            for side in (0, 1):
                mine = np.arange((2 * t + side) << up - 1, (2 * t + side + 1) << up - 1)
                at, a = self._goes(t, side)
                row = m.rows(f"go{t}_{side}", self.group, upper=0)
                m.add(row[r], z[r, mine[:, None], k])
                m.add(row[at], self.asked[t][a], -1)

    def use_leaves(self) -> None:
        """Σ_k z_rtk ≤ s_t;   Σ_rk rows_r z_rtk ≥ s_t times the least rows of a leaf"""
        m, r, z, leaves, least = self.m, self.r, self.z, self.leaves, self.paths.least
        row = m.rows("used", self.group, self.leaf, upper=0)
        m.add(row[r[:, None, None], leaves[:, None]], z[r[:, None, None], leaves[:, None], self.k])
        m.add(row[r[:, None], leaves], self.used[leaves], -1)
        row = m.rows("least", self.leaf, lower=0)
        copies = self.paths.copies[:, None, None]
        m.add(row[leaves[:, None]], z[r[:, None, None], leaves[:, None], self.k], copies)
        m.add(row[leaves], self.used[leaves], -max(1, least))

    def _above(self, level: int) -> int:
        """Return the node that the path to the end reaches after this many splits."""
        return self.e >> self.paths.depth - level

    def _splits(self, j: int) -> Axis:
        return Axis("split", len(self.paths.splits[j]) + 1)

    def _goes(self, j: int, side: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions (row, variable of node j) of the splits by which a row goes to this side; "none" goes
        left."""
        splits = self.paths.splits[j]
        at, a = np.nonzero(self.paths.X[:, splits] == bool(side))
        if side:
            return at, a
        return np.append(at, self.r), np.append(a, np.full(self.paths.n_groups, len(splits)))
