"""Laws of trees whose leaves cost sums, under limits on the tree: the optimum is that of trying every tree."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.moments import laws
from odtc.algorithms.moments.search import MomentSearch
from odtc.algorithms.moments.tree_limits import TreeLimits
from odtc.data.reading import read
from odtc.data.task import TASKS
from odtc.errors import CertificateError, TimeLimitReached
from odtc.formulations.dpflow.forms import moments_limits
from odtc.problem.constraints import constraint
from odtc.verification.certificate import check
from odtc.workflow import near_optimal
from tests import pipeline
from tests.laws.test_tasks import corruptions, error_of, said, table, write


def every_tree(rank: np.ndarray, leaf, depth: int, limits: TreeLimits, least: int, price: float) -> dict:
    """{(leaves, columns): least cost} of the trees that keep the limits but those on leaves and sets of columns."""

    def of(rows: tuple, level: int, free: frozenset) -> dict:
        found = {(1, frozenset()): leaf(list(rows))}
        for column in sorted(free) if level < depth else ():
            if limits.levels is not None and not limits.levels[level, column]:
                continue
            below = free if limits.below is None else frozenset(f for f in free if limits.below[column, f])
            for cut in np.unique(rank[list(rows), column])[:-1]:
                sides = [tuple(i for i in rows if (rank[i, column] <= cut) == left) for left in (True, False)]
                if min(map(len, sides)) < least:
                    continue
                one, two = (of(side, level + 1, below) for side in sides)
                for (m, f), paid in one.items():
                    for (k, g), more in two.items():
                        key = m + k, f | g | {column}
                        found[key] = min(found.get(key, np.inf), price + paid + more)
        return found

    return of(tuple(range(len(rank))), 0, frozenset(range(rank.shape[1])))


@given(
    seed=st.integers(0, 10**6),
    law=st.sampled_from([laws.SQUARE, laws.LIKELIHOOD]),
    depth=st.integers(1, 3),
    least=st.integers(1, 2),
    price=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=12)
def test_the_best_tree_within_limits_is_the_best_of_all(seed, law, depth, least, price):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 9)), 3
    rank = rng.integers(0, 3, (n, p))
    rank[0], rank[1] = 0, 2
    w = rng.integers(1, 4, n).astype(float)
    told = rng.integers(-3, 4, n) if law == laws.SQUARE else rng.integers(0, 2, n)
    s = w * told
    moments = np.stack([w, s, w * told**2 if law == laws.SQUARE else s, np.ones(n)])
    limits = TreeLimits(
        int(rng.integers(1, 7)) if rng.random() < 0.6 else None,
        rng.random((depth, p)) < 0.7 if rng.random() < 0.4 else None,
        rng.random((p, p)) < 0.6 if rng.random() < 0.4 else None,
        rng.random((3, p)) < 0.5 if rng.random() < 0.5 else None,
        int(rng.integers(1, 3)) if rng.random() < 0.4 else None,
        tuple(
            tuple((int(column),) for column in rng.choice(p, int(rng.integers(2, p + 1)), replace=False))
            for _ in range(int(rng.integers(1, 3)))
        )
        if rng.random() < 0.5
        else (),
    )

    def leaf(rows):
        return float(laws.leaf_costs(law, moments[:3, rows].sum(axis=1)))

    fits = {
        key: paid
        for key, paid in every_tree(rank, leaf, depth, limits, least, price).items()
        if key[0] <= (limits.leaves or np.inf)
        and (limits.subsets is None or any(all(one[f] for f in key[1]) for one in limits.subsets))
        and (limits.distinct is None or len(key[1]) <= limits.distinct)
        and all(len(key[1] & set(np.ravel(group))) in (0, len(group)) for group in limits.together)
    }
    search = MomentSearch(rank, moments, law, price, least, limits=limits)
    search.solve(depth)
    assert search.cost == pytest.approx(min(fits.values()), rel=1e-9, abs=1e-9)
    assert search.bound == pytest.approx(search.cost, rel=1e-9, abs=1e-9)

    def paid(tree, rows):
        if tree is None:
            return leaf(rows), 1, frozenset()
        left = rank[rows, tree[0]] <= tree[1]
        (one, m, f), (two, k, g) = paid(tree[2], rows[left]), paid(tree[3], rows[~left])
        return price + one + two, m + k, f | g | {tree[0]}

    cost, *key = paid(search.tree(), np.arange(n))
    assert cost == pytest.approx(search.cost, rel=1e-9, abs=1e-9) and tuple(key) in fits
    assert cost >= fits[tuple(key)] - 1e-9


@given(
    seed=st.integers(0, 10**6),
    law=st.sampled_from([laws.SQUARE, laws.LIKELIHOOD]),
    depth=st.integers(1, 3),
    most=st.integers(1, 3),
    least=st.integers(1, 2),
    price=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=12)
def test_the_best_tree_of_few_different_tests_is_the_best_of_all(seed, law, depth, most, least, price):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 10)), int(rng.integers(2, 6))
    rank = rng.integers(0, 2, (n, p))
    rank[0], rank[1] = 0, 1
    w = rng.integers(1, 4, n).astype(float)
    told = rng.integers(-3, 4, n) if law == laws.SQUARE else rng.integers(0, 2, n)
    moments = np.stack([w, w * told, w * told**2 if law == laws.SQUARE else w * told, np.ones(n)])

    def leaf(rows):
        return float(laws.leaf_costs(law, moments[:3, rows].sum(axis=1)))

    trees = every_tree(rank, leaf, depth, TreeLimits(), least, price)
    search = MomentSearch(rank, moments, law, price, least, limits=TreeLimits(distinct=most))
    search.solve(depth)
    assert search.cost == pytest.approx(min(paid for (_, used), paid in trees.items() if len(used) <= most), abs=1e-9)
    assert search.bound == search.cost

    def used(tree):
        return set() if tree is None else {tree[0]} | used(tree[2]) | used(tree[3])

    assert len(used(search.tree())) <= most


def test_tests_are_counted_among_no_more_than_the_search_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(moments_limits, "MANY_TESTS", 5)
    rows = [[i, j, (i * j) % 7] for i in range(4) for j in range(4)]
    path = write(tmp_path / "r.csv", ["a", "b", "y"], rows)
    with pytest.raises(
        odtc.OdtcError, match="'splits <= 2': the splits of a tree are counted among 5 at most, and these"
    ):
        odtc.fit(path, depth=2, reading={"task": "regression"}, constraints=["splits <= 2"])


def test_at_a_limit_a_tree_of_few_tests_has_a_bound_below_the_best():
    rng = np.random.default_rng(3)
    rank = rng.integers(0, 2, (60, 12))
    y = rng.normal(size=60) + 3 * rank[:, 2] * rank[:, 7]
    moments, calls = np.stack([np.ones(60), y, y**2, np.ones(60)]), []

    def stop():
        calls.append(1)
        if len(calls) > 6:
            raise TimeLimitReached("enough")

    best = MomentSearch(rank, moments, laws.SQUARE, limits=TreeLimits(distinct=2))
    best.solve(2)
    cut = MomentSearch(rank, moments, laws.SQUARE, check=stop, limits=TreeLimits(distinct=2))
    with pytest.raises(TimeLimitReached):
        cut.solve(2)
    assert 0 < cut.bound < best.cost <= cut.cost + 1e-9


def test_a_side_without_a_column_that_may_be_tested_is_a_leaf():
    """Below the root nothing may be tested."""
    y = np.array([0.0, 1, 5, 7])
    moments = np.stack([np.ones(4), y, y**2, np.ones(4)])
    search = MomentSearch(np.arange(4)[:, None], moments, laws.SQUARE, limits=TreeLimits(below=np.zeros((1, 1), bool)))
    search.solve(2)
    assert search.cost == pytest.approx(0.5 + 2) and search.tree() == (0, 1, None, None)


TEXTS = (
    "leaves <= 3",
    "branch_nodes <= 2",
    "branch_nodes <= 0",
    "features <= 1",
    "deepest[x0] <= 0",
    "shallowest[x1] >= 2",
    "forbid_root[x0,x1]",
    "require_root[colour]",
    "never_together[x0,colour]",
    "not_below[x0,x1]",
    "splits <= 1",
    "splits <= 2",
    "splits <= 3",
    "together[x0,x1]",
    "together[x0,colour]",
    "together[x0,x1,colour]",
)
CERTIFIED = "leaves", "branch_nodes", "splits", "together", "features", "never_together"


@pytest.mark.parametrize("text", TEXTS)
def test_a_regression_under_a_constraint_errs_as_little_as_the_best_of_all_trees(tmp_path, text):
    header, rows = table(31, 9)
    y = np.random.default_rng(32).integers(-5, 6, 9) / 2
    path = write(tmp_path / "r.csv", [*header, "y"], [a + [b] for a, b in zip(rows, y.tolist())])
    reading = {"task": "regression", "weights": "w"}
    done = odtc.fit(path, depth=3, reading=reading, constraints=[text, "leaf_rows >= 2"])
    encoded = done.problem.encoded
    reference = constraint.parse(text, encoded).module.reference(encoded, constraint.parse(text, encoded))
    X, w = np.asarray(encoded.X)[encoded.row_of], np.array([line[3] for line in rows], float)
    leaf = error_of(y, w)

    def best(rows: tuple, above: tuple) -> dict:
        """{the tests of a tree: its least cost}."""
        found = {(): leaf(list(rows))}
        for test in range(X.shape[1]) if len(above) < 3 else ():
            sides = [tuple(i for i in rows if X[i, test] == one) for one in (0, 1)]
            if min(map(len, sides)) < 2 or (reference.allowed and not reference.allowed(test, above)):
                continue
            one, two = (best(side, (*above, test)) for side in sides)
            for f, paid in one.items():
                for g, more in two.items():
                    key = tuple(sorted((test, *f, *g)))
                    found[key] = min(found.get(key, np.inf), paid + more)
        return found

    trees = best(tuple(range(9)), ())
    expected = min(
        paid for tests, paid in trees.items() if not reference.counts or reference.counts(len(tests), set(tests))
    )
    assert done.verified and done.proved and done.proof.objective == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert bool(done.certified) == text.startswith(CERTIFIED)


@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize(("depth", "least"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)])
def test_the_trees_of_a_pool_are_the_best_ones_in_order(tmp_path, task, depth, least):
    header, rows = table(41, 8)
    rng = np.random.default_rng(42)
    told = [[float(a), int(b)] for a, b in zip(rng.integers(1, 9, 8), rng.integers(0, 2, 8))]
    path = write(tmp_path / "r.csv", [*header, "y", "e"], [a + b for a, b in zip(rows, told)])
    if task == "regression":
        reading = {"task": task, "weights": "w", "target": "y", "auxiliary": "e"}
    else:
        reading = {"task": task, "weights": "w", "time": "y", "event": "e"}
    given = [f"leaf_rows >= {least}"] if least > 1 else []
    problem = pipeline.pose(read(path, **reading), "dpflow", depth, constraints=given)
    found = near_optimal.near_optimal(problem, 12)
    encoded = problem.encoded
    X, sums = np.asarray(encoded.X), encoded.sums
    leaf_costs = TASKS.get(task).leaf_costs

    def trees(members: tuple, height: int) -> list[float]:
        """The costs of all trees of which no part costs as much as one leaf, or more."""
        alone = float(leaf_costs(sums[list(members)].sum(axis=0)))
        found = [alone]
        for test in range(X.shape[1]) if height else ():
            sides = [tuple(i for i in members if X[i, test] == one) for one in (False, True)]
            if min(sum(encoded.copies[i] for i in side) for side in sides) < least:
                continue
            one, two = (trees(side, height - 1) for side in sides)
            found += [a + b for a in one for b in two if a + b < alone - 1e-9]
        return found

    expected = sorted(trees(tuple(range(len(X))), depth))
    assert found.objectives == pytest.approx(expected[: len(found.trees)], rel=1e-9, abs=1e-9)
    assert len(found.trees) == min(12, len(expected)) and found.complete == (len(expected) <= 12)


def test_a_pool_of_a_regression_is_written_beside_the_proved_tree(tmp_path):
    header, rows = table(43, 30)
    y = np.random.default_rng(44).normal(size=30).round(2)
    write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, y)])
    words = ["fit", "r.csv", "--task", "regression", "--pool", "5", "--within", "50%", "-o", "m", "--json"]
    facts = json.loads(said(tmp_path, *words))
    pool = near_optimal.read_pool(tmp_path / "m.pool.json")
    assert facts["certified"] and pool.objectives[0] == pytest.approx(facts["objective"])
    assert len(pool.trees) == 5 and list(pool.objectives) == sorted(pool.objectives)
    assert "5 of at least" in said(tmp_path, "show", "m.pool.json")


def test_all_trees_of_a_regression_near_the_best_are_listed(tmp_path):
    header, rows = table(45, 20)
    y = np.random.default_rng(46).normal(size=20).round(2)
    write(tmp_path / "r.csv", [*header[:2], "y"], [a[:2] + [b] for a, b in zip(rows, y)])
    words = ["fit", "r.csv", "--task", "regression", "--depth", "1", "-o", "m", "--json"]
    said(tmp_path, *words, "--within", "20%")
    pool = near_optimal.read_pool(tmp_path / "m.pool.json")
    X = np.array([a[:2] for a in rows], float)
    spread = lambda part: float(((part - part.mean()) ** 2).sum())  # noqa: E731
    parted = {tuple(X[:, j] <= cut) for j in range(2) for cut in np.unique(X[:, j])[:-1]}
    costs = sorted([spread(y), *(spread(y[np.array(one)]) + spread(y[~np.array(one)]) for one in parted)])
    near = [cost for cost in costs if cost <= 1.2 * costs[0]]
    assert pool.complete and pool.objectives == pytest.approx(near)


LIMITS = (
    ["leaf_rows >= 4"],
    ["leaves <= 5"],
    ["branch_nodes <= 2"],
    ["leaf_rows >= 3", "leaves <= 3"],
    ["splits <= 2"],
    ["splits <= 3", "leaf_rows >= 2", "leaves <= 5"],
    ["together[x0,x1]"],
    ["together[x0,colour]", "together[x1,colour]", "leaf_rows >= 2"],
    ["leaves <= 1"],
    ["splits <= 0"],
)


@pytest.mark.every(2)
@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize("given", LIMITS, ids=" ".join)
@pytest.mark.parametrize("price", ["0", "0.2"])
def test_a_tree_within_limits_of_its_leaves_has_a_certificate(tmp_path, task, given, price):
    data = data_of(tmp_path, task, 51, 16)
    for depth in (1, 2, 3):
        done = odtc.fit(data, depth=depth, constraints=given, params={"lambda": price})
        assert done.verified and done.proved and done.certified


def data_of(folder, task: str, seed: int, n: int):
    header, rows = table(seed, n)
    rng = np.random.default_rng(seed + 1)
    told = [[int(a) + line[0], int(b)] for a, b, line in zip(rng.integers(1, 9, n), rng.integers(0, 2, n), rows)]
    path = write(folder / "r.csv", [*header, "y", "e"], [a + b for a, b in zip(rows, told)])
    if task == "regression":
        return read(path, task=task, weights="w", target="y", auxiliary="e")
    return read(path, task=task, weights="w", time="y", event="e")


@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize("given", LIMITS[:8], ids=" ".join)
def test_no_corrupted_certificate_within_limits_proves_more_than_is_true(tmp_path, task, given):
    data = data_of(tmp_path, task, 61, 12)
    problem = pipeline.pose(data, "dpflow", 3, constraints=given)
    facts = problem.module.certificate(problem)
    true, refused = check(facts, data), 0
    assert true.optimal
    for changed, corrupted in corruptions(facts, 7, 16):
        try:
            proof = check(corrupted, data)
        except CertificateError:
            refused += 1
            continue
        same_price = corrupted["penalty"] == facts["penalty"]
        assert proof.bound <= true.objective * (1 + 1e-9) or not same_price, changed
        assert proof.objective >= true.objective * (1 - 1e-9) or not same_price, changed
    assert refused > 2


@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize(
    "given", [[], ["leaf_rows >= 2", "leaves <= 5"], ["splits <= 2"], ["together[x0,x1]"]], ids=str
)
def test_a_worse_tree_in_a_certificate_is_not_proved_nor_the_bound_above_the_best_one(tmp_path, task, given):
    for seed in (76, 78, 82):  # rows that cost less than 0 alone are among them
        data = data_of(tmp_path, task, seed, 9)
        deep, flat = (
            problem.module.certificate(problem)
            for problem in (pipeline.pose(data, "dpflow", depth, constraints=given) for depth in (3, 1))
        )
        best, worse = check(deep, data), check(deep | {k: flat[k] for k in ("tree", "claim")}, data)
        assert best.optimal and worse.bound <= best.objective + 1e-9 * abs(best.objective)
        assert worse.optimal == (worse.objective <= best.objective + 1e-9 * abs(best.objective))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_the_estimator_of_numbers_takes_constraints(criterion):
    rng = np.random.default_rng(81)
    X, y = rng.integers(0, 5, (30, 3)), rng.integers(0, 6, 30)
    free = odtc.OptimalTreeRegressor(3, criterion=criterion).fit(X, y)
    held = odtc.OptimalTreeRegressor(3, criterion=criterion, constraints=["leaves <= 3", "features <= 1"]).fit(X, y)
    one = odtc.OptimalTreeRegressor(3, criterion=criterion, constraints="leaves <= 1").fit(X, y)
    assert held.is_optimal_ and held.get_n_leaves() == 3 and one.get_n_leaves() == 1
    assert free.objective_ < held.objective_ < one.objective_
    assert all(check.passed for check in held.verify(X, y))


@pytest.mark.parametrize("price", ["0.5652173913043479", "0.0123456789012345678"])
def test_a_price_of_many_digits_changes_no_proof_under_constraints(tmp_path, price):
    """13/23 but for the last digit, and a number that is no quotient of small ones."""
    header, rows = table(47, 24)
    y = np.random.default_rng(48).integers(0, 9, 24)
    write(tmp_path / "r.csv", [*header[:2], "y"], [a[:2] + [int(b)] for a, b in zip(rows, y)])
    words = ["fit", "r.csv", "--task", "median", "--depth", "2", "--min-leaf-rows", "2", "--max-features", "1"]
    found = [
        json.loads(said(tmp_path, *words, "-p", f"lambda={given}", "-o", "m", "--json")) for given in (price, price[:8])
    ]
    assert all(one["gap"] == 0 and one["verified"] for one in found)
    assert found[0]["objective"] == pytest.approx(found[1]["objective"], rel=1e-5)


@pytest.mark.parametrize("text", ["features <= 0", "splits <= 0"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_a_leaf_is_proved_where_no_column_may_be_split_on(text, leaf):
    """No set of columns contains the leaf, so it is compared by itself; its cost is rounded in doubles."""
    y = [1.0, 0.3333333333333333] * 2
    done = odtc.fit(X=[[2.0], [2.0], [0.0], [0.0]], y=y, task="regression", leaf=leaf, constraints=text)
    assert done.proved and done.tree.n_leaves == 1 and done.solution.objective == pytest.approx(4 / 9, 1e-12)
