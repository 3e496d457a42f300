"""The pricing problem of one end as a mixed-integer program: which path, with its subtree, has the least reduced cost.

Firat et al. (2020), (11)-(16), with all classes in one problem (Patel, Desaulniers & Lodi 2024), the rows
told level by level, and any number of levels below the end. u_la: the path asks a at level l; v_ta: node t
below the end asks a; y_lr: row r still follows the path after l of its splits; z_rtk: it ends at leaf t and
is predicted k. The split "none" sends every row left.

    min  Σ_rtk loss_rk z_rtk - Σ_r β_r y_mr - Σ_la γ_la u_la - α                          (11)
         Σ_a u_la = 1;   Σ_a v_ta = 1;   Σ_k w_tk = 1                                      (12)
         y_{l+1,r} ≤ y_lr,   y_{l+1,r} ≤ Σ_{a: r follows} u_la                            (13, 14)
         y_{l+1,r} ≥ y_lr + Σ_{a: r follows} u_la - 1                                     (15)
         Σ_r y_{l+1,r} ≥ Σ_{a not none} u_la,   Σ_r (y_lr - y_{l+1,r}) ≥ the same         each split parts the rows
         u_{l,none} ≤ u_{l+1,none}, and so on below                                       a path stops but once
         Σ_tk z_rtk = y_mr;   z_rtk ≤ w_tk;   Σ_{t left of s, k} z_rtk ≤ Σ_{a: r goes left} v_sa, mirrored

Rows that the splits treat alike are one. If a leaf has a price or a least number of rows, s_t says that
it is used (appendix A). A split that parts no rows would be cheaper than (16) can forbid: it is excluded.
"""

import numpy as np

from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.pricing import Duals
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model


def pricing_model(paths: Paths, duals: Duals, e: int) -> Model:
    """The model for this end, at these duals; its optimum is `pricing.price(…).least` in units of loss, once every
    path is evaluated."""
    m, unit, n, K = ModelBuilder(f"pricing_{e}"), paths.unit, paths.n_groups, paths.loss.shape[1]
    levels, inner = paths.depth, [t for level in range(paths.tail) for t in range(e << level, (e + 1) << level)]
    leaves = np.arange(e << paths.tail, (e + 1) << paths.tail)
    group, klass, r, k = Axis("row", n), Axis("class", K), np.arange(n), np.arange(K)

    beta = np.zeros(n)
    beta[duals.cover] = duals.beta
    asked = {}  # per node its columns; the last is none
    for level in range(levels):
        j = e >> levels - level
        asked[j] = m.columns(
            f"u{level + 1}", Axis("split", len(paths.splits[j]) + 1), cost=-unit * duals.gamma[e][level], integer=True
        )
    for t in inner:
        asked[t] = m.columns(f"v{t}", Axis("split", len(paths.splits[t]) + 1), integer=True)
    y = [
        m.columns(f"y{level + 1}", group, cost=-unit * beta if level == levels - 1 else 0.0) for level in range(levels)
    ]
    leaf = Axis("leaf", len(leaves), int(leaves[0]))
    z = m.columns("z", group, leaf, klass, cost=unit * np.broadcast_to(paths.loss[:, None, :], (n, len(leaves), K)))
    w = m.columns("w", leaf, klass, integer=True)
    used = m.columns("s", leaf, cost=unit * paths.reward, integer=True) if paths.reward or paths.least > 1 else None
    m.constant(-unit * float(duals.alpha[e - paths.ends[0]] + (beta.sum() if not levels else 0.0)))

    def goes(j, side):
        """Whether the row goes to this side: bool (rows, columns of the node); "none" goes left."""
        at, a = np.nonzero(paths.X[:, paths.splits[j]] == bool(side))
        if side:
            return at, a
        return np.append(at, r), np.append(a, np.full(n, len(paths.splits[j])))

    one = {j: m.rows(f"ask{j}", lower=1, upper=1) for j in asked}
    for j, row in one.items():
        m.add(row[()], asked[j].all())
    sums = m.rows("label", leaf, lower=1, upper=1)
    m.add(sums[leaves[:, None]], w[leaves[:, None], k])

    for level in range(levels):
        j, now = e >> levels - level, y[level]
        at, a = goes(j, e >> levels - level - 1 & 1)
        before = y[level - 1] if level else None
        if before is not None:
            row = m.rows(f"stay{level + 1}", group, upper=0)
            m.add(row[r], now[r])
            m.add(row[r], before[r], -1)
        row = m.rows(f"follow{level + 1}", group, upper=0)
        m.add(row[r], now[r])
        m.add(row[at], asked[j][a], -1)
        row = m.rows(f"must{level + 1}", group, upper=1 if before is not None else 0)
        m.add(row[r], now[r], -1)
        m.add(row[at], asked[j][a])
        if before is not None:
            m.add(row[r], before[r])
        real = np.arange(len(paths.splits[j]))
        weight, least = (paths.copies, paths.least) if paths.least > 1 else (np.ones(n), 1)
        row = m.rows(f"some{level + 1}", lower=0)
        m.add(row[()], now[r], weight)
        m.add(row[()], asked[j][real], -least)
        row = m.rows(f"rest{level + 1}", lower=0 if before is not None else -float(weight.sum()))
        m.add(row[()], now[r], -weight)
        m.add(row[()], asked[j][real], -least)
        if before is not None:
            m.add(row[()], before[r], weight)

    chain = [(e >> levels - level, e >> levels - level - 1) for level in range(levels - 1)]
    chain += [(e >> 1, e)] if levels and inner else []
    chain += [(t, 2 * t + side) for t in inner for side in (0, 1) if 2 * t + side in asked]
    for number, (above, below) in enumerate(chain):
        row = m.rows(f"stop{number + 1}", upper=0)
        m.add(row[()], asked[above][len(paths.splits[above])])
        m.add(row[()], asked[below][len(paths.splits[below])], -1)

    arrive = m.rows("arrive", group, lower=0 if levels else 1, upper=0 if levels else 1)
    m.add(arrive[r[:, None, None]], z[r[:, None, None], leaves[:, None], k])
    if levels:
        m.add(arrive[r], y[-1][r], -1)
    row = m.rows("told", group, leaf, klass, upper=0)
    m.add(row[r[:, None, None], leaves[:, None], k], z[r[:, None, None], leaves[:, None], k])
    m.add(row[r[:, None, None], leaves[:, None], k], w[leaves[:, None], k], -1)
    for t in inner:
        up = (len(leaves).bit_length() - 1) - (t.bit_length() - e.bit_length())
        for side in (0, 1):
            mine = np.arange((2 * t + side) << up - 1, (2 * t + side + 1) << up - 1)
            at, a = goes(t, side)
            row = m.rows(f"go{t}_{side}", group, upper=0)
            m.add(row[r[:, None, None]], z[r[:, None, None], mine[:, None], k])
            m.add(row[at], asked[t][a], -1)
    if used is not None:
        row = m.rows("used", group, leaf, upper=0)
        m.add(row[r[:, None, None], leaves[:, None]], z[r[:, None, None], leaves[:, None], k])
        m.add(row[r[:, None], leaves], used[leaves], -1)
        row = m.rows("least", leaf, lower=0)
        m.add(row[leaves[:, None]], z[r[:, None, None], leaves[:, None], k], paths.copies[:, None, None])
        m.add(row[leaves], used[leaves], -max(1, paths.least))
    return m.finish()
