"""Trees of hyperplanes that do not follow each row: every node is a linear model with a penalty.

A tree is settled by alternation as in odtc.algorithms.hyperplanes.tree_alternating: while all other nodes stay, a row
that comes to a node loses l_i if it goes left and r_i if it goes right. Here the node becomes the logistic regression

    min_{h, g}  ½ |h|₂²  +  C Σ_i |l_i - r_i| log(1 + exp(-s_i (h·z_i - g))),    s_i = 1 if r_i < l_i, else -1

in the first pass even if the loss grows, in later ones only if it does not; sparse nodes have |h|₁ instead of ½ |h|₂²
and the squared hinge loss. Rows with a number far out are left out of this model if the weight of misdirected rows is
no larger without them, and likewise columns with such numbers. The tree is then cut back to 2^D, …, 2, 1 leaves along
its cost-complexity path (Breiman et al. 1984, chapter 3), whose last tree is the prediction of the majority. The
remaining nodes of a tree that was cut back are settled again, node by node, because its hyperplanes had made room for
nodes that are gone.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np

from odtc.algorithms.hyperplanes.class_halves import Halves, class_halves, fills_tree
from odtc.algorithms.hyperplanes.linear_models import fit_hinge, fit_logistic
from odtc.algorithms.hyperplanes.tree_alternating import NEAR, reach, search_hyperplanes
from odtc.base.value_class import value_class

CART = ("cart", 0.0)  # the family of trees of single columns
PENALTIES = (1.0, 10.0, 0.1, 100.0, 1000.0)  # values of C, those first that matter most if time is short
PASSES = 6  # over all nodes of a tree
RESTARTS = 8  # of the search without a penalty, whose tree is one of the starts of alternation
SEARCH_ROWS = 2000  # more rows than these are not searched without a penalty
NEWTON = 12_000_000  # rows by columns squared, up to which Newton steps take less than a solver of gradients
FAR = 1e30  # limit of single columns
CLIP = (-1.0, 2.0)  # of scaled numbers, where nodes are fitted: one range beyond [0, 1] on either side
MISSING = 1e20  # the weight of a missing cell: more than any sum of a row, so that the row goes right
OUT = 10.0  # ranges from the middle of [0, 1]: a number further out may be a measurement error


@value_class
class PrunedTree:
    """Node t sends row z left iff H[t]·z <= g[t], unless `ends[t]`: then it predicts label[t].

    `H` is float64 (2^D, terms), `g` float64 (2^D,), `ends` bool and `label` int64 (2^(D+1),); index 0 is unused.
    """

    H: np.ndarray
    g: np.ndarray
    ends: np.ndarray
    label: np.ndarray
    loss: float

    @property
    def leaves(self) -> int:
        return sum(bool(self.ends[t]) for t in self.nodes())

    def nodes(self) -> list[int]:
        """Return the nodes that are in the tree, parents first."""
        found = [1]
        for t in found:
            if not self.ends[t]:
                found += [2 * t, 2 * t + 1]
        return found

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """Return int64 (rows,): the class of each row."""
        node, rows = np.ones(len(Z), int), np.arange(len(Z))
        right = Z @ self.H.T > self.g
        for _ in range(len(self.g).bit_length()):
            on = ~self.ends[node]
            node = np.where(on, 2 * node + right[rows, np.where(on, node, 0)], node)
        return self.label[node]


def clipped(Z: np.ndarray) -> np.ndarray:
    """Return the numbers that nodes are fitted to, clipped so that a number far out has no more influence than one at
    the limit."""
    return np.clip(Z, *CLIP)


class Grower:
    """Grower of the candidates for some rows: {family: cost-complexity path}. `late` is true if the time was over
    before the last ones were complete.

    After the columns of Z that hyperplanes use, there are `alone` columns that only splits on a single column use:
    ranks along the splits of a column without positions on a line, such as one with missing cells. Then there is one
    column for each of the columns `gaps`, which is 1 where its cell is missing; there its own column may have any
    number, because a row with a missing cell goes right at a hyperplane that uses this column. `clock` returns the
    time.
    """

    def __init__(
        self,
        depth: int,
        seed: int,
        sparse: bool,
        alone: int = 0,
        gaps: tuple[int, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ):
        self.depth, self.seed, self.sparse, self.alone = depth, seed, sparse, alone
        self.gaps, self.clock = np.array(gaps, int), clock
        self.until, self.late = np.inf, False

    def weighed(self, Z: np.ndarray) -> np.ndarray:
        """Return the columns that hyperplanes use."""
        return Z[:, : Z.shape[1] - self.alone - len(self.gaps)]

    def _whole(self, Z: np.ndarray) -> np.ndarray:
        """Return the numbers of these columns except for those with missing cells."""
        return np.setdiff1d(np.arange(self.weighed(Z).shape[1]), self.gaps)

    def _missing(self, Z: np.ndarray) -> np.ndarray:
        """Return bool (rows,): whether a row has a missing cell."""
        return Z[:, Z.shape[1] - len(self.gaps) :].any(axis=1)

    def paths(
        self, Z: np.ndarray, loss: np.ndarray, until: float, penalties: tuple[float, ...] = PENALTIES
    ) -> dict[tuple[str, float], list[PrunedTree]]:
        """Return the families whose nodes have these penalties and that are grown by the time `until`, of the
        monotonic clock: at least the family of single columns and the families of the first penalty, whose trees may
        then be incomplete."""
        import sklearn

        self.until, self.late = until, False

        # Thousands of small models are fitted: the checks of each of them are done once here.
        quick = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
        with warnings.catch_warnings(), quick:
            warnings.simplefilter("ignore")  # a linear model that has not converged is a candidate as any other
            axis = self._axis_tree(Z, loss)
            found = {CART: self._path(axis, Z, loss)}
            if self.depth == 0 or not self.weighed(Z).shape[1] or not penalties:
                return found
            begun = [axis, *self._searched(Z, loss)]
            halves = self._halves(Z, loss)
            for C in penalties:
                starts = [self._drawn(Z, loss, self.depth, C, halves), *begun]
                best = min((self._settled(*start, Z, loss, self.depth, C) for start in starts), key=lambda one: one[0])
                grown = {("tree", C): self._path(best[1:], Z, loss, C)}
                begun = [best[1:]]
                if self.depth > 1:
                    one = self._settled(*self._drawn(Z, loss, 1, C, {}), Z, loss, 1, C)
                    grown["plane", C] = self._path(one[1:], Z, loss)
                if self.late and C != penalties[0]:
                    break
                found |= grown
        return found

    def _over(self) -> bool:
        self.late = self.late or self.clock() > self.until
        return self.late

    def _axis_tree(self, Z, loss) -> tuple[np.ndarray, np.ndarray]:
        """Return (H, g) of scikit-learn's greedy tree of single columns."""
        from sklearn.tree import DecisionTreeClassifier

        H, g = np.zeros((2**self.depth, Z.shape[1])), np.ones(2**self.depth)
        if not self.depth or not Z.shape[1]:
            return H, g
        weight = np.ptp(loss, axis=1) + 1e-12
        grown = DecisionTreeClassifier(max_depth=self.depth, random_state=0)
        single = np.clip(Z, -FAR, FAR)  # it takes single precision
        single[:, self.gaps] = 0.0  # their ranks are `alone` columns
        single[:, Z.shape[1] - len(self.gaps) :] = 0.0
        tree = grown.fit(single, loss.argmin(axis=1), sample_weight=weight).tree_
        stack = [(1, 0)]
        while stack:
            t, node = stack.pop()
            if tree.children_left[node] >= 0:
                H[t, tree.feature[node]], g[t] = 1.0, tree.threshold[node]
                stack += [(2 * t, tree.children_left[node]), (2 * t + 1, tree.children_right[node])]
        return H, g

    def _searched(self, Z, loss) -> list[tuple[np.ndarray, np.ndarray]]:
        whole = self._whole(Z)
        if len(Z) > SEARCH_ROWS or not len(whole) or self._over():
            return []
        left = max(0.0, self.until - self.clock()) / 3
        found = search_hyperplanes(
            Z[:, whole], loss, self.depth, restarts=RESTARTS, seconds=left, seed=self.seed, clock=self.clock
        )
        H = np.zeros((len(found.H), Z.shape[1]))
        H[:, whole] = found.H
        return [(H, found.g)]

    def _halves(self, Z, loss) -> dict[int, Halves]:
        """Return the classes to the left and right of each node, if the tree has about one leaf for each class."""
        cheapest = loss.argmin(axis=1)
        if not fills_tree(len(np.unique(cheapest)), self.depth) or self._over():
            return {}
        return class_halves(clipped(self.weighed(Z)), cheapest, np.ptp(loss, axis=1) + 1e-12, self.depth)

    def _drawn(self, Z, loss, depth: int, C: float, halves: dict[int, Halves]) -> tuple[np.ndarray, np.ndarray]:
        """Return (H, g): each node separates the given halves of the classes of its rows, or, if it has none, two
        groups of them, found by 2-means of their centres."""
        H, g = np.zeros((2**depth, Z.shape[1])), np.ones(2**depth)
        cheapest, weight = loss.argmin(axis=1), np.ptp(loss, axis=1) + 1e-12
        arriving = {1: np.arange(len(Z))}
        for t in range(1, 2**depth):
            rows = arriving[t]
            own = rows[np.isin(cheapest[rows], sum(halves[t], ()))] if t in halves else rows
            if len(np.unique(cheapest[own])) > 1 and not self._over():
                right = (
                    np.isin(cheapest[own], halves[t][1])
                    if t in halves
                    else _two_groups(clipped(self.weighed(Z[own])), cheapest[own], weight[own], self.seed)
                )
                H[t], g[t] = self._penalised(Z[own], right, weight[own], C)
            right = Z[rows] @ H[t] > g[t]
            arriving[2 * t], arriving[2 * t + 1] = rows[~right], rows[right]
        return H, g

    def _settled(
        self, H, g, Z, loss, depth: int, C: float, nodes: list[int] | None = None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return (loss, H, g) of the best tree of the passes over these nodes, children first; over all if None."""
        leaves, n = 2**depth, len(Z)
        H, g, best, asked = H[:leaves].copy(), g[:leaves].copy(), None, [b""] * leaves
        right = Z @ H.T > g
        leaf = reach(np.ones(n, int), np.arange(n), right, leaves)
        label, cost = _labels(leaf, loss, leaves)
        for number in range(PASSES):
            before = cost
            for t in nodes or range(leaves - 1, 0, -1):
                rows = np.flatnonzero(leaf + leaves >> depth + 1 - t.bit_length() == t)
                if not len(rows) or self._over():
                    continue
                sides = [label[reach(np.full(len(rows), 2 * t + side), rows, right, leaves)] for side in (0, 1)]
                lost = loss[rows, sides[0]], loss[rows, sides[1]]
                care = np.abs(lost[0] - lost[1]) > NEAR
                if not care.any():
                    continue
                toward, gain = (lost[1] < lost[0])[care], np.abs(lost[0] - lost[1])[care]
                question = rows[care].tobytes() + toward.tobytes() + gain.tobytes()
                if question == asked[t]:
                    continue
                asked[t] = question
                h, bound = self._penalised(Z[rows[care]], toward, gain, C, (H[t], g[t]))
                new, old = Z[rows[care]] @ h > bound, right[rows[care], t]
                if number == 0 or gain[new != toward].sum() <= gain[old != toward].sum() + NEAR:
                    H[t], g[t], right[:, t] = h, bound, Z @ h > bound
                    leaf[rows] = reach(np.full(len(rows), t), rows, right, leaves)
                    label, cost = _labels(leaf, loss, leaves)
            if best is None or cost < best[0] - NEAR:
                best = cost, H.copy(), g.copy()
            if self.late or (number and abs(cost - before) <= NEAR):
                break
        return best

    def _penalised(self, Z, right, weight, C: float, start=None) -> tuple[np.ndarray, float]:
        """Return (h, g) of a node: over the columns without missing cells; or over all, by the rows without missing
        cells, if the weight of misdirected rows is no larger when the other rows go right."""
        near = self.weighed(Z)
        d, h = near.shape[1], np.zeros(Z.shape[1])
        if not len(self.gaps):
            h[:d], g = _penalised(near, right, weight, C, self.sparse, start and (start[0][:d], start[1]))
            return h, g
        found, whole, missing = [], self._whole(Z), self._missing(Z)
        if len(whole):
            one, g = _penalised(near[:, whole], right, weight, C, self.sparse)
            h[whole] = one
            found.append((h, g))
        some = ~missing
        if len(np.unique(right[some])) > 1:
            one, g = _penalised(near[some], right[some], weight[some], C, self.sparse)
            h = np.zeros(Z.shape[1])
            h[:d], h[len(h) - len(self.gaps) :] = one, MISSING * (one[self.gaps] != 0)
            found.append((h, g))
        elif not found:
            return h, -1.0 if 2 * weight[right].sum() > weight.sum() else 1.0
        return min(found, key=lambda plane: float(weight[(Z @ plane[0] > plane[1]) != right].sum()))

    def _path(self, tree: tuple[np.ndarray, np.ndarray], Z, loss, C: float | None = None) -> list[PrunedTree]:
        """Return the trees that remain as one branch node after the other is removed, with hyperplanes of their own if
        they have a penalty; without those that lose more than a smaller one."""
        found: list[PrunedTree] = []
        for one in _cut_back(*tree, Z, loss):
            if C is not None and found and one.leaves > 1:
                one = self._refitted(one, Z, loss, C)
            while found and found[-1].loss > one.loss + NEAR:
                found.pop()
            found.append(one)
        return found

    def _refitted(self, tree: PrunedTree, Z, loss, C: float) -> PrunedTree:
        inside = [t for t in reversed(tree.nodes()) if not tree.ends[t]]
        H, g = np.zeros_like(tree.H), np.ones_like(tree.g)
        H[inside], g[inside] = tree.H[inside], tree.g[inside]
        _, H, g = self._settled(H, g, Z, loss, len(g).bit_length() - 1, C, inside)
        label, alone = _ended(H, g, Z, loss)
        ends = [t for t in tree.nodes() if tree.ends[t]]
        return PrunedTree(H, g, tree.ends, label, float(alone[ends].sum()))


def _ended(H, g, Z, loss) -> tuple[np.ndarray, np.ndarray]:
    """Return (the class of each node if it is a leaf, the loss of its rows then)."""
    leaves, n = len(g), len(Z)
    leaf = reach(np.ones(n, int), np.arange(n), Z @ H.T > g, leaves)
    of, rows = np.zeros((2 * leaves, loss.shape[1])), np.zeros(2 * leaves, int)
    np.add.at(of, leaf + leaves, loss)
    np.add.at(rows, leaf + leaves, 1)
    for t in range(leaves - 1, 0, -1):
        of[t], rows[t] = of[2 * t] + of[2 * t + 1], rows[2 * t] + rows[2 * t + 1]
    label = of.argmin(axis=1)
    for t in range(2, 2 * leaves):
        label[t] = label[t] if rows[t] else label[t // 2]
    return label, of.min(axis=1)


def _cut_back(H, g, Z, loss) -> list[PrunedTree]:
    """Return the tree, and the trees that remain as the branch node that saves least per leaf is removed, again and
    again."""
    leaves, (label, alone) = len(g), _ended(H, g, Z, loss)
    ends = np.zeros(2 * leaves, bool)
    ends[leaves:] = True
    found = []
    while True:
        below, count = alone.copy(), np.ones(2 * leaves)
        for t in range(leaves - 1, 0, -1):
            if not ends[t]:
                below[t], count[t] = below[2 * t] + below[2 * t + 1], count[2 * t] + count[2 * t + 1]
        found.append(PrunedTree(H, g, ends.copy(), label, float(below[1])))
        inner = [t for t in found[-1].nodes() if not ends[t]]
        if not inner:
            return found
        ends[min(inner, key=lambda t: ((alone[t] - below[t]) / (count[t] - 1), -t))] = True


def _labels(leaf: np.ndarray, loss: np.ndarray, leaves: int) -> tuple[np.ndarray, float]:
    """Return (the cheapest class of each leaf, the cost of all leaves); an empty leaf predicts the cheapest class of
    all rows."""
    of = np.zeros((leaves, loss.shape[1]))
    np.add.at(of, leaf, loss)
    label = np.where(np.bincount(leaf, minlength=leaves) > 0, of.argmin(axis=1), loss.sum(axis=0).argmin())
    return label, float(of.min(axis=1).sum())


def _two_groups(Z, cheapest, weight, seed: int) -> np.ndarray:
    """Return bool (rows,): whether a row is in the second of two groups of classes."""
    from sklearn.cluster import KMeans

    classes = np.unique(cheapest)
    if len(classes) == 2:
        return cheapest == classes[1]
    centres = np.array([np.average(Z[cheapest == k], axis=0, weights=weight[cheapest == k]) for k in classes])
    group = KMeans(2, n_init=3, random_state=seed).fit(centres).labels_
    group = group if group.min() < group.max() else np.arange(len(classes)) % 2
    return np.isin(cheapest, classes[group == 1])


def _penalised(Z, right, weight, C: float, sparse: bool, start=None) -> tuple[np.ndarray, float]:
    """Return (h, g) of the linear model above, without the columns with a number OUT or further that it does not need.

    In a row with such a number, this number decides where the row goes, however little its column weighs, so a column
    with little information costs all the rows in which it is far out. Half of these columns are removed, in order of
    rising weight, then half of the remaining ones, and fewer if the weight of misdirected rows grows without them.
    """
    plane = _of_near_rows(Z, right, weight, C, sparse, start)
    far = (np.abs(Z - 0.5) >= OUT).any(axis=0)
    if not far.any():
        return plane
    wrong, size = _wrong(plane, Z, right, weight), int((far & (plane[0] != 0)).sum())
    while size:
        h, g = plane
        asked = np.flatnonzero(far & (h != 0))
        kept = h != 0
        kept[asked[np.argsort(np.abs(h[asked]), kind="stable")[:size]]] = False
        if kept.any():
            fewer = np.zeros_like(h)
            fewer[kept], bound = _of_near_rows(Z[:, kept], right, weight, C, sparse, (h[kept], g))
            if (less := _wrong((fewer, bound), Z, right, weight)) <= wrong + NEAR:
                plane, wrong = (fewer, bound), less
                size = min(size, int((far & (fewer != 0)).sum()))
                continue
        size //= 2
    return plane


def _wrong(plane: tuple[np.ndarray, float], Z, right, weight) -> float:
    """Return the weight of the rows that go to the incorrect side."""
    return float(weight[(Z @ plane[0] > plane[1]) != right].sum())


def _of_near_rows(Z, right, weight, C: float, sparse: bool, start=None) -> tuple[np.ndarray, float]:
    """Return (h, g) of the linear model above, without the rows that have a number OUT or further unless the weight of
    misdirected rows is then larger: such a number may be an error, or may be what separates the classes."""
    near = (np.abs(Z - 0.5) < OUT).all(axis=1)
    whole = _linear(Z, right, weight, C, sparse, start)
    if near.all() or 2 * near.sum() < len(Z) or len(np.unique(right[near])) < 2:
        return whole
    fewer = _linear(Z[near], right[near], weight[near], C, sparse, whole)
    return whole if _wrong(whole, Z, right, weight) < _wrong(fewer, Z, right, weight) - NEAR else fewer


def _linear(Z, right, weight, C: float, sparse: bool, start=None) -> tuple[np.ndarray, float]:
    """Return (h, g) of the linear model of these rows; if all rows go one way, a hyperplane that sends them there."""
    if right.all() or not right.any():
        return np.zeros(Z.shape[1]), -1.0 if right.all() else 1.0
    Z, weight = clipped(Z), weight / weight.mean()
    if not sparse and len(Z) * min(Z.shape) ** 2 <= NEWTON:
        return fit_logistic(Z, right, weight, C, start)
    if sparse:
        return fit_hinge(Z, right, weight, C, sparse=True, steps=200)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, max_iter=100, tol=1e-3).fit(Z, right, weight)
    return model.coef_[0].copy(), -float(model.intercept_[0])
