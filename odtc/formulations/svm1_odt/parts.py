"""The parts of odtc.formulations.svm1_odt: its numbers, its sets of levels, its points and its printed variant."""

from fractions import Fraction

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.whole_numbers import as_written
from odtc.base.wording import param
from odtc.data.dataset import NUMERIC
from odtc.data.linear_terms import LinearTerms
from odtc.errors import ChoiceError, TreeError
from odtc.formulations.shared.hyperplane_cache import cached_hyperplane
from odtc.heuristics.separating_hyperplanes import cheapest_plane, max_margin_hyperplane, rows_at_node
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.feasibility import TOLERANCE
from odtc.problem.formulation import error_cost
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree


@value_class
class Category:
    """A feature of levels; its variables s are `columns` of all, and `has` (bool, (rows, levels)) is the level of each
    row."""

    feature: int
    values: np.ndarray
    columns: slice
    has: np.ndarray


class Form:
    """The numbers of the model after Theorem 2 (M = 1): `eps`, `a1`, `a2`; the columns in its hyperplanes and the
    categories of its sets."""

    def __init__(self, problem: Problem):
        p, encoded = problem.params, problem.encoded
        self.problem, self.encoded, self.tree, self.M = problem, encoded, problem.topology, p.M
        self.eps, self.a1, self.a2 = (p.epsilon or 0.01) / p.M, p.alpha1 * p.M, p.alpha2 * p.M
        self.soft = p.literal or p.margin == "soft"
        self.most = 1.0 / p.M if p.categories == "sets" else None  # (8e) bounds h at every node
        if self.eps <= TOLERANCE:
            raise ChoiceError(
                f"expected a margin of more than {TOLERANCE:g} after scaling, got epsilon / M = {self.eps:g}: solvers "
                f"take so little for 0, "
                "and would send rows to either side; raise epsilon (0.0001 is a safe floor), or lower M"
            )
        only = None
        self.cats: list[Category] = []
        if p.categories == "sets":
            only = tuple(j for j, feature in enumerate(encoded.features) if feature.kind == NUMERIC)
        self.weighed = LinearTerms.encoded(encoded, only=only, refuse_missing=True)
        if not p.scale:
            self.weighed = self.weighed.unscaled()
        if only is not None:
            X, begin = self.weighed.values, 0
            for j in (j for j in range(len(encoded.features)) if j not in only):
                known = np.unique(X[:, j][~np.isnan(X[:, j])])
                if len(known) > 1 or (len(known) and np.isnan(X[:, j]).any()):
                    self.cats.append(Category(j, known, slice(begin, begin + len(known)), X[:, [j]] == known))
                    begin += len(known)

    @classmethod
    def of(cls, problem: Problem) -> "Form":
        return problem.derived(cls)

    # Variables and constraints.

    def planes(self, m: ModelBuilder, node: Axis, scale: float = 1.0) -> list[tuple[Block, float]]:
        """Add the variables h and return them with their signs: h⁺ and h⁻ if the norm has a penalty, otherwise h
        itself."""
        if not self.weighed.n:
            return []
        term, price = Axis("term", self.weighed.n), self.a2 * scale
        if not price:
            return [(m.columns("h", node, term, lower=-np.inf, upper=np.inf), 1.0)]
        return [
            (m.columns(name, node, term, cost=price, upper=np.inf), sign) for name, sign in (("hp", 1.0), ("hn", -1.0))
        ]

    def sets(self, m: ModelBuilder, node: Axis) -> None:
        """Add the variables a (node b splits on category j) and s (level k of it goes left), with (8a) and (8b)."""
        if not self.cats:
            return
        B, levels = self.tree.branch_nodes, self.cats[-1].columns.stop
        self.asks = m.columns("a", node, Axis("category", len(self.cats)), integer=True)
        self.goes = m.columns("s", node, Axis("level", levels), integer=True)
        single = m.rows("single", node, upper=1)
        m.add(single[B[:, None]], self.asks[B[:, None], np.arange(len(self.cats))])
        of = m.rows("of", node, Axis("level", levels), upper=0)
        owner = np.repeat(np.arange(len(self.cats)), [len(cat.values) for cat in self.cats])
        m.add(of[B[:, None], np.arange(levels)], self.goes[B[:, None], np.arange(levels)])
        m.add(of[B[:, None], np.arange(levels)], self.asks[B[:, None], owner], -1.0)

    def set_bounds(self, m: ModelBuilder, node: Axis, planes: list[tuple[Block, float]], most: float) -> None:
        """Add the constraints most (Σ_j a_bj - 1) <= h_bq <= most (1 - Σ_j a_bj): (8e), in which most is 1 in the
        paper's units of h."""
        if not self.cats or not planes:
            return
        B, q = self.tree.branch_nodes, np.arange(self.weighed.n)
        for name, of_h in (("small", 1.0), ("large", -1.0)):
            bound = m.rows(name, node, Axis("term", self.weighed.n), upper=most)
            for h, sign in planes:
                m.add(bound[B[:, None], q], h[B[:, None], q], of_h * sign)
            for k in range(len(self.cats)):
                m.add(bound[B[:, None], q], self.asks[B[:, None], k], most)

    def set_rows(self, m: ModelBuilder, z: Block) -> None:
        """Add Σ_jk s_bjk [x_ij = k] >= Σ_{l left of b} z_il + Σ_j a_bj - 1, and <= 2 - Σ_{l right of b} z_il - Σ_j
        a_bj: (8c), (8d)."""
        if not self.cats:
            return
        row, node = Axis("row", self.encoded.n_rows), Axis("node", len(self.tree.branch_nodes), 1)
        i, B = np.arange(self.encoded.n_rows)[:, None], self.tree.branch_nodes
        r, f = (found[:, None] for found in np.nonzero(np.hstack([cat.has for cat in self.cats])))
        for name, turn, sign, lower in (("levelleft", 0, 1.0, -1.0), ("levelright", 1, -1.0, -2.0)):
            side = m.rows(name, row, node, lower=lower)
            m.add(side[r, B], self.goes[B, f], sign)
            for above, below in self.tree.sides(turn):
                m.add(side[i, above], z[i, below], -1.0)
            for a in range(len(self.cats)):
                m.add(side[i, B], self.asks[B, a], -1.0)

    def ordinal(self, m: ModelBuilder, z: Block, c: Block, whole: bool) -> None:
        """Add (1b)-(1e): labels as numbers 1 … K; u continuous in [1, K] by Theorem 1, unless `whole`."""
        n, K, L = self.encoded.n_rows, len(self.encoded.classes), self.tree.leaves
        y, row, leaf = self.encoded.y + 1.0, Axis("row", n), Axis("node", len(L), len(L))
        i = np.arange(n)
        u = m.columns("u", leaf, lower=1, upper=K, integer=whole)
        yhat = m.columns("yhat", row, lower=-np.inf, upper=np.inf)
        w = m.columns("w", row, leaf, lower=-np.inf, upper=np.inf)
        # (y_i - K) c_i <= y_i - ŷ_i <= (y_i - 1) c_i;   ŷ_i = Σ_l w_il
        for name, factor, ends in (("under", y - K, {"upper": y}), ("over", y - 1, {"lower": y})):
            rows = m.rows(name, row, **ends)
            m.add(rows[i], yhat[i])
            some = i[factor != 0]
            m.add(rows[some], c[some], factor[some])
        total = m.rows("total", row, lower=0, upper=0)
        m.add(total[i], yhat[i])
        m.add(total[i[:, None]], w[i[:, None], L], -1.0)
        # w_il >= z_il;   u_l - w_il + z_il >= 1;   K z_il + u_l - w_il <= K;   w_il <= K z_il
        for name, ends, of_w, of_z, of_u in (
            ("least", {"lower": 0}, 1, -1, 0),
            ("near", {"lower": 1}, -1, 1, 1),
            ("far", {"upper": K}, -1, K, 1),
            ("most", {"upper": 0}, 1, -K, 0),
        ):
            rows = m.rows(name, row, leaf, **ends)
            m.add(rows[i[:, None], L], w[i[:, None], L], of_w)
            m.add(rows[i[:, None], L], z[i[:, None], L], of_z)
            if of_u:
                m.add(rows[i[:, None], L], u[L], of_u)

    # Trees and points.

    def margin(self, heap: HeapTree, t: int) -> float:
        """Return the widest margin with which a hyperplane separates the rows of node t as the tree does, 0 if none
        does."""
        rows, left = rows_at_node(heap, t, self.encoded)
        return self._apart(rows, left)[2]

    def node(self, heap: HeapTree, t: int):
        """Return `asked` for the rows of node t, as the tree separates them."""
        return self.asked(*rows_at_node(heap, t, self.encoded))

    def asked(self, rows: np.ndarray, left: np.ndarray, safely: bool = False):
        """Return (h, g, None) of the cheapest hyperplane that separates these rows in this way, or (0, 0, (number of
        the category, its levels that go left)) if a set of levels does so for less; None if none does, or if none
        does so `safely`, such that a solver's tolerance cannot separate them differently."""
        found = self._plane(rows, left, safely)
        free = found is not None and not self.a2 and (not self.soft or self._missed(*found, rows, left).sum() == 0)
        for number, cat in enumerate(self.cats if not free else ()):
            chosen = cat.has[rows][left].any(axis=0)
            if (cat.has[rows][:, chosen].any(axis=1) == left).all():
                return np.zeros(self.weighed.n), 0.0, (number, chosen)
        return None if found is None else (*found, None)

    def _apart(self, rows, left) -> tuple[np.ndarray, float, float]:
        return cached_hyperplane(
            self.problem,
            rows,
            left,
            lambda: max_margin_hyperplane(self.weighed.Z, rows, left, self.most, self.weighed.distinct),
            "apart",
        )

    def _plane(self, rows, left, safely):
        h, g, margin = self._apart(rows, left)
        if not self.soft and not cached_hyperplane(
            self.problem, rows, left, lambda: self._keeps_margin(h, rows, left), "margin"
        ):
            return None
        if margin == 0 and safely:
            return None
        # A margin of ε except for rounding is enough for a solver, which satisfies its constraints up to TOLERANCE.
        least = self.eps if self.soft else self.eps - TOLERANCE / 2
        if margin >= least and not self.a2:
            return h, g
        found = cached_hyperplane(self.problem, rows, left, lambda: self._cheapest(rows, left), "cheapest")
        return (h, g) if found is None and margin >= least else found

    def represents(self, heap: HeapTree) -> bool:
        """Return whether each node separates its rows by the margin, in exact numbers; with soft margins every tree."""
        nodes = [] if self.soft else np.flatnonzero(heap.split >= 0).tolist()
        return all(self.node(heap, t) is not None for t in nodes)

    def _keeps_margin(self, h: np.ndarray, rows: np.ndarray, left: np.ndarray) -> bool:
        """Return whether a hyperplane along h has at least the margin ε in the middle between the sides, where |v| <= 1
        and |h_j| <= `most`, in exact numbers."""
        if left.all() or not left.any():
            return True
        epsilon, M = as_written(self.problem.params.epsilon or 0.01), as_written(self.M)
        sums, sizes = self.weighed.exact_sums(h)
        low, high = max(sums[rows[left]]), min(sums[rows[~left]])
        furthest = max(low + high - 2 * min(sums), 2 * max(sums) - low - high)  # 2 |v|; high - low is twice the margin
        if self.most is not None:  # epsilon / M and 1 / M on the scale on which |h_j| is 1 / M
            furthest = max(furthest, 2 * M * max(sizes, default=Fraction(0)))
        return high > low and (high - low) * M >= epsilon * furthest

    def _cheapest(self, rows, left):
        Z = self.weighed.Z
        price = self.a1 * self.encoded.weight[rows] if self.soft else None
        found = cheapest_plane(Z, rows, left, self.eps, price, self.a2, self.most)
        if found is not None or not self.soft:
            return found
        # Rows so near to each other are all on it.
        found = cheapest_plane(Z, rows, left, self.eps, price, self.a2, self.most, off=0.0)
        return found if found is not None and found[0].any() else None

    def _missed(self, h, g, rows, left) -> np.ndarray:
        return np.maximum(0.0, self.eps - (g - self.weighed.Z[rows] @ h) * np.where(left, 1.0, -1.0))

    def cost(self, heap: HeapTree, t: int) -> float:
        """Return the cost of the hyperplane of node t; raises TreeError if no hyperplane with the margin separates its
        rows."""
        found = self.node(heap, t)
        if found is None:
            raise self._refused(heap, t)
        h, g, of_set = found
        rows, left = rows_at_node(heap, t, self.encoded)
        missed = (
            self.a1 * float(self.encoded.weight[rows] @ self._missed(h, g, rows, left))
            if self.soft and of_set is None
            else 0.0
        )
        return missed + self.a2 * float(np.abs(h).sum())

    def _refused(self, heap: HeapTree, t: int) -> TreeError:
        words = heap.split_at(t, self.encoded)[0].words(self.encoded.features)[0]
        return TreeError(
            f"the tree splits on {words[:100]!r}, and no hyperplane with a margin of epsilon = {self.eps * self.M:g} "
            f"separates these rows in the same way; lower {param('epsilon')}, or give another tree"
        )

    def point(self, heap: HeapTree) -> dict[str, np.ndarray]:
        """Return {block: values} of this tree, for every variant of the model."""
        encoded, tree = self.encoded, self.tree
        heap.expect_depth(tree.depth)
        nB, n, K = len(tree.branch_nodes), encoded.n_rows, len(encoded.classes)
        H, g = np.zeros((nB, self.weighed.n)), np.ones(nB)
        a, s = np.zeros((nB, len(self.cats))), np.zeros((nB, self.cats[-1].columns.stop if self.cats else 0))
        label, end = np.zeros(2 * len(tree.leaves), int), np.zeros(n, int)
        stack = [(1, 1, np.arange(n))]
        while stack:
            at, t, rows = stack.pop()
            label[t], end[rows] = heap.label[at], t
            if t >= len(tree.leaves):
                continue
            if heap.split[at] < 0:  # it sends all its rows left
                stack += [(at, 2 * t, rows), (at, 2 * t + 1, rows[:0])]
                continue
            found = self.node(heap, at)
            if found is None:
                raise self._refused(heap, at)
            H[t - 1], g[t - 1], of_set = found
            if of_set is not None:
                a[t - 1, of_set[0]], s[t - 1, self.cats[of_set[0]].columns] = 1, of_set[1]
            right = heap.column(at, encoded)[rows]
            stack += [(2 * at, 2 * t, rows[~right]), (2 * at + 1, 2 * t + 1, rows[right])]
        z = (end[:, None] == tree.leaves).astype(float)
        u = label[tree.leaves] + 1.0
        v = g - self.weighed.Z @ H.T
        by = self.M if self.problem.params.literal else 1.0
        numbers = (a.sum(axis=1) == 0)[None, :]
        here = np.zeros((n, nB))
        for turn in (0, 1):
            for above, below in self.tree.sides(turn):
                np.add.at(here, (slice(None), above - 1), z[:, below - len(tree.leaves)])
        missed = np.maximum(0.0, self.eps * here - np.abs(v)) * numbers
        return {
            "h": H * by,
            "hp": np.maximum(H, 0) * by,
            "hn": np.maximum(-H, 0) * by,
            "g": g * by,
            "z": z,
            "v": v,
            "m": missed * by,
            "pp": np.maximum(v, 0) * by,
            "pn": np.maximum(-v, 0) * by,
            "a": a,
            "s": s,
            "u": u,
            "w": z * u,
            "yhat": z @ u,
            "c": label[end] != encoded.y,
            "label": label[tree.leaves, None] == np.arange(K),
        }

    def misrouted(self, point: dict[str, np.ndarray]) -> float:
        """Return the weight of the rows whose z leads to another leaf than h, g and the sets."""
        right = self.weighed.Z @ weights_of(point).T > point["g"]
        if self.cats:
            sets = np.hstack([cat.has for cat in self.cats]) @ (point["s"] > 0.5).T
            right = np.where((point["a"] > 0.5).any(axis=1), ~sets.astype(bool), right)
        node = np.ones(len(right), int)
        for _ in range(self.tree.depth):
            node = 2 * node + right[np.arange(len(right)), node - 1]
        return float(self.encoded.weight[self.tree.leaves[point["z"].argmax(axis=1)] != node].sum())


def weights_of(point: dict[str, np.ndarray]) -> np.ndarray:
    """Return the weights of the hyperplanes of a point, float64 (branch nodes, terms)."""
    if "h" in point:
        return point["h"]
    return point["hp"] - point["hn"] if "hp" in point else np.zeros((len(point["g"]), 0))


def literal(m: ModelBuilder, form: Form) -> None:
    """Add (1a)-(1k), and (8a)-(8f) with categories as sets, as printed, except that (1f) is only over the numbers."""
    encoded, tree, M, eps = form.encoded, form.tree, form.M, form.eps * form.M
    n, B, L = encoded.n_rows, tree.branch_nodes, tree.leaves
    row, node, leaf = Axis("row", n), Axis("node", len(B), 1), Axis("node", len(L), len(L))
    i, Z = np.arange(n)[:, None], form.weighed.Z
    inf = np.inf
    planes = form.planes(m, node, 1 / M)
    form.sets(m, node)
    g = m.columns("g", node, lower=-inf, upper=inf)
    z = m.columns("z", row, leaf, role=Role.ROUTE, integer=True)
    c = m.columns("c", row, role=Role.MISCLASSIFIED, cost=error_cost(form.problem), integer=True)
    pp, pn = m.columns("pp", row, node, upper=inf), m.columns("pn", row, node, upper=inf)
    miss = m.columns("m", row, node, upper=inf, cost=form.a1 / M * encoded.weight[:, None])
    # (1f)   g_b - Σ_j h_bj x_ij = p⁺_ib - p⁻_ib
    value = m.rows("value", row, node, lower=0, upper=0)
    m.add(value[i, B], g[B])
    r, f = (found[:, None] for found in np.nonzero(Z))
    for h, sign in planes if len(r) else ():
        m.add(value[r, B], h[B, f], -sign * Z[r, f])
    m.add(value[i, B], pp[i, B], -1.0)
    m.add(value[i, B], pn[i, B])
    # (1g), (1i)   p⁺_ib <= M (1 - z_il)  right of b,  p⁻_ib  left;   (1h), (1j)   p⁻_ib + m_ib >= ε (z_il - Σ_j
    # a_bj),  p⁺_ib  left
    for turn, off, on in ((1, pp, pn), (0, pn, pp)):
        for above, below in form.tree.sides(turn):
            depth = int(above[0]).bit_length()
            axes = row, Axis("leaf", len(below))
            at = np.arange(len(below))
            big = m.rows(f"big{'lr'[turn]}{depth}", *axes, upper=M)
            m.add(big[i, at], off[i, above])
            m.add(big[i, at], z[i, below], M)
            far = m.rows(f"margin{'lr'[turn]}{depth}", *axes, lower=0)
            m.add(far[i, at], on[i, above])
            m.add(far[i, at], miss[i, above])
            m.add(far[i, at], z[i, below], -eps)
            for k in range(len(form.cats)):
                m.add(far[i, at], form.asks[above, k], eps)
    form.set_rows(m, z)
    form.set_bounds(m, node, planes, 1.0)
    # (1k)   Σ_l z_il = 1
    place = m.rows("place", row, lower=1, upper=1)
    m.add(place[i], z[i, L])
    form.ordinal(m, z, c, whole=True)
