"""Reference: the cheapest tree by trying every one. Plain Python, independent of all code that it checks."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog


def cheapest(
    X, y, weight, depth: int, price: float = 0.0, share: float = 1.0, copies=None, least: int = 0, cost=None
) -> float:
    """Return the minimum of share · (loss) + price · (branch nodes) over all trees of at most this depth.

    The trees split on the 0/1 columns of X, and their leaves have no row of the data or at least `least`. The loss is
    the weight of the errors, or `cost[true][predicted]` for a unit of it.
    """
    n_classes = len(cost) if cost is not None else int(y.max()) + 1
    prices = [[cost[k][c] if cost is not None else k != c for c in range(n_classes)] for k in range(n_classes)]

    def best(rows, depth):
        weights = [float(weight[rows & (y == k)].sum()) for k in range(n_classes)]
        cost = share * min(sum(w * prices[k][c] for k, w in enumerate(weights)) for c in range(n_classes))
        if least and 0 < copies[rows].sum() < least:
            return float("inf")
        if depth == 0:
            return cost
        for test in range(X.shape[1]):
            ones = rows & X[:, test]
            zeros = rows & ~X[:, test]
            cost = min(cost, price + best(ones, depth - 1) + best(zeros, depth - 1))
        return cost

    return best(np.ones(len(y), bool), depth)


def least_losses(X, y, weight, depth: int, cost, copies, least: int = 0, may=lambda test, above: True) -> dict:
    """Return {(branch nodes, set of splits): least loss} of all trees of at most this depth.

    The trees split on the 0/1 columns of X, and their leaves have no row of the data or at least `least`; the loss is
    by `cost[true][predicted]`. `may(test, above)` returns whether a node below the splits `above` may have this split.
    """

    def best(rows, depth, above=()):
        if not rows.any():
            return {(0, frozenset()): 0.0}
        weights = [float(weight[rows & (y == k)].sum()) for k in range(len(cost))]
        found = {}
        if copies[rows].sum() >= least:
            found[0, frozenset()] = min(sum(w * cost[k][c] for k, w in enumerate(weights)) for c in range(len(cost)))
        for test in (test for test in range(X.shape[1]) if depth and may(test, above)):
            ones, zeros = rows & X[:, test], rows & ~X[:, test]
            if ones.any() and zeros.any():
                right = best(ones, depth - 1, (*above, test)).items()
                for (n, asked), loss in best(zeros, depth - 1, (*above, test)).items():
                    for (m, others), more in right:
                        key = n + m + 1, asked | others | {test}
                        found[key] = min(found.get(key, float("inf")), loss + more)
        return found

    return best(np.ones(len(y), bool), depth)


def every_tree(X, n_classes: int, depth: int, may=lambda test, above: True, leaf=lambda label, rows: True):
    """Yield all trees of at most this depth over the 0/1 columns of X, without nodes that separate no rows, or lead to
    two leaves of one class.

    Each is (branch nodes, set of splits, leaves of each class, prediction of each row, shape). The shape is a class,
    or (split, shape of its zeros, shape of its ones). `may` returns whether a node below some splits may have this
    one, `leaf` whether a leaf may predict a class for these rows.
    """

    def trees(rows, depth, above=()):
        for k in range(n_classes):
            if leaf(k, rows):
                yield 0, frozenset(), tuple(int(k == c) for c in range(n_classes)), dict.fromkeys(rows, k), k
        for test in (test for test in range(X.shape[1]) if depth and may(test, above)):
            ones, zeros = (tuple(row for row in rows if X[row, test] == value) for value in (True, False))
            if not (ones and zeros):
                continue
            right = list(trees(ones, depth - 1, (*above, test)))
            for n, asked, counts, said, zero in trees(zeros, depth - 1, (*above, test)):
                for m, others, more, told, one in right:
                    if n or m or counts != more:
                        both = tuple(a + b for a, b in zip(counts, more))
                        yield n + m + 1, asked | others | {test}, both, said | told, (test, zero, one)

    for n, asked, counts, said, shape in trees(tuple(range(len(X))), depth):
        yield n, asked, counts, tuple(said[row] for row in range(len(X))), shape


def every_split(dataset):
    """Return bool (rows of the data, splits): every threshold of every number, and every set of levels; a missing cell
    is in no set, and above every threshold."""
    columns = []
    for values, feature in zip(dataset.X.T, dataset.features):
        absent = np.isnan(values)
        found = sorted(set(values[~absent]))
        whole = len(found) + bool(absent.any())  # all that occurs, against missing cells, is one more
        if feature.kind == "numeric":
            columns += [values <= number for number in found[: whole - 1]]
        else:
            columns += [np.isin(values, chosen) for size in range(1, whole) for chosen in combinations(found, size)]
    return np.unique(np.array(columns), axis=0).T


def every_hyperplane(dataset, sets: bool = False):
    """Return bool (rows of the data, splits): every way in which a hyperplane over the numbers and the levels
    separates the rows; with `sets` only over the numbers, and every set of levels of a category."""
    columns = []
    for values, feature in zip(dataset.X.T, dataset.features):
        if feature.kind == "numeric":  # numbers may differ by little: in units of their range they do not
            columns.append((values - values.min()) / (np.ptp(values) or 1.0))
        elif not sets:
            columns += [(values == level).astype(float) for level in np.unique(values)]
    parts = [every_split(dataset).T] if sets else []
    if columns:
        points, of = np.unique(np.array(columns, float).T, axis=0, return_inverse=True)
        parts.append(separations(points)[of.reshape(-1)].T)
    return np.unique(np.vstack(parts), axis=0).T


def separations(points):
    """Return bool (points, ways): each way to separate distinct points by a hyperplane, the first of them
    on the left."""
    n, found = len(points), []
    for code in range(1, 2 ** (n - 1)):
        right = np.array([code >> k & 1 for k in range(n - 1)] + [0], bool)[::-1]
        side = np.where(right, -1.0, 1.0)[:, None]
        rows = np.hstack([side * points, -side])  # side (h·x - g) <= -1
        if linprog(np.zeros(points.shape[1] + 1), A_ub=rows, b_ub=-np.ones(n), bounds=(None, None)).status == 0:
            found.append(right)
    return np.array(found, bool).reshape(-1, n).T


def fewest_branch_nodes(X, n_classes: int, depth: int, least: int = 0) -> dict[tuple[int, ...], int]:
    """Return {prediction for each row: the fewest branch nodes of such a tree}, over all trees of at most this depth
    over the 0/1 columns of X whose leaves have no row or at least `least`."""
    known = {}

    def trees(rows, depth):
        if (rows, depth) not in known:
            found = {(k,) * len(rows): 0 for k in range(n_classes)} if len(rows) >= least else {}
            for column in X.T if depth else ():
                ones, zeros = (tuple(r for r in rows if column[r] == value) for value in (True, False))
                if ones and zeros:
                    place = [(ones + zeros).index(r) for r in rows]
                    for one, n in trees(ones, depth - 1).items():
                        for zero, m in trees(zeros, depth - 1).items():
                            told = one + zero
                            told = tuple(told[p] for p in place)
                            found[told] = min(found.get(told, depth * 99), n + m + 1)
            known[rows, depth] = found
        return known[rows, depth]

    return trees(tuple(range(len(X))), depth)
