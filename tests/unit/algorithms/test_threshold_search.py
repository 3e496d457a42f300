"""The search over ranks against trying every tree: kernels compiled and in numpy, interruptions, ties, costs."""

import _thread
import contextlib
import functools
import importlib.util
import itertools
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.thresholds import (
    binary_nodes,
    binary_triples,
    common_rows,
    depth_two,
    early_bound,
    ordered_nodes,
    rank_search,
    ranks,
    side_by_side,
)
from odtc.algorithms.thresholds.binary_nodes import BinaryNodes
from odtc.algorithms.thresholds.coarse_tree import CoarseTree
from odtc.algorithms.thresholds.common_rows import CommonRows
from odtc.algorithms.thresholds.early_bound import EarlyBound
from odtc.algorithms.thresholds.near_trees import NearTrees
from odtc.algorithms.thresholds.ordered_nodes import OrderedNodes
from odtc.algorithms.thresholds.rank_search import NONE, Known, RankSearch
from odtc.algorithms.thresholds.ranks import merge_rows, rank_columns, rank_rows
from odtc.base import deadline, threads
from odtc.data.dataset import Dataset, Feature
from odtc.errors import TimeLimitReached
from odtc.formulations.dpflow import threshold_search
from odtc.problem.branch_penalty import objective
from odtc.problem.exact_objective import search_costs
from tests import pipeline
from tests.references import depth_two as depth_two_numpy
from tests.threshold_problems import draw, interrupted, optimum


def seeds(quick, all):
    """`all` seeds from 0, of which a run without ODTC_ALL_CELLS has the first `quick`."""
    return [*range(quick), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(quick, all))]


@pytest.fixture(params=["with kernels of height 3 and 4", "without"])
def mode(request, monkeypatch):
    if request.param == "without":  # over binary splits, too, trees of height 3 are searched split by split
        monkeypatch.setattr(BinaryNodes, "solves", lambda self, height: False)
    return request.param


def instance(seed, binary=False):
    """Random ranks with ties and duplicates; losses with weights or any costs; counts, a price, a least leaf size."""
    random = np.random.default_rng(seed)
    n, columns, K = random.integers(2, 25), random.integers(1, 5), random.integers(2, 5)
    rank = random.integers(0, random.integers(1, 8, columns) + 1, (n, columns))
    if binary:
        rank = (random.random((n, columns + 2)) < random.random(columns + 2)).astype(int)
    y, kind = random.integers(0, K, n), random.integers(0, 3)
    weight = random.integers(1, 4, n) * (random.random(n) if kind == 2 else 1.0) if kind else np.ones(n)
    cost = random.integers(0, 5, (K, K)).astype(float) if random.random() < 0.4 else 1.0 - np.eye(K)
    price, least = float(random.choice([0, 0, 0.5, 1, 1.3])), int(random.choice([1, 1, 2, 4]))
    count = random.integers(1, 3, n)
    return rank, weight[:, None] * cost[y], count, price, least if n >= least else 1


def cheapest(rank, loss, count, price, least, height, rows=None, known=None):
    """The cost of the best tree, by trying every one."""
    rows, known = np.arange(len(rank)) if rows is None else rows, {} if known is None else known
    key = height, rows.tobytes()
    if key not in known:
        best = loss[rows].sum(axis=0).min() if count[rows].sum() >= least else np.inf
        for f in range(rank.shape[1]) if height else ():
            for r in np.unique(rank[rows, f])[:-1]:
                left = rank[rows, f] <= r
                sides = (cheapest(rank, loss, count, price, least, height - 1, rows[s], known) for s in (left, ~left))
                best = min(best, price + sum(sides))
        known[key] = best
    return known[key]


def cost_of(tree, rank, loss, count, price, least, rows=None):
    """What a tree of the search costs on the given rows; its leaves have enough of them."""
    rows = np.arange(len(rank)) if rows is None else rows
    if tree is None:
        assert count[rows].sum() >= least
        return loss[rows].sum(axis=0).min()
    column, r, *sides = tree
    left = rank[rows, column] <= r
    return price + sum(cost_of(side, rank, loss, count, price, least, rows[s]) for side, s in zip(sides, (left, ~left)))


def dense(rank, columns):
    """The ranks of the columns that are kept, counted without gaps."""
    parts = [np.unique(rank[:, c], return_inverse=True)[1] for c in columns]
    return np.stack(parts, axis=1) if parts else rank


@functools.cache
def instance_with_optimum(seed):
    """An instance, a height, and the cost of the best tree of this height; the same for both kernels."""
    given = instance(seed)
    height = seed % 4 + 1 if len(given[0]) < 14 else seed % 3 + 1
    return given, height, cheapest(*given, height)


@pytest.mark.parametrize("seed", seeds(40, 300))
def test_the_search_finds_what_trying_every_tree_does(seed, mode):
    (rank, loss, count, price, least), height, best = instance_with_optimum(seed)
    ranked = rank_rows(rank, loss, count, price, least)
    search = RankSearch(ranked)
    known = search.solve(height)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)
    tree = search.tree(height)
    assert cost_of(tree, dense(rank, ranked.columns), loss, count, price, least) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_what_is_known_at_an_interruption_is_true(seed, mode):
    random = np.random.default_rng(seed)
    n, height = (60, 3) if seed % 2 else (40, 4)
    rank, loss = random.integers(0, 12, (n, 4)), np.eye(2)[random.integers(0, 2, n)]
    price, count = 0.0, np.ones(n, int)
    ranked = rank_rows(rank, loss)
    best = RankSearch(ranked).solve(height).upper
    for after in random.integers(1, 60 * 4 ** (height - 3), 5):
        moments = iter(range(after))
        search = RankSearch(ranked, lambda moments=moments: next(moments))
        try:
            search.solve(height)
        except StopIteration:
            pass
        known = search.known(height)
        assert known.lower <= best <= known.upper
        paid = cost_of(search.tree(height), dense(rank, ranked.columns), loss, count, price, 1)
        # A subtree may have become better just before the end, of which the entries above do not know yet.
        assert ranked.cost(best) - 1e-9 <= paid <= ranked.cost(known.upper) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_an_early_end_leaves_the_best_trees_of_depth_two_below_a_shallow_one(seed, mode):
    """A limit in the dive left the tree of depth 2, as the test at the top counted once both sides were done."""
    random = np.random.default_rng(seed)
    rank, labels = random.integers(0, 15, (80, 4)), 2 + seed % 2
    loss, count = np.eye(labels)[random.integers(0, labels, 80)], np.ones(80, int)
    ranked = rank_rows(rank, loss)

    def check():
        if search.evaluated >= 5:  # of all rows, and of each leaf of their tree
            raise InterruptedError

    search = RankSearch(ranked, check)
    with contextlib.suppress(InterruptedError):
        search.dive(4)
        search.solve(4)
    shallow, ranks = search.tree(2), dense(rank, ranked.columns)

    def grown(tree, rows):
        if tree is None:
            return cheapest(ranks, loss, count, 0.0, 1, 2, rows)
        left = ranks[rows, tree[0]] <= tree[1]
        return grown(tree[2], rows[left]) + grown(tree[3], rows[~left])

    paid = cost_of(search.tree(4), ranks, loss, count, 0.0, 1)
    assert paid <= grown(shallow, np.arange(80)) < cost_of(shallow, ranks, loss, count, 0.0, 1)
    assert search.lower(4) <= ranked.cost(search.known(4).upper)


@pytest.mark.parametrize("after", [0, 1, 2, 5, 9])
def test_the_best_tree_over_two_answers_is_told_after_the_deadline(after, mode):
    random = np.random.default_rng(after)
    rank, loss = random.integers(0, 2, (150, 8)), np.eye(2)[random.integers(0, 2, 150)]
    ranked, looks = rank_rows(rank, loss), []

    def check():
        looks.append(0)
        if len(looks) > after:
            raise StopIteration

    search = RankSearch(ranked, check)
    with pytest.raises(StopIteration):
        search.dive(5)
        search.solve(5)
    known, tree = search.known(5), search.tree(5)
    paid = cost_of(tree, dense(rank, ranked.columns), loss, np.ones(150, int), 0.0, 0)
    assert paid == pytest.approx(ranked.cost(known.upper)) and known.lower <= known.upper


@pytest.mark.parametrize("seed", seeds(30, 300))
def test_leaves_of_many_rows(seed):
    """Leaves that need more rows than lie between neighbouring cuts, of which one label is rare."""
    random = np.random.default_rng(seed)
    n, columns, K = int(random.integers(20, 45)), int(random.integers(1, 4)), int(random.integers(2, 4))
    rank = random.integers(0, random.integers(2, n, columns), (n, columns))
    y = np.where(random.random(n) < 0.3, random.integers(1, K, n), 0)
    y[rank[:, 0] < 4] = K - 1  # pure leaves of few rows are not allowed
    loss = random.integers(1, 4, n)[:, None] * (1.0 - np.eye(K))[y]
    count, price = random.integers(1, 3, n), float(random.choice([0, 0.5]))
    for least in (4, 7, n // 4, n // 3):
        best = cheapest(rank, loss, count, price, least, 2)
        ranked = rank_rows(rank, loss, count, price, least)
        search = RankSearch(ranked)
        assert ranked.cost(search.solve(2).upper) == pytest.approx(best)
        assert cost_of(search.tree(2), dense(rank, ranked.columns), loss, count, price, least) == pytest.approx(best)
        for need in (search.known(2).upper // 2, search.known(2).upper, search.known(2).upper + 3):
            known = RankSearch(ranked).solve(2, need)
            assert min(need, search.known(2).upper) <= known.lower <= max(need, search.known(2).upper)


def test_the_kernels_give_the_same_values_as_numpy():
    for seed in range(60):
        rank, loss, count, price, least = instance(seed)
        ranked = rank_rows(rank, loss, count, price, least)
        if not ranked.n or not len(ranked.columns):
            continue
        data = (ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride)
        for need in (1 << 50, int(ranked.most.sum()) // 3):
            assert best_pair(depth_two, ranked, need) == best_pair(depth_two_numpy, ranked, need)
        for name, arguments in (("profile", data[2:4]), ("gini_test", (*data[:2], data[4]))):
            one, two = (getattr(of, name)(ranked.order, *arguments) for of in (depth_two, depth_two_numpy))
            assert all(np.array_equal(a, b) for a, b in zip(one, two))
        side = (np.arange(ranked.n) % 2).astype(np.uint8)
        size = int(side.sum())
        one, two = (of.take_side(ranked.order, side, 1, size) for of in (depth_two, depth_two_numpy))
        assert np.array_equal(one, two)


@pytest.mark.parametrize("seed", range(6))
def test_the_kernels_that_are_compiled_for_less_give_the_same_values(seed):
    labels, shortcuts = 2 + seed % 2, seed % 3 == 0
    random = np.random.default_rng(seed)
    rank = np.hstack([random.integers(0, 40, (120, 4)), random.integers(0, 2, (120, depth_two.SEVERAL * shortcuts))])
    ranked = rank_rows(rank, (1.0 - np.eye(labels))[random.integers(0, labels, 120)])
    chosen = depth_two.kernel_for(ranked.order, ranked.stride, ranked.least)
    assert chosen is depth_two.KERNELS[labels > 2, shortcuts]
    given = (ranked.order, ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride, ranked.price, 1)
    for need in (NONE, 30):
        found = [
            kernel(*given, need, np.zeros(ranked.n, np.int32), np.zeros(4, np.int64))
            for kernel in (chosen, depth_two.depth_two)
        ]
        assert found[0][:3] == found[1][:3]


@pytest.mark.parametrize("seed", seeds(25, 200))
def test_the_kernel_of_depth_two_where_little_is_lost(seed):
    random = np.random.default_rng(seed)
    n, K = int(random.integers(4, 30)), int(random.integers(2, 5))
    rank = random.integers(0, random.integers(1, 20, 4) + 1, (n, 4))
    left = rank[:, 0] <= np.median(rank[:, 0])
    y = np.where(left, 2 * (rank[:, 1] > np.median(rank[:, 1])), 1 + 2 * (rank[:, 2] > np.median(rank[:, 2]))) % K
    wrong = random.random(n) < random.choice([0, 0.1, 0.2])
    y[wrong] = random.integers(0, K, wrong.sum())
    loss = (1.0 - np.eye(K))[y] * random.integers(1, 1 + random.integers(1, 4), n)[:, None]
    price, least = float(random.choice([0, 0, 1])), int(random.choice([1, 1, 3]))
    count = np.ones(n, int)
    best = cheapest(rank, loss, count, price, least, 2)
    ranked = rank_rows(rank, loss, count, price, least)
    nodes, given = OrderedNodes(ranked), (ranked.label, ranked.gain, ranked.most, ranked.count)
    node, wanted = nodes.root(), round((best - ranked.floor) / ranked.unit)
    for need in (1, 2, 3, 5, NONE, wanted, wanted + 1):
        cost, column, cut, _ = depth_two.depth_two.function(
            node.order, *given, ranked.stride, ranked.price, ranked.least, need, nodes.local, np.zeros(4, np.int64)
        )
        assert (cost, column == -2) == (min(need, wanted), need <= wanted)
        if column >= 0:
            sides = [nodes.child(node, *nodes.part(node, column, cut, right)) for right in (False, True)]
            paid = sum(min(side.leaf, nodes.stump(side)[1]) for side in sides if side.rows >= ranked.least)
            assert cost == ranked.price + paid


@pytest.mark.parametrize("seed", seeds(8, 150))
def test_the_kernel_of_depth_two_by_groups_of_blocks(seed, monkeypatch):
    monkeypatch.setattr(depth_two, "MIN_BLOCKS", 4)
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 9))
    monkeypatch.setattr(depth_two, "group_size", lambda n: size)
    n, K = int(random.integers(20, 60)), int(random.integers(3, 6))
    rank = random.integers(0, random.integers(5, 2 * n, 3), (n, 3))
    y = (rank[:, 0] > np.median(rank[:, 0])) + (random.random(n) < 0.3)
    y = np.where(random.random(n) < random.random(), y % K, random.integers(0, K, n))
    loss = (1.0 - np.eye(K))[y] * random.integers(1, 4, n)[:, None]
    loss = random.integers(0, 5, (n, K)).astype(float) if random.random() < 0.3 else loss
    ranked = rank_rows(rank, loss, price=float(random.choice([0, 0, 1])))
    given = (ranked.order, ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride, ranked.price, 1)
    best = depth_two_numpy.depth_two(*given, NONE, np.zeros(ranked.n, np.int32), np.zeros(4, np.int64))[0]
    for need in (NONE, best, best + 1, best + 7):
        told = np.zeros(4, np.int64)
        cost, column, _, _ = depth_two.depth_two.function(*given, need, np.zeros(ranked.n, np.int32), told)
        assert (cost, column == -2) == (min(need, best), need <= best) == (told[1], told[2] == -2)


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_the_kernel_of_depth_two_where_answers_are_rare(seed, monkeypatch):
    """Levels beside numbers: the sums of rare answers are moved together."""
    monkeypatch.setattr(depth_two, "SEVERAL", 2)
    random = np.random.default_rng(seed)
    n, K = int(random.integers(8, 50)), int(random.integers(2, 5))
    names = [random.integers(0, random.integers(3, 9), n) for _ in range(random.integers(1, 4))]
    levels = [(one == level) != (random.random() < 0.5) for one in names for level in np.unique(one)]
    numbers = [random.integers(0, random.integers(2, 9), n) for _ in range(random.integers(0, 3))]
    rank = np.stack([*numbers, *levels], axis=1).astype(int)
    y = (names[0] + (random.random(n) < 0.2)) % K if random.random() < 0.5 else random.integers(0, K, n)
    loss = (1.0 - np.eye(K))[y] * random.integers(1, 4, n)[:, None]
    loss = random.integers(0, 5, (n, K)).astype(float) if random.random() < 0.3 else loss
    price, least = float(random.choice([0, 0, 1, 0.5])), int(random.choice([1, 1, 1, 2]))
    ranked = rank_rows(rank[:, random.permutation(rank.shape[1])], loss, price=price, least=least)
    given = (ranked.order, ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride, ranked.price, least)
    best = depth_two_numpy.depth_two(*given, NONE, np.zeros(ranked.n, np.int32), np.zeros(4, np.int64))[0]
    for need in (NONE, best, best + 1, best + 5):
        cost, column, *_ = depth_two.depth_two.function(
            *given, need, np.zeros(ranked.n, np.int32), np.zeros(4, np.int64)
        )
        assert (cost, column == -2) == (min(need, best), need <= best)


@pytest.mark.parametrize("seed", range(2))
def test_the_same_tree_is_proved_if_little_is_remembered(seed, monkeypatch):
    monkeypatch.setattr(BinaryNodes, "solves", lambda self, height: False)
    random = np.random.default_rng(seed)
    rank = random.integers(0, 2, (150, 9)) if seed % 2 else random.integers(0, 9, (50, 5))
    loss, count = np.eye(2)[random.integers(0, 2, len(rank))], np.ones(len(rank), int)
    ranked, room = rank_rows(rank, loss), 20_000
    best = RankSearch(ranked).solve(4).upper
    most = []
    search = RankSearch(ranked, lambda: most.append((search.held, len(search.memo))), room=room)
    known = search.solve(4)
    assert known.exact and known.upper == best and search.dropped
    root = sum(1 for _, key in search.memo if key == search.root.key)
    assert max(entries for _, entries in most) < room / 500 + root
    assert cost_of(search.tree(4), dense(rank, ranked.columns), loss, count, 0.0, 1) == pytest.approx(ranked.cost(best))


@pytest.mark.parametrize("seed", range(40))
def test_sums_over_pairs_and_triples_list_the_splits_that_intervals_of_cuts_list(seed, monkeypatch):
    """With those splits trees begin that cost less than a limit, over few cuts; with the same costs of both sides."""
    rank, loss, count, price, least = instance(seed, binary=seed % 2 == 1)
    ranked = rank_rows(rank, loss, count, price, least)
    if not ranked.by_splits:
        return

    def listed(height, limit):
        search = RankSearch(ranked)
        return sorted(search.splits_below(search.root, height, limit))

    for height in (2, 3):
        best = RankSearch(ranked).solve(height).upper
        limits = best, best + 1, best + 1 + ranked.price, best + 3, NONE
        by_sums = [listed(height, limit) for limit in limits]
        with monkeypatch.context() as patch:
            patch.setattr(BinaryNodes, "first_splits", lambda self, node, height, limit: None)
            assert by_sums == [listed(height, limit) for limit in limits]


@pytest.mark.parametrize("seed", range(40))
def test_nodes_by_tests_are_as_those_by_order(seed, mode):
    """Trees of depth 2, stumps and cuts of a node, and of both sides of its tests, are those of the search by order."""
    rank, loss, count, price, least = instance(seed, binary=seed % 2 == 1)
    ranked = rank_rows(rank, loss, count, price, least)
    if not ranked.n or not len(ranked.columns):
        return
    two, ordered = BinaryNodes(ranked), OrderedNodes(ranked)
    roots, never = (two.root(), ordered.root()), 1 << 50
    two.pair(roots[0], never)  # so that the sums of a side may be differences
    nodes = [roots]
    blocks, starts, weight, rows = two.cuts(roots[0])
    random = np.random.default_rng(seed)
    for column in np.flatnonzero(blocks > 1):
        cut = random.integers(1, blocks[column])
        test = two.split(roots[0], column, cut)
        assert test == ordered.split(roots[1], column, cut)
        assert two.cut_of(roots[0], *test) == ordered.cut_of(roots[1], *test) == cut
        for right in (False, True, True, False):
            key, part = two.part(roots[0], column, cut, right)
            same, line = ordered.part(roots[1], column, cut, right)
            assert key == same and sorted(part) == sorted(line >> 1)
            nodes.append((two.child(roots[0], key, part), ordered.child(roots[1], same, line)))
            rank = random.integers(ranked.rank[:, column].max())  # of a test that may part nothing there
            inside = [two.cut_of(nodes[-1][0], column, rank), ordered.cut_of(nodes[-1][1], column, rank)]
            assert inside[0] == inside[1]
            for side in (False, True):
                part = two.part(nodes[-1][0], column, inside[0], side)[1]
                assert ((ranked.rank[part, column] > rank) == side).all()
            assert [two.pair(nodes[-1][0], never)[0], ordered.pair(nodes[-1][1], never, None)[0]].count(never) != 1
    for one, other in nodes:
        assert (one.key, one.leaf, one.weight, one.rows, one.n) == (
            other.key,
            other.leaf,
            other.weight,
            other.rows,
            other.n,
        )
        assert two.pair(one, never)[0] == ordered.pair(other, never, None)[0]
        assert min(one.leaf, two.stump(one)[1]) == min(one.leaf, ordered.stump(other)[1])
        blocks = two.cuts(one)[0]
        assert (np.maximum(blocks, 1) == np.maximum(ordered.cuts(other)[0], 1)).all()
        for column in np.flatnonzero(blocks > 1):
            for mine, theirs in zip(two.cuts(one)[1:], ordered.cuts(other)[1:]):
                assert (mine[column, : blocks[column] + 1] == theirs[column, : blocks[column] + 1]).all()
        each = random.random(ranked.n)
        assert not one.n or (two.middle(one, each[one.held]) == ordered.middle(other, each[other.held])).all()
        assert {column for column, _ in two.gini_of_columns(one)} == set(np.flatnonzero(blocks > 1).tolist())


@pytest.mark.parametrize("seed", seeds(10, 60))
def test_trees_by_tests_are_the_best(seed, mode, monkeypatch):
    """Heights 3 to 5, of which compiled kernels find 3 and 4 at once, or 4 by one set after the other; tests of two
    answers, and columns of some cuts."""
    if seed % 4 < 2:
        monkeypatch.setattr(binary_nodes, "LONG", 0)
    rank, loss, count, price, least = instance(seed, binary=seed % 2 == 1)
    height = 3 + seed % 3
    ranked = replace(rank_rows(rank, loss, count, price, least), by_splits=True)
    search = RankSearch(ranked)
    known, best = search.solve(height), cheapest(rank, loss, count, price, least, height)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)
    tree = search.tree(height)
    # Each leaf has a row: sums over pairs of tests take tests that part nothing, too.
    assert cost_of(tree, dense(rank, ranked.columns), loss, count, price, least) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("labels", [2, 3])
def test_names_of_rows_beside_numbers(labels, least, mode):
    """Tests of which few rows have one answer, counted by these alone: as trying every tree says."""
    random = np.random.default_rng(labels)
    names, numbers = random.integers(0, 12, 40), random.integers(0, 6, (40, 2))
    rank = np.column_stack([names[:, None] == np.arange(12), numbers]).astype(int)
    loss, count = (1 - np.eye(labels))[random.integers(0, labels, 40)], np.ones(40, int)
    ranked = rank_rows(rank, loss, count, 0.25, least)
    known = RankSearch(ranked).solve(2)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(cheapest(rank, loss, count, 0.25, least, 2))
    node = depth_two_numpy._Node(
        ranked.order, ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride, 1, least, np.zeros(4)
    )
    assert node.is_rare.sum() == 12
    rare, left = np.flatnonzero(node.is_rare), random.permutation(ranked.n)[: ranked.n // 2]
    node.side[left] = True
    for one, other in zip(node._scan_rare(rare), node._scan(rare)):
        assert np.array_equal(one, other)


def test_groups_of_thousands_of_halves_look_at_the_clock(monkeypatch):
    """Names of rows are thousands of tests: what they hold in common is found by differences, and ends in time."""
    monkeypatch.setattr(BinaryNodes, "solves", lambda self, height: False)
    looked, names = [], np.eye(400, dtype=int)
    ranked = rank_rows(names, np.eye(2)[np.arange(400) % 2])
    monkeypatch.setattr(common_rows, "OFTEN", 1)
    bound = CommonRows(RankSearch(ranked, lambda: looked.append(1))).bound(3, 5)
    assert bound == 5 and len(looked) > 300


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_no_tree_has_a_test_that_parts_nothing(order, mode):
    """Below x0 one side needs one more test, the other one two: the first of all columns stood above the one."""
    x = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 3)
    y = np.where(x[:, 0] == 0, x[:, 1], x[:, 1] ^ x[:, 2])
    rank, loss = x[:, order], 1 - np.eye(2)[y]
    search = RankSearch(rank_rows(rank, loss))
    search.solve(3)
    assert cost_of(search.tree(3), rank, loss, np.ones(24, int), 0.0, 1) == 0


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of a hash, which wraps around
@pytest.mark.parametrize("seed", range(12))
def test_the_kernels_of_height_three_and_four_as_plain_code(seed):
    """What numba compiles is right as it stands, whatever bound is asked for; sets take each other's places."""
    rank, loss, count, price, _ = instance(seed, binary=True)
    ranked = rank_rows(rank, loss, count, price)
    if not ranked.n or not len(ranked.columns) or ranked.gain.dtype != np.int32:
        return
    nodes, F = BinaryNodes(ranked), len(ranked.columns)
    rows, terms = (ranked.label, ranked.gain, ranked.most), (ranked.stride, ranked.price)
    entries, room = np.arange(ranked.n, dtype=np.int32), np.zeros(ranked.stride * F**3, np.int32)
    best = [cheapest(rank, loss, count, price, 1, height) for height in (3, 4)]
    three = binary_triples.height_three.function(
        entries, len(entries), nodes.first, nodes.column, *rows, *terms, F, room, np.zeros(F, np.int64)
    )
    assert ranked.cost(three[0]) == pytest.approx(best[0], abs=1e-9)
    keys, costs = np.zeros((5, 1), np.uint64), np.full(5, -1)
    given = (entries, nodes.first, nodes.column, nodes.table.T > 0, *rows, *terms)
    cost, test, _ = binary_triples.height_four.function(*given, 1 << 50, room, keys, costs)
    assert ranked.cost(cost) == pytest.approx(best[1], abs=1e-9) and test > -3
    for need in (cost, cost // 2):
        bound, test, _ = binary_triples.height_four.function(*given, need, room, keys, costs)
        assert test == -3 and need <= bound <= cost
    assert binary_triples.height_four.function(*given, cost + 1, room, keys, costs)[0] == cost


def test_columns_of_few_ranks_are_searched_by_tests():
    random = np.random.default_rng(0)
    few, many = random.integers(0, 4, (500, 10)), random.integers(0, 80, (500, 10))
    loss, weight = np.eye(2)[random.integers(0, 2, 500)], random.integers(1, 2**31, (500, 1))
    assert rank_rows(few, loss).by_splits and rank_rows(few // 2, loss, least=3).by_splits
    assert not rank_rows(many, loss).by_splits and not rank_rows(few, loss, least=3).by_splits
    assert not rank_rows(few, loss * weight).by_splits  # sums that int32 does not hold
    assert not rank_rows(few[:0], loss[:0]).rank.size


def test_fewer_branch_nodes_come_second():
    """With a scale, of the trees of least cost the one with the fewest branch nodes is found."""
    rank, loss = np.array([[0], [1], [2], [3]]), np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    ranked = rank_rows(rank, loss).counting(8)
    known = RankSearch(ranked).solve(3)
    assert known.upper == 1 and ranked.cost(known.upper // 8 * 8) == 0


@pytest.mark.parametrize("seed", seeds(40, 300))
def test_the_fewest_branch_nodes_of_the_least_cost(seed, mode):
    """Whether the cost is proved first or not, and after bounds of any need; no remembered bound is above the truth."""
    (rank, loss, count, price, least), height, best = instance_with_optimum(seed)
    plain, scale = rank_rows(rank, loss, count, price, least), 1 << height
    ranked, branch = plain.counting(scale), plain.unit / scale
    for cost_first in (False, True):
        search = RankSearch(ranked)
        for need in np.random.default_rng(seed).integers(1, 2 + int(search.known(height).upper), 3).tolist():
            known = search.bound(height, need)
            assert known.lower >= min(need, known.upper) // scale * scale  # of the cost
        if cost_first:
            known = search.solve(height, cost_first=True)
            assert search.is_settled(known) and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)
        known = search.solve(height)
        expected = cheapest(rank, loss, count, price + branch, least, height)
        assert known.exact and ranked.floor + ranked.unit * known.upper == pytest.approx(expected, abs=1e-9)
        assert ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)
        again = RankSearch(plain)
        for (less, key), noted in list(search.memo.items())[:: 1 + len(search.memo) // 20]:
            inside = np.unpackbits(np.frombuffer(key, np.uint8), count=ranked.n).astype(bool)
            node = again.nodes.node_of(inside)
            if node.key == key:  # sets of tests are named otherwise
                assert ranked.lifted(less, noted.lower) // scale <= again.value(node, less).upper


def test_ranks_of_numbers():
    below, above = np.nextafter(1.0, 0), np.nextafter(1.0, 2)
    rank, values = rank_columns(np.array([[1.0, np.nan], [below, 2], [above, np.nan], [1.0, 7]]))
    assert rank.tolist() == [[1, 2], [0, 0], [2, 2], [1, 1]]
    assert values[0].tolist() == [below, 1.0, above] and values[1].tolist() == [2, 7]
    kind, first = merge_rows(rank[[0, 1, 0, 3]])
    assert kind.tolist() == [0, 1, 0, 2] and first.tolist() == [0, 1, 3]


def test_equal_mirrored_and_constant_columns_are_one():
    column = np.array([0, 1, 2, 1])
    rank = np.stack([column, 2 - column, column * 5, 0 * column], axis=1)
    ranked = rank_rows(rank, np.eye(2)[[0, 1, 1, 0]])
    assert ranked.columns.tolist() == [0] and ranked.alias.tolist() == [0, 0, 0, -1]


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pycontree") is None, reason="pycontree is not installed")
@pytest.mark.parametrize("depth", [2, 3])
def test_as_pycontree_does(depth, mode):
    from pycontree import ConTree

    for seed in range(10):
        random = np.random.default_rng(seed)
        X, y = np.round(random.normal(size=(80, 4)), 1), random.integers(0, 2 + seed % 3, 80)
        ranked = rank_rows(rank_columns(X)[0], 1.0 - np.eye(y.max() + 1)[y])
        known = RankSearch(ranked).solve(depth)
        peer = ConTree(max_depth=depth, time_limit=60, verbose=False)
        peer.fit(X, y)
        assert ranked.cost(known.upper) == (peer.predict(X) != y).sum()


@pytest.mark.parametrize("looks", [5, 21, 34, 55])
def test_the_words_at_an_interruption_are_those_of_the_tree(looks):
    """In seed 15 a subtree became better just before the end: its tree costs less than was noted of the whole."""
    problem = draw(15, depths=(3, 4), wide=True)
    found = interrupted(problem, looks).run()
    height, cost, bound = re.search(r"depth (\d): (?:objective ([\d.]+), )?bound ([\d.]+)", found.phases).groups()
    assert int(height) < problem.topology.depth or float(cost) == objective(problem, found.heap)
    assert int(height) < problem.topology.depth or float(bound) == pytest.approx(
        min(found.bound, float(cost)), rel=1e-5
    )


def test_less_depth_is_told_without_a_cost_above_that_of_the_tree():
    """Of depth 2 nothing but one leaf was known, told beside a better tree: "depth 2: 123" under 11 errors."""
    problem = draw(15, depths=(3, 4), wide=True)
    best = threshold_search.ThresholdSearch(problem).run().heap
    search = threshold_search.ThresholdSearch(problem, start=best)
    search.height = 2
    assert search.phase == "depth 2: bound 0"
    search.start = None
    assert re.fullmatch(r"depth 2: objective [\d.]+, bound 0", search.phase)


@pytest.mark.parametrize("least", [1, 2])
def test_levels_of_few_rows_have_a_bound_before_their_sides_are_searched(monkeypatch, least):
    """A test that takes few rows saves no more than these: the bound stayed 0 until each column had been looked at."""
    monkeypatch.setattr(BinaryNodes, "solves", lambda self, height: False)
    random, looks = np.random.default_rng(3), []
    level, label = np.repeat(np.arange(12), 5), random.integers(0, 2, 60)
    rank = np.hstack([(one[:, None] == np.arange(12)).astype(int) for one in (level, random.permutation(level))])

    def check():
        looks.append(1)
        if stop and len(looks) > stop:
            raise InterruptedError

    stop = 0
    ranked = rank_rows(rank, 1 - np.eye(2)[label], least=least)
    whole, search = RankSearch(ranked), RankSearch(ranked, check)
    shallow, optimum = search.solve(2).upper, whole.solve(3).upper
    stop = len(looks) + 2
    with pytest.raises(InterruptedError):
        search.solve(3)
    assert 0 < shallow - 5 <= search.lower(3) <= optimum


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(8))
def test_a_large_table_under_a_limit_begins_with_some_tests_of_each_column(seed, monkeypatch):
    """100,000 rows x 30 columns ended with CART's tree, though one over 16 parts of each column was soon found."""
    monkeypatch.setattr(threshold_search, "CELLS_FOR_BINS", 0)
    monkeypatch.setattr(threshold_search, "PARTS", 3)
    problem = draw(seed, depths=(2, 3), wide=True)
    search = threshold_search.ThresholdSearch(problem)
    search._begin_coarsely(problem.topology.depth)
    begun = objective(problem, search.start)
    assert begun >= optimum(problem) - 1e-9
    with deadline.within(60):
        found = threshold_search.ThresholdSearch(problem).run()
    assert objective(problem, found.heap) == pytest.approx(optimum(problem)) == found.bound


@pytest.mark.parametrize("depth", [4, 5, 6])
@pytest.mark.parametrize("ends", [2, 3, 4, 9])
def test_proofs_that_are_not_begun_leave_the_bound_its_seconds(depth, ends, monkeypatch):
    """And without a limit, or at depth 4, all is tried that was tried before."""
    random = np.random.default_rng(0)  # as many rows as no tree of these depths fits
    X, y = random.normal(size=(400, 3)).round(1), random.integers(0, 2, 400).astype(np.int32)
    data = Dataset("drawn", X, y, tuple(Feature(f"x{j}", "numeric") for j in range(3)), ("p", "q"), np.ones(400), "y")
    problem = pipeline.pose(data, "dpflow", depth)

    def seconds(deep: int, limit: float | None) -> list[float]:
        monkeypatch.setattr(threshold_search, "DEEP", deep)
        search, left, spent = threshold_search.ThresholdSearch(problem), 1.0, []

        def tried(part, work):
            nonlocal left
            spent.append(part * left)
            left -= spent[-1]
            return search.height < min(ends, depth)

        monkeypatch.setattr(search, "_try", tried)
        monkeypatch.setattr(
            search.search, "solve", lambda height, need=0, cost_first=False: search.search.known(height)
        )
        with contextlib.nullcontext() if limit is None else deadline.within(limit):
            search._phases()
        return spent

    now, before = seconds(5, 60.0), seconds(99, 60.0)
    assert seconds(5, None) == seconds(99, None)
    if depth == 4:
        assert now == before
    else:
        begun, better = min(ends, depth - 1) - 1, ends < depth
        first, *later = now  # the first trees of a deep search, of whose rest the parts are
        rest = [part / (1.0 - first) for part in later]
        assert first == threshold_search.MOVES_SHARE < 0.5
        assert len(before) == depth + 1 and len(rest) == begun + 3 + better
        assert rest[: begun + 1] == pytest.approx(before[: begun + 1])
        assert rest[begun + 1] == pytest.approx(before[depth - 1])  # the bound


def test_a_table_of_many_labels_is_made_within_the_limit(monkeypatch):
    """30,000 rows of 1,500 classes took minutes of losses and entries after a limit of three seconds."""
    rng, looks = np.random.default_rng(0), []
    rank, loss = rng.integers(0, 99, (300, 3)), rng.integers(1, 9, (300, 400)).astype(float)
    monkeypatch.setattr(ranks.deadline, "check", lambda: looks.append(1))
    rank_rows(rank, loss)
    assert len(looks) > loss.shape[1]  # between two labels, and behind them
    monkeypatch.undo()
    with deadline.within(0.0), pytest.raises(TimeLimitReached):
        rank_rows(rank, loss)
    with deadline.within(0.0):
        assert rank_rows(rank, loss[:, :2]).n  # of a small table a search may begin


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_found_elsewhere_is_bettered_below_its_first_tests(seed):
    problem = draw(seed, depths=(3, 4), wide=True)
    search = threshold_search.ThresholdSearch(problem)
    depth, ranked = problem.topology.depth, search.ranked
    tree = CoarseTree(ranked, depth, 2, lambda: None)
    tree.search()
    search.search.plant(depth, tree.nested())
    found = search.splits.tree(search.search, problem.topology)
    begun = search.splits.heap_tree(tree.nested(), problem.topology)
    step = float(search_costs(problem).step)
    planted = step * ranked.cost(search.search.known(depth).upper)
    assert objective(problem, found) <= planted + 1e-9
    assert planted <= step * ranked.cost(tree._search.known(depth).upper) + 1e-9
    assert objective(problem, found) <= objective(problem, begun) + 1e-9


def test_what_the_known_tree_costs_is_asked_for_once(monkeypatch):
    """Each report took a look at every row: most of the time of a limit on a large table."""
    problem = draw(3)
    search = threshold_search.ThresholdSearch(problem, start=threshold_search.search(problem).heap)
    asked = []
    monkeypatch.setattr(threshold_search, "objective", lambda *args: asked.append(args) or objective(*args))
    assert len({search.upper for _ in range(5)}) == 1
    assert len(asked) == 1


def best_pair(kernels, ranked, need):
    data = (ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride, ranked.price, ranked.least)
    return kernels.depth_two(ranked.order, *data, need, np.zeros(ranked.n, np.int32), np.zeros(4, np.int64))[0]


@pytest.mark.parametrize("binary", [False, True])
def test_a_bound_is_raised_by_steps(binary, mode):
    random = np.random.default_rng(5)
    rank, height = (random.integers(0, 2, (150, 8)), 5) if binary else (random.integers(0, 9, (60, 4)), 3)
    ranked = rank_rows(rank, np.eye(2)[random.integers(0, 2, len(rank))])
    plain, stepped = RankSearch(ranked), RankSearch(ranked)
    best = plain.value(plain.root, height).upper
    stepped.bound(height, 5)
    assert 4 < best and 4 <= stepped.lower(height) <= best <= stepped.known(height).upper
    EarlyBound(stepped, height, NONE).raise_all(timed=True)
    assert stepped.lower(height) == best  # to the end, if nothing ends it
    known = stepped.solve(height)
    assert known.exact and known.upper == best


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_bounds_of_depth_2_rise_to_the_optimum(seed, mode):
    """One proof shows each, so that there are some before the best tree is proved."""
    rank, loss, count, price, least = instance(seed, binary=False)
    ranked, best = rank_rows(rank, loss, count, price, least), cheapest(rank, loss, count, price, least, 2)
    search = RankSearch(ranked)
    shown, bound = [], search.bound

    def noted(height, need):
        known = bound(height, need)
        shown.append(search.lower(2))
        return known

    search.bound = noted
    EarlyBound(search, 2, NONE).raise_all(timed=True)
    assert shown == sorted(shown) and all(ranked.cost(lower) <= best + 1e-9 for lower in shown)
    known = search.solve(2)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_an_early_bound_is_never_above_the_optimum(seed, monkeypatch, mode):
    """Of common rows and of all, ended anywhere; with prices, weights, many labels, least rows; later the proof."""
    monkeypatch.setattr(common_rows, "MARGIN", 1.0 + seed % 3)
    monkeypatch.setattr(common_rows, "MEASURED", 4 + seed % 20)
    monkeypatch.setattr(early_bound, "GROWS", 2 + seed % 2)
    monkeypatch.setattr(early_bound, "SMALL", seed % 3)
    rank, loss, count, price, least = instance(seed, binary=seed % 4 == 3)
    height = 3 + seed % 2 * (len(rank) < 14)
    ranked, best = rank_rows(rank, loss, count, price, least), cheapest(rank, loss, count, price, least, height)
    random = np.random.default_rng(seed)
    for looks in (*random.integers(1, 80, 3), 10**6):
        left = iter(range(looks))

        def check(left=left):
            if next(left, None) is None:
                raise TimeLimitReached("ended by the test")

        search = RankSearch(ranked, check)
        early = EarlyBound(search, height, NONE)
        with contextlib.suppress(TimeLimitReached):
            early.by_common_rows(timed=looks % 3 == 0)
            search.dive(height)
            early.raise_all(timed=looks % 2 == 0)
            early.raise_on(lambda _, search=search: search.improve(height))
            assert search.known(height).exact
        assert ranked.cost(search.lower(height)) <= best + 1e-9
        assert ranked.cost(search.known(height).upper) >= best - 1e-9
    known = search.solve(height)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_a_bound_at_once_is_a_part_of_the_optimum_and_shown(seed, monkeypatch, mode):
    """As if the passes took so long that the time is for few of them; later the proof."""
    monkeypatch.setattr(early_bound, "FEW_ASKED", 1e12)
    rank, loss, count, price, least = instance(seed, binary=seed % 4 == 3)
    ranked, best = rank_rows(rank, loss, count, price, least), cheapest(rank, loss, count, price, least, 3)
    search = RankSearch(ranked)
    early = EarlyBound(search, 3, search.dive(3).upper)
    with deadline.within(1e6):
        soon = early.at_once()
        assert soon == early_bound.PARTS[-1] * search.known(3).upper // 1
        assert ranked.cost(search.lower(3)) <= best + 1e-9
        early.raise_on(lambda _: None)
    known = search.solve(3)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_trees_around_a_dive_are_no_worse_and_cost_what_is_noted(seed, mode):
    """Ended anywhere, or by themselves; never below the optimum."""
    rank, loss, count, price, least = instance(seed, binary=seed % 4 == 3)
    height = 3 + seed % 2 * (len(rank) < 14)
    ranked, best = rank_rows(rank, loss, count, price, least), cheapest(rank, loss, count, price, least, height)
    for looks in (2 + seed, 10**6):
        left = iter(range(looks))

        def check(left=left):
            if next(left, None) is None:
                raise TimeLimitReached("ended by the test")

        search = RankSearch(ranked, check)
        with contextlib.suppress(TimeLimitReached):
            search.dive(height)
            before = search.known(height).upper
            search.improve(height)
            assert search.known(height).upper <= before
        few = least * (least > 1)  # a test over two answers may leave a side empty
        paid = cost_of(search.tree(height), dense(rank, ranked.columns), loss, count, price, few)
        assert best - 1e-9 <= paid <= ranked.cost(search.known(height).upper) + 1e-9
        assert ranked.cost(search.lower(height)) <= best + 1e-9
    known = search.solve(height)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(12, 100))
def test_trees_near_the_best_one_are_no_worse_and_cost_what_is_noted(seed, mode):
    """Ended anywhere; never below the optimum, and they have the rows that leaves must have."""
    rank, loss, count, price, least = instance(seed, binary=seed % 4 == 3)
    height = 3 + seed % 2 * (len(rank) < 14)
    ranked, best = rank_rows(rank, loss, count, price, least), cheapest(rank, loss, count, price, least, height)
    for looks in (10 + 7 * seed, 100):
        left = iter(range(looks))

        def check(left=left):
            if next(left, None) is None:
                raise TimeLimitReached("ended by the test")

        search = RankSearch(ranked, check)
        with contextlib.suppress(TimeLimitReached):
            search.dive(height)
            before = search.known(height).upper
            NearTrees(search, height).run()
        for one in filter(None, (search, search.relaxed)):
            one.check = lambda: None
        known, few = search.known(height), least * (least > 1)  # a test over two answers may leave a side empty
        paid = cost_of(search.tree(height), dense(rank, ranked.columns), loss, count, price, few)
        assert best - 1e-9 <= paid <= ranked.cost(known.upper) + 1e-9
        assert known.upper <= before and ranked.cost(search.lower(height)) <= best + 1e-9
    known = search.solve(height)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)


def test_a_better_tree_is_found_near_one_that_no_move_betters():
    random = np.random.default_rng(5)
    rank = random.integers(0, 25, (150, 6))
    score = rank[:, 0] * rank[:, 1] / 25 + rank[:, 2] + random.normal(size=150) * 6
    ranked = rank_rows(rank, np.eye(2)[(score > np.median(score)).astype(int)])

    def found():
        looks = itertools.count()

        def check():
            if next(looks) >= 2000:
                raise TimeLimitReached("ended by the test")

        search = RankSearch(ranked, check)
        search.dive(4)
        search.improve(4)
        before = search.known(4).upper
        with contextlib.suppress(TimeLimitReached):
            NearTrees(search, 4, lambda: next(looks)).run()
        search.check = lambda: None
        return before, search.known(4).upper, search.tree(4)

    before, after, tree = found()
    assert after < before
    assert found() == (before, after, tree)  # so many looks find the same tree each time


def test_a_better_tree_is_found_around_that_of_a_dive():
    random = np.random.default_rng(7)
    rank = random.integers(0, 30, (200, 8))
    score = rank[:, :4].sum(axis=1) + random.normal(size=200) * 20
    search = RankSearch(rank_rows(rank, np.eye(2)[(score > np.median(score)).astype(int)]))
    search.dive(4)
    before = search.known(4).upper
    search.improve(4)
    assert search.known(4).upper < before


@pytest.mark.parametrize("left", [4.0, 30.0, 200.0])
def test_a_pass_that_would_not_end_in_time_is_not_begun(left, monkeypatch):
    """With a limit the greatest bound is asked for that is expected in time; what is left then goes to trees."""
    random = np.random.default_rng(3)
    ranked = rank_rows(random.integers(0, 40, (400, 6)), np.eye(2)[random.integers(0, 2, 400)])
    search = RankSearch(ranked)
    search.dive(4)
    early, asked, now = EarlyBound(search, 4, NONE), [], [0.0]

    def bound(height, need):
        asked.append(need)
        search.note_bound(height, need)
        now[0] += need
        return need

    monkeypatch.setattr(early.common, "bound", bound)
    monkeypatch.setattr(early.common, "work", lambda height, need: need)
    monkeypatch.setattr(early.common, "most", lambda height: 10**6)
    monkeypatch.setattr(early_bound.time, "monotonic", lambda: now[0])
    with deadline.within(left):
        early.by_common_rows(timed=True)
    assert early.slow and not early.ended
    assert asked[0] == 1 and all(2 * one <= two <= 16 * one for one, two in itertools.pairwise(asked))
    assert 0.3 * left < sum(asked) < left < 4 * asked[-1] + sum(asked)  # each took as many seconds, and one more would
    before = search.evaluated
    early.raise_all(timed=True)
    assert search.evaluated == before


@pytest.mark.parametrize(("seconds", "jumps"), [(None, False), (200.0, False), (8.0, True)])
def test_if_a_bound_takes_long_half_of_the_cost_is_asked_for_next(seconds, jumps, monkeypatch):
    """Of 2,000 columns each bound took three seconds: doubled from a sixteenth they showed a tenth of the cost, and
    half of it takes as long."""
    random = np.random.default_rng(3)
    search = RankSearch(rank_rows(random.integers(0, 40, (400, 6)), np.eye(2)[random.integers(0, 2, 400)]))
    known, asked, now = search.solve(2), [], [0.0]
    search.memo.clear()

    def bound(height, need):
        asked.append(need)
        now[0] += 1.0
        return Known(need, known.upper)

    monkeypatch.setattr(search, "bound", bound)
    monkeypatch.setattr(early_bound.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(deadline, "seconds_left", lambda: None if seconds is None else seconds - now[0])
    EarlyBound(search, 2, known.upper).raise_all(timed=True)
    first, second, *_ = asked
    assert first == known.upper // 16 and second == (known.upper // 2 if jumps else 2 * first)
    assert asked == sorted(set(asked)) and asked[-1] == known.upper


def test_a_bound_takes_fewer_trees_of_depth_2_if_sides_are_not_proved(monkeypatch):
    """Each side was searched for all that the other one lacks, at first for the whole bound, which is a proof."""
    cautious = rank_search.AIM

    def evaluated(ranked, aim, part):
        monkeypatch.setattr(rank_search, "AIM", aim)
        search = RankSearch(ranked)
        search.solve(3)
        asked, before = int(part * search.dive(4).upper), search.evaluated
        known = search.bound(4, asked)
        assert known.lower == min(asked, known.upper)
        return search.evaluated - before

    for seed in range(3):
        random = np.random.default_rng(seed)
        rank = random.integers(0, 60, (400, 4))
        label = (rank[:, 0] > 40) ^ (random.random(400) < 0.15)
        ranked = rank_rows(rank, np.eye(2)[label.astype(int)])
        assert evaluated(ranked, cautious, 0.6) < 0.9 * evaluated(ranked, 1e9, 0.6)
        # Near the best tree's cost the sides have to be proved.
        assert evaluated(ranked, cautious, 0.9) <= evaluated(ranked, 1e9, 0.9)


@pytest.mark.parametrize("rate", [0.01, 0.3, 3.0])
def test_with_a_limit_the_greatest_bound_is_asked_for_that_ends_in_time(rate, monkeypatch):
    """Steps of a quarter took the last third of a minute for one that did not end."""
    random = np.random.default_rng(3)
    search = RankSearch(rank_rows(random.integers(0, 40, (400, 6)), np.eye(2)[random.integers(0, 2, 400)]))
    cost, limit, now, asked = search.dive(3).upper, 60.0, [0.0], []

    def bound(height, need):
        left = limit - now[0]
        now[0] += rate * need / (1.1 * cost - need)
        if now[0] > limit:
            raise TimeLimitReached("as in a search")
        asked.append((need, left, limit - now[0]))
        return Known(need, cost)

    monkeypatch.setattr(search, "bound", bound)
    monkeypatch.setattr(early_bound.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(deadline, "seconds_left", lambda: limit - now[0])
    with contextlib.suppress(TimeLimitReached):
        EarlyBound(search, 3, cost).raise_on(lambda seconds: None)
    needs = [need for need, *_ in asked]
    assert needs == sorted(set(needs))
    if rate < 3.0:  # the proof takes 0.1 and 3 seconds
        assert needs[-1] == cost and len(needs) <= 3
    else:  # or 30 after all others
        assert needs[-1] > 0.8 * cost


def test_groups_are_as_large_as_trees_that_fit_any_labels_ask():
    """A tree over a hundred columns predicts dozens of rows whatever their labels are: smaller groups showed nothing,
    and were parted one after the other."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(600, 100)), random.integers(0, 2, 600)
    search = RankSearch(rank_rows(rank_columns(X)[0], np.eye(2)[y]))
    assert CommonRows(search).bound(3, 2) == 2
    groups = len(search.known(3).grouped[1])
    assert search.evaluated <= 1.1 * groups < 200  # of 200 halves of columns


def test_nodes_that_two_columns_part_are_the_same_in_either_order():
    rank = np.array([pair for pair in itertools.product(range(9), repeat=2) if abs(pair[0] - pair[1]) < 6])
    loss = np.eye(2)[np.random.default_rng(1).integers(0, 2, len(rank))]
    search = RankSearch(rank_rows(np.column_stack([rank, np.arange(len(rank))]), loss))
    nodes, found = search.nodes, []

    def left_of_middle(node, column):
        last = int(nodes.cuts(node)[0][column]) - 1
        return nodes.child(node, *nodes.part(node, column, search._next_cut(node, 3, column, 1, last), False))

    for columns in ((0, 1), (1, 0)):
        node = search.root
        for column in columns:
            node = left_of_middle(node, column)
        found.append(node)
    assert found[0].key == found[1].key
    assert 0 < found[0].n < search.root.n


@pytest.mark.parametrize("seed", range(3))
def test_a_side_that_serves_no_other_cut_is_not_searched_in_vain(seed):
    random, rows, few = np.random.default_rng(seed), 60, 4
    rank = np.column_stack([np.append(np.zeros(rows, int), 1 + np.arange(few)), random.permutation(rows + few)])
    label = np.append(random.integers(0, 2, rows), np.arange(few) % 2)
    search = RankSearch(rank_rows(rank, np.eye(2)[label]))
    need = search.known(0).upper // 4
    assert search.bound(3, need).lower >= need
    first, *_ = (at for at in search.known(3).points if at[0] == 0)
    key, _ = search.nodes.part(search.root, 0, 1, True)
    assert first[:2] == (0, 0)  # the cut that leaves all but a few rows on the left, whose trees cost enough
    assert first[2] >= need
    assert (2, key) not in search.memo


def test_a_noisy_table_has_a_bound_after_one_cut_of_each_column(mode):
    """It used to stay at 0 until a side of the first test was searched to the end."""
    random = np.random.default_rng(3)
    ranked = rank_rows(random.integers(0, 40, (400, 3)), np.eye(2)[random.integers(0, 2, 400)])
    search = RankSearch(ranked)
    search.dive(4)
    upper, before = search.known(4).upper, search.evaluated
    search.bound(4, upper // 16)
    assert search.lower(4) >= upper // 16 > 4
    assert search.evaluated - before <= 2 * 6**2  # trees of depth 2 on both sides of one cut of each of three columns


@pytest.mark.parametrize("columns", [1, 3, 6])
def test_common_rows_of_copies_cost_as_much_as_those_of_one_column(columns, mode):
    """Columns that say nearly the same have nearly the same halves: they are one group."""
    random = np.random.default_rng(4)
    first = random.permutation(120)
    rank = np.stack([np.where(random.random(120) < 0.01, first + 1, first) for _ in range(columns)], axis=1)
    ranked = rank_rows(rank, np.eye(2)[random.integers(0, 2, 120)])
    search = RankSearch(ranked)
    assert CommonRows(search).bound(3, 5) == 5 <= search.dive(3).upper
    assert len(search.known(3).grouped[1]) == 2


def test_common_rows_take_both_sides_of_a_test_of_two_answers(mode):
    """Exclusive or of two tests, and a coin: one side of a test costs less than both together."""
    random = np.random.default_rng(1)
    rank, y = random.integers(0, 2, (400, 4)), random.integers(0, 2, 400)
    ranked = rank_rows(rank, np.eye(2)[y])
    search, proved = RankSearch(ranked), RankSearch(ranked).solve(3)
    shown = max(CommonRows(search).bound(3, need) for need in (proved.upper // 4, proved.upper // 2, proved.upper))
    assert proved.upper // 2 < shown <= proved.upper


@pytest.fixture
def rounds(monkeypatch):
    """Small nodes are searched in rounds too, also by the kernels in numpy."""
    monkeypatch.setattr(
        side_by_side,
        "pays",
        lambda search, node, height: height == 3 and not search.ranked.by_splits and search.relaxed is None,
    )


@pytest.mark.parametrize("seed", seeds(8, 40))
def test_a_search_takes_the_same_way_with_any_number_of_threads(seed, rounds, mode):
    rank, loss, count, price, _ = instance(seed)
    height = 3 + seed % 2
    ranked, ways = rank_rows(rank, loss, count, price), []
    for number in (1, 3):
        search = RankSearch(ranked)
        with threads.at_most(number):
            known = search.solve(height)
        facts = {key: (one.lower, one.upper, one.split, one.points) for key, one in search.memo.items()}
        ways.append((search.tree(height), search.evaluated, search.serial, search.effort, facts))
    assert ways[0] == ways[1]
    best = cheapest(rank, loss, count, price, 1, height)
    assert known.exact and ranked.cost(known.upper) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("number", [1, 2])
def test_an_interruption_between_threads_leaves_a_tree_and_a_bound(number, rounds):
    """The clock is looked at while threads are at work, and what their round found is not taken then."""
    random = np.random.default_rng(1)
    rank, loss = random.integers(0, 12, (40, 4)), np.eye(2)[random.integers(0, 2, 40)]
    ranked = rank_rows(rank, loss)
    best = cheapest(rank, loss, np.ones(40, int), 0.0, 1, 3)
    for looks in (2, 9, 16, 23):
        left = iter(range(looks))

        def check(left=left):
            if next(left, None) is None:
                raise TimeLimitReached("ended by the test")

        search = RankSearch(ranked, check)
        with threads.at_most(number), contextlib.suppress(TimeLimitReached):
            search.solve(3)
        known = search.known(3)
        assert ranked.cost(known.lower) <= best <= ranked.cost(known.upper)
        assert cost_of(search.tree(3), dense(rank, ranked.columns), loss, np.ones(40, int), 0.0, 1) <= ranked.cost(
            known.upper
        )


def large_node(seed, monkeypatch):
    """A search whose nodes all count as large, and the cost of the best tree of depth 2."""
    random = np.random.default_rng(seed)
    rank, y = random.integers(0, 12, (60, 4)), random.integers(0, 2 + seed % 2, 60)
    ranked = rank_rows(rank, (1.0 - np.eye(2 + seed % 2))[y])
    best = RankSearch(ranked).solve(2).upper
    monkeypatch.setattr(ordered_nodes, "THREAD_ENTRIES", 0)
    monkeypatch.setattr(threads, "LOOK", 0.001)
    return RankSearch(ranked), best


@pytest.mark.parametrize("seed", range(4))
def test_a_large_node_has_the_same_tree(seed, mode, monkeypatch):
    search, best = large_node(seed, monkeypatch)
    assert (search.solve(2).upper, search.known(2).exact) == (best, True)


def kernel_that_waits(real):
    """A kernel that has the best tree at once and no proof until it is told to end."""

    def depth_two(order, *given):
        *given, limit, local, told = given
        found = real(order, *given, limit, local, np.zeros(4, np.int64))
        while order.size and not told[0]:
            time.sleep(0.001)
        return found

    return depth_two


@pytest.mark.parametrize("end", ["limit", "Ctrl-C"])
def test_a_large_node_hands_in_its_tree_at_the_end_of_the_time(end, monkeypatch):
    monkeypatch.setattr(BinaryNodes, "solves", lambda self, height: False)
    large_node(1, monkeypatch)[0].solve(2)  # compiles the kernel before the time begins
    search, best = large_node(1, monkeypatch)
    monkeypatch.setattr(search.nodes, "_depth_two", kernel_that_waits(search.nodes._depth_two))
    if end == "Ctrl-C":
        monkeypatch.setattr(deadline, "check", _thread.interrupt_main)
    limit, ended = (60, KeyboardInterrupt) if end == "Ctrl-C" else (0.1, TimeLimitReached)
    with deadline.within(limit), pytest.raises(ended):
        search.solve(2)
    known = search.known(2)
    assert known.upper == best and known.lower < best and search.tree(2) is not None


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("unit", [1, 2**23 + 1, 2**24 + 1, 2**40 + 1])
@pytest.mark.parametrize("least", [1, 4])
def test_the_best_stump_of_losses_of_any_size(labels, unit, least):
    random = np.random.default_rng(labels * least)
    rank = random.permuted(np.tile(np.arange(60)[:, None] % 12, 5), axis=0)
    each = random.integers(1, 4, (60, 1))
    loss = each * unit * (random.integers(0, labels, (60, 1)) != np.arange(labels))
    ranked = rank_rows(rank, loss.astype(float), None, 3, least)
    search = RankSearch(ranked)
    split, cost = search.nodes.stump(search.root)
    every = {}
    for f, r in itertools.product(range(5), range(11)):
        left = rank[:, f] <= r
        if min(left.sum(), (~left).sum()) >= least:
            every[f, r] = int(loss[left].sum(axis=0).min() + loss[~left].sum(axis=0).min()) + 3
    assert ranked.cost(cost) == min(every.values()) == every[int(ranked.columns[split[0]]), split[1]]
