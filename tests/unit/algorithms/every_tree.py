"""The judge of the constrained search: the cheapest feasible tree by trying every tree and every labelling."""

import numpy as np


def cheapest_feasible(problem, accepts_tests=None, settled=False, pairs=()):
    """The least cost of a tree that keeps everything, None if none does.

    Parameters
    ----------
    problem : ConstrainedProblem
    accepts_tests : Callable[[frozenset], bool]
        The rest that it must keep, told of the tests that are asked.
    settled : bool
        Whether trees with two leaves of one label below a node are left out.
    pairs : sequence of (row, row, label)
        If the one row is predicted the label, so must be the other.
    """
    n, T = problem.X.shape
    K, R = problem.n_labels, problem.n_constraints
    known = {}

    def best(rows, path):
        """{(uses, tests asked, label of a leaf, what rows are predicted): least cost} of subtrees below a path."""
        key = (rows.tobytes(), path)
        if key in known:
            return known[key]
        found = {}
        for k in range(K):
            if (problem.measures[:, rows].sum(axis=1) >= problem.least[:, k]).all():
                uses = tuple((problem.uses[:, rows, k].sum(axis=1) + problem.leaf_uses[:, k]).tolist())
                said = frozenset((int(row), k) for row in np.flatnonzero(rows)) if len(pairs) else frozenset()
                state = uses, frozenset(), k, said
                found[state] = min(found.get(state, 10**12), int(problem.cost[rows, k].sum()))
        for test in range(T) if len(path) < problem.depth else ():
            if not problem.allowed[len(path), test] or (
                problem.below is not None and not all(problem.below[above, test] for above in path)
            ):
                continue
            ones = rows & problem.X[:, test]
            zeros = rows & ~problem.X[:, test]
            if not (ones.any() and zeros.any()):
                continue
            right = best(ones, (*path, test)).items()
            for (uses, asked, label, said), cost in best(zeros, (*path, test)).items():
                for (others, more, other, told), price in right:
                    if settled and label == other is not None:
                        continue
                    total = (
                        tuple(int(a) + int(b) + int(c) for a, b, c in zip(uses, others, problem.branch_uses))
                        if R
                        else ()
                    )
                    state = total, asked | more | {test}, None, said | told
                    found[state] = min(found.get(state, 10**12), cost + price + problem.branch_cost)
        known[key] = found
        return found

    fits = []
    for (uses, asked, _, said), cost in best(np.ones(n, bool), ()).items():
        columns = {int(problem.column[test]) for test in asked}
        within = any(all(subset[c] for c in columns) for subset in problem.subsets)
        if (
            within
            and all(a <= b for a, b in zip(uses, problem.bound))
            and (accepts_tests is None or accepts_tests(asked))
            and not any((one, label) in said and (other, label) not in said for one, other, label in pairs)
        ):
            fits.append(cost)
    return min(fits, default=None)


def random_problem(seed: int):
    """A small problem with constraints of every sort, and what it must keep besides."""
    from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem

    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 2, 3, 3]))
    T = int(rng.integers(2, 4 if depth == 3 else 7))
    n, K = int(rng.integers(4, 16)), int(rng.choice([2, 2, 2, 3, 4] if depth < 3 else [2, 2, 3]))
    X = rng.random((n, T)) < rng.uniform(0.3, 0.7, T)
    X[0], X[1] = False, True
    y = rng.integers(0, K, n)
    weight = rng.integers(1, 4, n) if rng.random() < 0.4 else np.ones(n, int)
    price = rng.integers(1, 5, (K, K)) if rng.random() < 0.3 else np.ones((K, K), int)
    np.fill_diagonal(price, 0)
    cost = weight[:, None] * price[y]
    uses, bound = [], []
    group, groups = rng.integers(0, 3, n), rng.integers(2, 4)
    for _ in range(rng.integers(0, 3)):
        k = int(rng.integers(0, K))
        line = np.zeros((n, K), int)
        sort = rng.choice(["recall", "gap", "precision", "any", "error"])
        if sort == "recall":
            line[:, k] = -weight * (y == k)
            bound.append(-int(np.ceil(rng.uniform(0.2, 1.0) * (weight * (y == k)).sum())))
        elif sort == "gap":
            g, h = (weight * (group % groups == j) for j in (0, 1))
            line[:, k] = h.sum() * g - g.sum() * h
            uses.append(-line)
            bound += [int(rng.uniform(0, 0.4) * g.sum() * h.sum())] * 2
        elif sort == "precision":
            line[:, k] = 2 * weight - 3 * weight * (y == k)
            bound.append(0)
        elif sort == "error":
            line = weight[:, None] * ((np.arange(K) != y[:, None]) & (y[:, None] == k))
            bound.append(int(rng.integers(0, 4)))
        else:
            line = rng.integers(-3, 4, (n, K))
            bound.append(int(rng.integers(-6, 6)))
        uses.append(line)
    branch_uses, leaf_uses = [0] * len(bound), [[0] * K for _ in bound]
    if rng.random() < 0.3:
        uses.append(np.zeros((n, K), int))
        bound.append(int(rng.integers(1, 2**depth)))
        branch_uses.append(1)
        leaf_uses.append([0] * K)
    if rng.random() < 0.2:
        uses.append(np.zeros((n, K), int))
        bound.append(int(rng.integers(1, 3)))
        branch_uses.append(0)
        leaf_uses.append(np.eye(K, dtype=int)[int(rng.integers(0, K))].tolist())
    keys = {}
    if rng.random() < 0.4:
        keys |= {"measures": np.ones((1, n), int), "least": np.full((1, K), float(rng.integers(1, 4)))}
        if rng.random() < 0.4:
            k = int(rng.integers(0, K))
            keys |= {
                "measures": np.stack([np.ones(n, int), 3 * (y == k) - 2]),
                "least": np.array([keys["least"][0], np.where(np.arange(K) == k, 0.0, -np.inf)]),
            }
    if rng.random() < 0.5:
        column = rng.integers(0, 3, T)
        m = int(column.max()) + 1
        keys |= {"column": column, "subsets": np.unique(rng.random((int(rng.integers(1, 4)), m)) < 0.6, axis=0)}
    if rng.random() < 0.2:
        keys["allowed"] = rng.random((depth, T)) < 0.8
    if rng.random() < 0.2:
        keys["below"] = rng.random((T, T)) < 0.8
    most, accepts_tests = int(rng.integers(0, 3)), None
    if rng.random() < 0.25:

        def accepts_tests(asked):
            return len(asked) <= most

        def accepts(test, label):
            from_root, asked = [1], set()
            while from_root:
                at = from_root.pop()
                if test[at] >= 0:
                    asked.add(int(test[at]))
                    from_root += [2 * at, 2 * at + 1]
            return len(asked) <= most

        keys["accepts"] = accepts
    R = len(bound)
    problem = ConstrainedProblem(
        X=X,
        cost=cost.astype(np.int64),
        depth=depth,
        uses=np.array(uses, np.int64).reshape(R, n, K),
        bound=np.array(bound, np.int64),
        branch_cost=int(rng.integers(0, 2) * rng.integers(0, 3)),
        branch_uses=np.array(branch_uses, np.int64),
        leaf_uses=np.array(leaf_uses, np.int64).reshape(R, K),
        **keys,
    )
    return problem, accepts_tests
