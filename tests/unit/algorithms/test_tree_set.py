"""The trees within a budget are as many as an enumeration finds, and each is drawn, listed and constrained rightly."""

import itertools
import os
from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from odtc.algorithms.near_optimal import tree_set as tree_sets
from odtc.algorithms.near_optimal.stored_graph import count_using, fewest_columns, store
from odtc.algorithms.near_optimal.tree_set import TreeRows, TreeSet
from odtc.algorithms.near_optimal.tree_table import TreeTable, Units
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows


def every_tree(rank, loss, rows, depth, price, least):
    """(cost, branch nodes, tree) of all trees whose sibling leaves have no cheapest class in common."""
    whole = loss[rows].sum(axis=0)
    yield int(whole.min()), 0, None
    if not depth:
        return
    for f in range(rank.shape[1]):
        for r in range(int(rank[:, f].max())):
            left = rank[rows, f] <= r
            if min(left.sum(), (~left).sum()) < max(1, least):
                continue
            below = [list(every_tree(rank, loss, rows[side], depth - 1, price, least)) for side in (left, ~left)]
            for (a, m, one), (b, n, two) in itertools.product(*below):
                if one is None and two is None and a + b == whole.min():
                    continue
                yield a + b + price, m + n + 1, (f, r, one, two)


@st.composite
def tables(draw):
    """(rank of dense columns, whole losses, price, least rows of a leaf, depth)."""
    depth = draw(st.integers(1, 3))
    n = draw(st.integers(2, 12 if depth < 3 else 8))
    columns, highest = draw(st.sampled_from([(1, 5), (2, 3), (3, 1), (4, 1)] if depth < 3 else [(2, 2), (3, 1)]))
    chance = np.random.default_rng(draw(st.integers(0, 10**6)))
    rank = np.stack([np.unique(chance.integers(0, highest + 1, n), return_inverse=True)[1] for _ in range(columns)], 1)
    labels = draw(st.integers(2, 3))
    loss = chance.integers(1, draw(st.sampled_from([1, 4])) + 1, (n, 1)) * (
        chance.integers(0, labels, (n, 1)) != np.arange(labels)
    )
    if draw(st.booleans()):
        loss = chance.integers(0, 4, (n, labels))
    return rank, loss, draw(st.sampled_from([0, 0, 1, 2, 5])), draw(st.sampled_from([1, 1, 2])), depth


def tree_set(rank, loss, price, least, depth, slack=None, columns=None):
    """The TreeSet of such a table, with a budget so much above the best, in the given units."""
    ranked = rank_rows(rank, loss.astype(float), None, price, least, keep=True)
    search = RankSearch(ranked)
    best = search.solve(depth).upper
    most = 1 << 40 if slack is None else int(best + round(slack / ranked.unit))
    if slack is None:
        most = int(ranked.most.sum()) + 8 * ranked.price
    return ranked, TreeSet(TreeRows(ranked), search, depth, most, columns)


@pytest.mark.parametrize("pairs", [tree_sets.MAX_PAIRS_AT_ONCE, 0], ids=["kernel", "arcs"])
@given(table=tables(), slack=st.sampled_from([0, 1, 2, 4, None]))
@settings(max_examples=int(os.environ.get("EX", "25")), deadline=None)
def test_as_many_trees_as_an_enumeration_finds(pairs, table, slack):
    with mock.patch.object(tree_sets, "MAX_PAIRS_AT_ONCE", pairs):
        expect_all_trees(table, slack)


def expect_all_trees(table, slack):
    rank, loss, price, least, depth = table
    truth = list(every_tree(rank, loss, np.arange(len(rank)), depth, price, least))
    best = min(cost for cost, _, _ in truth)
    if slack is not None:
        truth = [entry for entry in truth if entry[0] <= best + slack]
    ranked, found = tree_set(*table, slack)
    assume(len(ranked.columns) == rank.shape[1])  # an encoding has no two equal columns
    assert found.count() == len(truth) and found.complete
    counted = Counter()
    for b, x, trees in found.table.cells():
        counted[round(ranked.cost(found.rows.units.cost(b, x)), 9), b] += trees
    assert counted == Counter((cost, b) for cost, b, _ in truth)
    listed = list(itertools.islice(found.trees(), 3000))
    assert len(set(listed)) == min(3000, len(truth))
    assert [round(ranked.cost(cost), 9) for cost, _ in listed] == sorted(cost for cost, _, _ in truth)[:3000]
    if len(truth) <= 3000:
        assert {tree for _, tree in listed} == {tree for _, _, tree in truth}
    assert {tree for _, tree in found.sample(5)} <= {tree for _, _, tree in truth}
    for column in range(rank.shape[1]):
        without = found.restricted(set(range(rank.shape[1])) - {column})
        assert without.count() == sum(column not in columns_of(tree) for _, _, tree in truth)


class Choices:
    """A random.Random whose numbers are given in advance, then 0; `made` are (number, how many there were)."""

    def __init__(self, given):
        self.given, self.made = given, []

    def randrange(self, first, end=None):
        first, end = (0, first) if end is None else (first, end)
        value = self.given[len(self.made)] if len(self.made) < len(self.given) else 0
        self.made.append((value, end - first))
        return first + value


def chances(found):
    """The probability of each tree to be drawn, by all numbers that a generator could give."""
    drawn, given = Counter(), []
    while given is not None:
        chance = Choices(given)
        with mock.patch("random.Random", return_value=chance):
            ((_, tree),) = found.sample(1)
        share = Fraction(1)
        for _, many in chance.made:
            share /= many
        drawn[tree] += share
        kept = [at for at, (value, many) in enumerate(chance.made) if value + 1 < many]
        given = [value for value, _ in chance.made[: kept[-1]]] + [chance.made[kept[-1]][0] + 1] if kept else None
    return drawn


@pytest.mark.parametrize("pairs", [tree_sets.MAX_PAIRS_AT_ONCE, 0], ids=["kernel", "arcs"])
@given(table=tables(), slack=st.sampled_from([0, 1, 2]))
@settings(max_examples=25, deadline=None)
def test_each_tree_is_drawn_with_the_same_probability(pairs, table, slack):
    with mock.patch.object(tree_sets, "MAX_PAIRS_AT_ONCE", pairs):
        _, found = tree_set(*table, slack)
        assume(0 < found.count() <= 40)
        assert set(chances(found).values()) == {Fraction(1, found.table.total)}


def columns_of(tree):
    """The columns that a tree tests."""
    return set() if tree is None else {tree[0]} | columns_of(tree[2]) | columns_of(tree[3])


@given(table=tables(), slack=st.sampled_from([0, 1, 3]))
@settings(max_examples=25, deadline=None)
def test_a_stored_graph_counts_as_the_data_does(table, slack):
    ranked, found = tree_set(*table, slack)
    total, columns = found.count(), range(len(ranked.columns))
    graph = store(found, np.arange(len(ranked.columns)))
    assert graph.count().total == total
    assert Counter({cell[:2]: cell[2] for cell in graph.count().cells()}) == Counter(
        {cell[:2]: cell[2] for cell in found.table.cells()}
    )
    trees = [tree for _, tree in found.trees()]

    def only(allowed):
        return graph.count(allowed).total

    for using in itertools.chain(*(itertools.combinations(columns, size) for size in range(3))):
        for without in ((), *((column,) for column in columns)):
            counted = count_using(only, columns, using, without)
            assert counted == sum(
                set(using) <= columns_of(tree) and not set(without) & columns_of(tree) for tree in trees
            )
    size, first = fewest_columns(only, columns)
    assert size == min(len(columns_of(tree)) for tree in trees) and any(
        columns_of(tree) == set(first) for tree in trees
    )
    assert store(found, np.arange(len(ranked.columns)), 0) is None or graph.n_arcs == 0


def test_products_of_counts_beyond_int64_are_exact():
    units, big = Units(1, 0), 2**40
    one = TreeTable(units, 1, 0, 3)
    for b, x, times in ((0, 1, big), (1, 0, big + 1), (1, 3, 7)):
        one.add(b, x, times)
    whole = TreeTable(units, 2, 0, 4)
    whole.add_products(one, one, 3)
    assert [cell for cell in whole.cells() if cell[2]] == [
        (3, 0, 3 * (big + 1) ** 2),
        (2, 1, 6 * big * (big + 1)),
        (1, 2, 3 * big**2),
        (3, 3, 42 * (big + 1)),
        (2, 4, 42 * big),
    ]
    assert whole.total == sum(cell[2] for cell in whole.cells())
    few = TreeTable(units, 1, 0, 3)
    few.add(0, 2, 5)
    before = whole.at(1, 4)
    whole.add_products(few, few, 2)  # to numbers beyond int64
    assert whole.at(1, 4) == before + 50 and whole.at(3, 0) == 3 * (big + 1) ** 2


@pytest.mark.parametrize("least", [1, 3])
def test_the_splits_of_all_trees_within_a_limit_follow_from_the_cuts_of_an_ended_search(least):
    random = np.random.default_rng(least)
    rank = random.integers(0, 30, (60, 4))
    loss = np.eye(2)[(rank[:, 0] > 12).astype(int) ^ (rank[:, 1] > 9) ^ (random.random(60) < 0.1)]
    again, fresh = (RankSearch(rank_rows(rank, loss, None, 1, least)) for _ in range(2))
    best = again.solve(3).upper
    for limit in (best + 1, best + again.ranked.price + 1, best + 2):
        before = again.evaluated, fresh.evaluated
        found = [{at[:2] for at in search.splits_below(search.root, 3, limit)} for search in (again, fresh)]
        assert found[0] == found[1]
        if limit == best + 1:
            assert found[0] and again.evaluated - before[0] < fresh.evaluated - before[1]
