"""Bounds and lists of the checker of certificates under constraints, against all trees of drawn problems.

The judge here is a recursion over paths in Python's integers; it shares nothing with the checker but the problem.
"""

from dataclasses import replace
from functools import cache
from itertools import combinations, product
from unittest import mock

import numpy as np
import pytest

from odtc.verification.constrained import listed_cases, multiplier_bound
from odtc.verification.constrained.listed_cases import excluded
from odtc.verification.constrained.multiplier_bound import Problem, Weighted, surviving
from tests.plain_kernels import run_plain

SCALE = 8


def drawn(seed: int, depth: int = 0, size: tuple[int, int] | None = None) -> Problem:
    """Columns of nested and of other tests, sums of both signs, conditions on leaves, all that is said of places."""
    rng = np.random.default_rng(seed)
    depth = depth or (1, 2, 3, 3)[seed % 4]
    n_candidate_splits, n_rows = int(rng.integers(3, 7 - min(depth, 3))), int(rng.integers(3, 8 - min(depth, 3)))
    if size:
        n_candidate_splits, n_rows = size
    plain = rng.random() < 0.3  # nothing is said of several nodes at once
    n_kinds, K = int(rng.integers(2, 5)), 2 + int(rng.random() < 0.4)
    n_sums, n_held = int(rng.integers(0, 3)), int(rng.choice([0, 1, 1, 2]))
    column = np.unique(
        np.sort(rng.integers(0, rng.integers(1, 3 if size else 5), n_candidate_splits)), return_inverse=True
    )[1].reshape(-1)
    m = int(column.max()) + 1
    numbers, cuts = rng.random((n_rows, m)), rng.random(n_candidate_splits)
    X = numbers[:, column] > cuts
    other = rng.random(n_candidate_splits) < rng.choice([0.0, 0.2, 0.6])  # no chain with the others of its column
    X[:, other] = rng.random((n_rows, int(other.sum()))) < 0.5
    members = np.zeros((n_rows, n_kinds))
    for row in members:
        row[rng.integers(0, n_kinds)] = rng.integers(1, 4)
    free = rng.random() < 0.5
    of_columns = rng.random((m, m)) < (1.0 if free else 0.7)
    # Where every leaf is to hold a row, columns may have to be far below the root, or to go together.
    settled = rng.random() < 0.4
    first, last = rng.choice([0, 0, 0, 1, 2 * settled], m), rng.choice([0, 1, 9, 9, 9], m)
    level = np.arange(depth)[:, None]
    of_levels = ((first <= level) & (level <= last)) | free
    pairs = rng.integers(0, n_rows, (int(rng.choice([0, 0, 2, 6] if depth < 3 else [0, 0, 0, 1])) * (not plain), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    sets = [frozenset(rng.choice(m, 2, replace=False).tolist()) for _ in range(2)] if m > 1 else []
    held = rng.integers(-2 if rng.random() < 0.5 else 0, 3, (n_held, n_kinds))
    least = np.where(rng.random((n_held, K)) < 0.3, -np.inf, rng.integers(0, 4, (n_held, K)).astype(float))
    return Problem(
        X=X,
        members=members,
        cost=rng.integers(0, 5, (n_kinds, K)),
        uses=rng.integers(-3, 4, (n_sums, n_kinds, K)),
        bound=rng.integers(-6, 9, n_sums).tolist(),
        branch_uses=rng.integers(0, 2, n_sums).tolist(),
        leaf_uses=rng.integers(0, 2, (n_sums, K)),
        measures=np.concatenate([held, np.ones((int(settled), n_kinds), int)]),
        least=np.concatenate([least, np.ones((int(settled), K))]),
        price=int(rng.integers(0, 3)),
        column=column,
        most_columns=rng.choice([None, 1, 2, 3]),
        apart=tuple(sets[: rng.integers(1, 3)]) if rng.random() < 0.3 else (),
        together=tuple(sets[: rng.integers(1, 3)]) if settled and not plain else (),
        most_splits=None if plain else rng.choice([None, None, 1, 2, 9]),
        levels=of_levels[:, column],
        below=of_columns[np.ix_(column, column)],
        follows=np.concatenate([pairs, rng.integers(0, K, (len(pairs), 1))], axis=1).reshape(-1, 3),
    )


class Judge:
    """All trees of a problem."""

    def __init__(self, problem: Problem, parting: bool = False):
        """With `parting` every node below the root has rows on both sides."""
        self.problem, self.n_rows, self.parting = problem, len(problem.X), parting
        self.labels, self.sums = range(problem.cost.shape[1]), range(len(problem.bound))
        of_row = problem.members.argmax(axis=1)
        count = problem.members.max(axis=1).astype(int)
        self.cost = (problem.cost[of_row] * count[:, None]).tolist()
        self.uses = (problem.uses[:, of_row] * count[None, :, None]).tolist()
        self.held = (problem.measures[:, of_row] * count).tolist()
        self.least = problem.least.tolist()
        self.least_weighted, self.states = cache(self._least_weighted), cache(self._states)

    def may(self, path: tuple, columns: frozenset) -> list[int]:
        p = self.problem
        if len(path) == p.depth:
            return []
        return [
            t
            for t in range(p.X.shape[1])
            if p.column[t] in columns and p.levels[len(path), t] and all(p.below[above, t] for above in path)
        ]

    def sides(self, rows: frozenset, test: int) -> tuple[frozenset, frozenset]:
        one = frozenset(row for row in rows if self.problem.X[row, test])
        return rows - one, one

    def allowed(self, rows: frozenset) -> list[int]:
        """The labels that a leaf of these rows may have."""
        sums = [sum(line[row] for row in rows) for line in self.held]
        return [k for k in self.labels if all(has >= least[k] for has, least in zip(sums, self.least))]

    def leaf(self, rows: frozenset, k: int) -> tuple[int, ...]:
        """What it costs, and uses of each sum."""
        uses = [sum(self.uses[r][row][k] for row in rows) + int(self.problem.leaf_uses[r, k]) for r in self.sums]
        return sum(self.cost[row][k] for row in rows), *uses

    def _least_weighted(self, rows: frozenset, path: tuple, columns: frozenset, weights: tuple):
        found = [sum(w * v for w, v in zip(weights, self.leaf(rows, k))) for k in self.allowed(rows)]
        for test in self.may(path, columns):
            zero, one = self.sides(rows, test)
            below = [self.least_weighted(side, (*path, test), columns, weights) for side in (zero, one)]
            found.append(self.node(weights) + sum(below))
        return min(found, default=np.inf)

    def node(self, weights: tuple) -> int:
        return sum(w * v for w, v in zip(weights, (self.problem.price, *self.problem.branch_uses)))

    def _states(self, rows: frozenset, path: tuple, columns: frozenset) -> dict:
        """{(uses, tests asked, label of a leaf or None, (row, label) of all rows): least cost} of the subtrees."""
        found: dict = {}

        def note(cost, *state):
            found[state] = min(found.get(state, cost), cost)

        for k in self.allowed(rows):
            cost, *uses = self.leaf(rows, k)
            said = frozenset((row, k) for row in rows) if len(self.problem.follows) else frozenset()
            note(cost, tuple(uses), frozenset(), k, said)
        for test in self.may(path, columns):
            if not self.parting or all(self.sides(rows, test)):
                for state, cost in self.trees(test, rows, path, columns):
                    note(cost, *state)
        return found

    def trees(self, root: int, rows: frozenset, path: tuple, columns: frozenset):
        zeros, ones = (self.states(side, (*path, root), columns) for side in self.sides(rows, root))
        own_test = frozenset([root] if self.problem.most_splits is not None or self.problem.together else [])
        for (uses, asked, label, said), cost in zeros.items():
            for (others, more, other, told), price in ones.items():
                if self.problem.together and label == other is not None:
                    continue
                own = zip(uses, others, self.problem.branch_uses)
                state = tuple(map(sum, own)), asked | more | own_test, None, said | told
                yield state, cost + price + self.problem.price

    def best(self, root: int, columns: frozenset):
        """The least cost of a tree with this root over these columns that satisfies everything; infinite for none."""
        p, found = self.problem, np.inf
        if root not in self.may((), columns):
            return found
        for (uses, asked, _, said), cost in self.trees(root, frozenset(range(self.n_rows)), (), columns):
            of = {int(p.column[t]) for t in asked}
            if (
                all(use <= bound for use, bound in zip(uses, p.bound))
                and (p.most_splits is None or len(asked) <= p.most_splits)
                and all(not of & both or both <= of for both in p.together)
                and not any((a, k) in said and (b, k) not in said for a, b, k in p.follows.tolist())
            ):
                found = min(found, cost)
        return found


def check_surviving(problem: Problem, rng, n_claims: int = 2):
    """Compares the cases that two passes leave with those that all trees leave; (judge, multipliers of the passes)."""
    judge, every = Judge(problem), frozenset(range(len(problem.X)))
    sets = [frozenset(columns) for columns in problem.column_sets.tolist()]
    m = rng.integers(0, 2 * SCALE, (2, len(problem.bound)))
    if rng.random() < 0.5:  # weighted costs that are just at the limit
        m -= m % SCALE
    m = m.tolist()
    passes = [(SCALE, *line) for line in m]

    def weighted(root, columns, weights):
        if root not in judge.may((), columns):
            return np.inf
        sides = judge.sides(every, root)
        return judge.node(weights) + sum(judge.least_weighted(s, (root,), columns, weights) for s in sides)

    roots = range(problem.X.shape[1])
    least = np.array([[[weighted(t, one, w) for one in sets] for t in roots] for w in passes])
    spare = np.array([sum(a * b for a, b in zip(line, problem.bound)) for line in m])
    # Claims at which a case of the first pass is just excluded, and just not.
    edge = (least[0][np.isfinite(least[0])] - spare[0]) // SCALE + 1
    claims = {int(c) + more for c in (rng.choice(edge, n_claims) if len(edge) else ()) for more in (0, 1)} | {3}
    for claim in claims:
        limits = SCALE * (claim - 1) + spare
        left = (least <= limits[:, None, None]).all(axis=0)
        for form in (problem, replace(problem, swept=True)):
            if form.swept and form.depth in (1, 4):
                continue
            alive = surviving(form, SCALE, m, claim)
            assert (alive == left).all(), f"claim {claim}"
    return judge, m


@pytest.mark.parametrize("seed", range(10))
def test_tests_of_long_chains_leave_the_same_cases(seed):
    with pytest.MonkeyPatch.context() as patch:
        run_plain(patch)
        check_surviving(drawn(seed, 2, (7, 9)), np.random.default_rng(seed), 4)
        check_surviving(drawn(seed, 3, (5, 8)), np.random.default_rng(seed), 4)


@pytest.mark.parametrize("seed", range(8))
def test_what_more_rows_in_a_leaf_break_or_cheapen_is_no_bound_of_an_interval(seed):
    """Chains alone, a condition on leaves that each row may keep or break, and rows that cost less than nothing."""
    rng = np.random.default_rng(seed)
    numbers, column = rng.random((9, 2)), np.sort(rng.integers(0, 2, 6))
    odd = rng.integers(0, 2, 9)
    problem = of_parity(
        numbers[:, column] > np.linspace(0.1, 0.9, 6),
        odd,
        2,
        rng,
        column=np.unique(column, return_inverse=True)[1].reshape(-1),
        measures=np.array([[2, -1]]) if seed % 2 else np.array([[-1, 1]]),
        least=np.array([[0.0, rng.choice([-np.inf, 0.0, -2.0])]]),
        price=seed % 3,
        uses=rng.integers(-3, seed % 2, (1, 2, 2)),
        bound=[int(rng.integers(-9, 0))],
        branch_uses=[0],
        leaf_uses=np.zeros((1, 2), int),
    )
    with pytest.MonkeyPatch.context() as patch:
        run_plain(patch)
        check_surviving(problem, rng, 6)


@pytest.mark.parametrize("seed", range(16))
def test_a_column_of_some_sets_alone_is_tested_by_their_trees(seed):
    """Three levels, pairs of four columns: each column is in half of the sets; some tests may not be below others, and
    leaves have conditions that one row more may break."""
    rng = np.random.default_rng(100 + seed)
    plain = {"apart": (), "together": (), "most_splits": None, "follows": np.zeros((0, 3), np.int64)}
    problem = replace(
        drawn(seed, 3, (4, 7)),
        column=np.arange(4),
        most_columns=2 + seed % 2,
        levels=np.ones((3, 4), bool),
        below=rng.random((4, 4)) < (0.6 if seed % 2 else 1.0),
        **plain,
    )
    kinds, K = problem.cost.shape
    if seed % 4 > 1:
        held = rng.integers(-2, 4, (2, kinds))
        problem = replace(problem, measures=held, least=rng.integers(-1, 4, (2, K)).astype(float))
    with pytest.MonkeyPatch.context() as patch:
        run_plain(patch)
        check_surviving(problem, rng, 4)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("anywhere", [False, True])
def test_trees_of_four_levels_are_bounded_of_all_sets_at_once_and_of_one_after_the_other(small, anywhere):
    with mock.patch.object(multiplier_bound, "_sets_are_small", lambda problem: small):
        for seed in range(12):
            size = (3 + seed % 2, 6)
            problem = drawn(seed, 4, size)
            places = {"levels": np.ones_like(problem.levels), "below": np.ones_like(problem.below)} if anywhere else {}
            problem = replace(
                problem,
                column=np.arange(size[0]) if seed % 3 else problem.column,
                most_columns=(None, 1, 2, 3)[seed % 4],
                apart=(),
                together=(),
                **places,
            )
            check_surviving(problem, np.random.default_rng(seed))


@pytest.mark.parametrize("given", ["leaf_uses", "branch_uses"])
def test_multipliers_at_which_nodes_or_leaves_give_back_are_refused(given):
    """More nodes would weigh less then, so that rows by themselves bound nothing; no constraint is so."""
    refused = 0
    for seed in range(12):
        problem = drawn(seed, 4, (3, 6))
        n_sums, K = len(problem.bound), problem.cost.shape[1]
        back = [-2] * n_sums if given == "branch_uses" else np.full((n_sums, K), -2)
        problem = replace(problem, **{given: back}, price=0)
        if n_sums:
            refused += 1
            with pytest.raises(ValueError, match="weigh less than nothing"):
                Weighted(problem, SCALE, [1] * n_sums)
    assert refused


def test_sets_that_no_tree_of_any_depth_saves_are_not_counted():
    """Rows that answer the tests of a set alike are in one leaf: by their best labels."""
    seen = []
    for seed in range(8):
        problem = replace(
            drawn(seed, 4, (4, 8)),
            column=np.arange(4),
            most_columns=2,
            levels=np.ones((4, 4), bool),
            below=np.ones((4, 4), bool),
            **{"apart": (), "together": (), "follows": np.zeros((0, 3), np.int64)},
        )
        m = np.random.default_rng(seed).integers(0, SCALE, len(problem.bound)).tolist()
        least = []
        for columns in problem.column_sets.tolist():
            leaves: dict = {}
            for row, members in zip(problem.X[:, columns].tolist(), problem.members):
                leaves[tuple(row)] = leaves.get(tuple(row), 0) + members
            weight = [SCALE * problem.cost + sum(a * use for a, use in zip(m, problem.uses))] * len(leaves)
            least.append(sum((count @ one).min() for count, one in zip(leaves.values(), weight)))
        spare = sum(a * b for a, b in zip(m, problem.bound))
        for claim in {int((value - spare) // SCALE) + 1 for value in least}:
            small = mock.patch.object(multiplier_bound, "_sets_are_small", lambda problem: True)
            with small, mock.patch.object(multiplier_bound, "_set_by_set") as counting:
                surviving(problem, SCALE, [m], claim)
            left = counting.call_args.args[2].any(axis=0).tolist()
            assert left == [value - spare <= SCALE * (claim - 1) for value in least], f"seed {seed}"
            seen += left
    assert True in seen and False in seen


def test_few_tests_of_many_sets_are_looked_at_one_set_after_the_other():
    def of(n_columns, each, most):
        tests = n_columns * each
        X = np.random.default_rng(0).random((20, tests)) < 0.5
        free = np.ones((4, tests), bool), np.ones((tests, tests), bool)
        column = np.repeat(np.arange(n_columns), each)
        return replace(drawn(0), X=X, column=column, most_columns=most, apart=(), levels=free[0], below=free[1])

    assert multiplier_bound._sets_are_small(of(20, 4, 2))
    assert not multiplier_bound._sets_are_small(of(20, 4, None))
    assert multiplier_bound._sets_are_small(of(2, 45, 1))


def test_a_row_answers_1_to_so_many_tests_of_a_chain_as_its_code_says():
    for seed in range(24):
        problem = drawn(seed, 2, (7, 9))
        chains = problem.chains
        assert sorted(np.concatenate(chains.splits).tolist()) == list(range(7))
        for tests, codes, column in zip(chains.splits, chains.codes.T, chains.column):
            assert (problem.column[tests] == column).all()
            for place, test in enumerate(tests):
                assert ((codes > place) == problem.X[:, test]).all()


@pytest.mark.parametrize("seed", range(28))
def test_a_case_is_excluded_just_if_no_tree_of_it_is_cheap_enough(seed):
    """By multipliers if its least weighted cost is too high, by lists if no tree of it satisfies all and costs less."""
    with pytest.MonkeyPatch.context() as patch:
        run_plain(patch)
        problem, rng = drawn(seed), np.random.default_rng(seed)
        judge, m = check_surviving(problem, rng)
        sets = [frozenset(columns) for columns in problem.column_sets.tolist()]
        roots = range(problem.X.shape[1])
        for root, columns in [(t, one) for t in roots for one in sets if problem.column[t] in one]:
            best = judge.best(root, columns)
            claims = {int(best), int(best) + 1, int(best) + 5} if best < np.inf else {40}
            for claim in claims:
                for form in (problem, replace(problem, swept=True)):
                    for block in (listed_cases.BLOCK_CELLS, 2):
                        with mock.patch.object(listed_cases, "BLOCK_CELLS", block):
                            told = excluded(form, SCALE, root, np.array(sorted(columns)), m[claim % 2], claim)
                        assert told == (best >= claim), f"seed {seed}, root {root}, claim {claim}"


@pytest.mark.parametrize(
    ("columns", "depth", "words"),
    [
        (4, 4, {}),
        (4, 4, {"below": ~np.eye(4, k=1, dtype=bool)}),
        (3, 4, {"most_splits": 2}),
        (3, 3, {"most_splits": 1}),
        (3, 3, {"most_splits": 2}),
        (3, 3, {"most_splits": 3}),
        (3, 2, {"together": (frozenset((0, 1, 2)),)}),
        (3, 3, {"together": (frozenset((0, 1)), frozenset((1, 2)))}),
        (3, 3, {"follows": np.array([[0, 1, 0], [3, 2, 1]])}),
    ],
)
def test_a_case_of_a_parity_is_excluded_just_if_no_tree_of_it_is_cheap_enough(columns, depth, words):
    """Each test that a tree is not to ask, and each level that it has not, costs."""
    X = np.array(list(product((False, True), repeat=columns)))
    settled = {"measures": np.ones((1, 2), int), "least": np.ones((1, 2))} if "together" in words else {}
    problem = of_parity(X, X.sum(axis=1) % 2, depth, np.random.default_rng(0), **words, **settled)
    best = int(Judge(problem).best(0, frozenset(range(columns))))
    for form in (problem, replace(problem, swept=depth == 3)):
        assert excluded(form, SCALE, 0, np.arange(columns), [], best)
        assert not excluded(form, SCALE, 0, np.arange(columns), [], best + 1)


@pytest.mark.parametrize("uses", [(-2, -2), (-3, 0), (0, -3)])
@pytest.mark.parametrize("falls", [False, True])
def test_rows_that_weigh_less_than_nothing_hide_no_tree_of_three_levels(falls, uses):
    """What a subtree weighs behind an answer counts the rows of label 0, and is that of its own test: the tests of a
    column are nested, and numbered from the one that fewest rows answer 1 or from the one that most do. The test of the
    third column is above none of theirs, so theirs is the root of a subtree."""
    bits = np.array(list(product((False, True), repeat=3)))
    nested = np.stack([bits[:, 0] & bits[:, 1], bits[:, 0]], axis=1)
    X = np.concatenate([nested[:, ::-1] if falls else nested, bits[:, 1:]], axis=1)
    rng, columns, below = np.random.default_rng(0), np.array([0, 0, 1, 2]), np.ones((4, 4), bool)
    below[3, :2] = False
    problem = of_parity(
        X,
        bits.sum(axis=1) % 2,
        3,
        rng,
        column=columns,
        below=below,
        uses=np.array([[uses, uses]]),
        branch_uses=[0],
        leaf_uses=np.zeros((1, 2), int),
    )
    most = int(max(uses) * problem.members.sum())
    problem = replace(problem, bound=[most])  # which every tree satisfies
    for root in range(4):
        best = int(Judge(problem).best(root, frozenset(range(3))))
        for form in (problem, replace(problem, swept=True)):
            assert excluded(form, SCALE, root, np.arange(3), [2 * SCALE], best)
            assert not excluded(form, SCALE, root, np.arange(3), [2 * SCALE], best + 1)


def test_lists_hold_the_cheapest_subtree_of_each_use_up_to_their_limit():
    """Of those without a node that separates no rows."""
    for seed in range(2, 26, 4):  # of three levels
        problem, rng = replace(drawn(seed), most_splits=None), np.random.default_rng(seed)
        judge, every = Judge(problem, parting=True), frozenset(range(len(problem.X)))
        m, columns = (
            rng.integers(-4, 2 * SCALE, len(problem.bound)).clip(0).tolist(),
            frozenset(problem.column.tolist()),
        )
        weighted = multiplier_bound.Weighted(problem, SCALE, m)
        lists = listed_cases.Lists(weighted, listed_cases.Marks(problem, np.arange(len(problem.column))), 0)
        top = multiplier_bound.Counted(problem, np.arange(len(problem.X)))
        for root in judge.may((), columns):
            for side, rows in zip(top.sides(root), judge.sides(every, root)):
                wanted: dict[tuple, int] = {}
                for (uses, *_), cost in judge.states(rows, (root,), columns).items():
                    wanted[uses] = min(cost, wanted.get(uses, cost))
                weights = {uses: SCALE * cost + sum(map(int.__mul__, m, uses)) for uses, cost in wanted.items()}
                for limit in {1e6, *rng.choice([*weights.values(), 0], 2).tolist()}:
                    weight, vector = lists._trees(side, limit)
                    assert (weight == vector[:, : 1 + len(m)] @ [SCALE, *m]).all() and (weight <= limit).all()
                    found: dict[tuple, float] = {}
                    for cost, *uses in vector[:, : 1 + len(m)].tolist():
                        found[tuple(uses)] = min(cost, found.get(tuple(uses), cost))
                    assert found == {uses: cost for uses, cost in wanted.items() if weights[uses] <= limit}


def test_sets_of_columns_hold_those_that_a_tree_may_test():
    """Just these, and no set is within another."""
    for seed in range(60):
        problem, rng = drawn(seed), np.random.default_rng(seed)
        if seed % 3:
            m = int(rng.integers(3, 6))
            apart = tuple(frozenset(rng.choice(m, rng.integers(2, 4), replace=False).tolist()) for _ in range(seed % 4))
            problem = replace(problem, column=np.arange(m), apart=apart)
        m, most, sets = int(problem.column.max()) + 1, problem.most_columns, problem.column_sets.tolist()
        assert not any(set(one) < set(other) for one in sets for other in sets)
        for size in range(1, min(m, 2**problem.depth - 1) + 1):
            for columns in map(set, combinations(range(m), size)):
                allowed = (most is None or size <= most) and all(len(columns & one) <= 1 for one in problem.apart)
                assert allowed == any(columns <= set(one) for one in sets), f"seed {seed}, {columns}"


def test_trees_of_one_test_are_looked_at_without_multipliers():
    for seed in range(20):
        problem = replace(drawn(seed, 1), swept=True, most_splits=None, together=(), follows=np.zeros((0, 3), np.int64))
        judge = Judge(problem)
        best = [judge.best(t, frozenset(range(9))) for t in range(problem.X.shape[1])]
        for claim in {int(b) + more for b in best if b < np.inf for more in (0, 1)}:
            alive = surviving(problem, SCALE, [], claim)
            for t, line in enumerate(alive):
                assert line.any() == (best[t] < claim), f"seed {seed}"


@pytest.mark.parametrize("seed", range(4))
def test_a_third_test_on_a_path_may_not_stand_where_it_is_barred(seed):
    """Rows of a parity need three tests on each path; which may be below which is drawn."""
    bits = np.array(list(product((False, True), repeat=3)))
    X, rng = bits[:, [0, 1, 2, 2]].copy(), np.random.default_rng(seed)
    X[5, 3] ^= True
    below, most = rng.random((4, 4)) < 0.75, None if seed % 3 else 3
    with pytest.MonkeyPatch.context() as patch:
        run_plain(patch)
        check_surviving(of_parity(X, bits.sum(axis=1) % 2, 3, rng, below=below, most_columns=most), rng, 1)


def of_parity(X: np.ndarray, odd: np.ndarray, depth: int, rng, **words) -> Problem:
    """Two classes, each test of a column of its own, and nothing asked of a tree but what `words` say."""
    tests = X.shape[1]
    plain = {
        "members": np.eye(2)[odd] * rng.integers(1, 4, (len(X), 1)),
        "cost": np.array([[0, 1], [1, 0]]),
        "uses": np.zeros((0, 2, 2), int),
        "bound": [],
        "branch_uses": [],
        "leaf_uses": np.zeros((0, 2), int),
        "measures": np.zeros((0, 2), int),
        "least": np.zeros((0, 2)),
        "price": 0,
        "column": np.arange(tests),
        "most_columns": None,
        "apart": (),
        "together": (),
        "most_splits": None,
        "levels": np.ones((depth, tests), bool),
        "below": np.ones((tests, tests), bool),
        "follows": np.zeros((0, 3), np.int64),
    }
    return Problem(X=X, **plain | words)


def test_multipliers_are_taken_if_all_sums_are_exact():
    """Taken just if what all rows, leaves and branch nodes of a tree could come to stays below 2^52."""
    for seed in range(12):
        problem = drawn(seed)
        m = np.random.default_rng(seed).integers(0, 9, len(problem.bound)).tolist()
        nodes = 2**problem.depth

        def most(scale, problem=problem, m=m, nodes=nodes):
            rows = 0
            for row in problem.members.astype(int).tolist():
                for kind, number in enumerate(row):
                    dearest = max(map(abs, problem.cost[kind].tolist()))
                    uses = [max(map(abs, use[kind].tolist())) for use in problem.uses]
                    rows += number * (scale * dearest + sum(a * b for a, b in zip(m, uses)))
            node = scale * problem.price + sum(a * abs(b) for a, b in zip(m, problem.branch_uses))
            leaf = max(sum(a * abs(int(b)) for a, b in zip(m, line)) for line in problem.leaf_uses.T)
            return rows + (node + leaf) * nodes + sum(a * abs(b) for a, b in zip(m, problem.bound))

        each = most(2) - most(1)
        last = (2**52 - 1 - most(0)) // each
        assert most(last) < 2**52 <= most(last + 1)
        Weighted(problem, last, m)
        with pytest.raises(ValueError, match="too large to be added exactly"):
            Weighted(problem, last + 1, m)
    with pytest.raises(ValueError, match="one number of 0 or more"):
        Weighted(drawn(0), 1, [-1] * len(drawn(0).bound) + [0])


def test_the_answer_that_is_kept_is_that_of_equal_problems_only(monkeypatch):
    """A run writes its certificate and checks it at once: equal problems are bounded once, others never by them."""
    problem, counted = drawn(0, 2, (7, 9)), []
    inner = multiplier_bound._surviving
    monkeypatch.setattr(multiplier_bound, "_surviving", lambda *of: [counted.append(1), inner(*of)][1])
    none, n_sets = [0] * len(problem.bound), len(problem.column_sets)
    first = surviving(problem, SCALE, [none], 2)
    first[:] = False  # the caller's own
    again = surviving(replace(problem, cost=problem.cost.copy()), SCALE, [none], 2, np.zeros(n_sets, bool))
    assert len(counted) == 1 and (again == inner(problem, SCALE, [none], 2, np.zeros(n_sets, bool))).all()
    others = [
        (replace(problem, cost=problem.cost + 1), SCALE, [none], 2),
        (replace(problem, members=problem.members[:, ::-1] + 1), SCALE, [none], 2),
        (replace(problem, X=~problem.X), SCALE, [none], 2),
        (replace(problem, price=problem.price + 1), SCALE, [none], 2),
        (problem, SCALE + 1, [none], 2),
        (problem, SCALE, [none, none], 2),
        (problem, SCALE, [none], 3),
        (problem, SCALE, [none], 2, np.ones(n_sets, bool)),
    ]
    for number, other in enumerate(others, 2):
        told = surviving(*other)
        assert len(counted) == number
        assert (told == inner(*other, *[np.zeros(n_sets, bool)][len(other) - 4 :])).all()
