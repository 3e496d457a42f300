"""Trees with a limited number of branch nodes, against trying every tree."""

import numpy as np
import pytest

from odtc.algorithms.thresholds.few_nodes.shapes import Limited, divisions, heights_within, levels, limited
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows
from tests.references.three_leaves import two_splits
from tests.unit.algorithms.test_threshold_search import cost_of, dense, instance, seeds


def cheapest(rank, loss, count, price, least, height, nodes, rows=None, known=None):
    """Return the cost of the best tree with at most this number of branch nodes, by trying every one."""
    rows, known = np.arange(len(rank)) if rows is None else rows, {} if known is None else known
    key = height, nodes, rows.tobytes()
    if key not in known:
        best = loss[rows].sum(axis=0).min() if count[rows].sum() >= least else np.inf
        for f in range(rank.shape[1]) if height and nodes else ():
            for r in np.unique(rank[rows, f])[:-1]:
                left = rank[rows, f] <= r
                for n in range(nodes):
                    numbers = (n, nodes - 1 - n)
                    sides = (
                        cheapest(rank, loss, count, price, least, height - 1, number, rows[side], known)
                        for side, number in zip((left, ~left), numbers)
                    )
                    best = min(best, price + sum(sides))
        known[key] = best
    return known[key]


def n_splits(tree):
    return 0 if tree is None else 1 + n_splits(tree[2]) + n_splits(tree[3])


@pytest.mark.parametrize("seed", seeds(25, 250))
def test_no_tree_with_few_branch_nodes_costs_less(seed):
    rank, loss, count, price, least = instance(seed)
    rank, loss, count = rank[:14], loss[:14], count[:14]
    least = least if count.sum() >= least else 1
    ranked, known = rank_rows(rank, loss, count, price, least), {}
    for height in (2, 3) if seed % 5 else (2, 3, 4):
        for nodes in range(min(8, 2**height)):
            best = cheapest(rank, loss, count, price, least, height, nodes, known=known)
            search, shape = RankSearch(ranked), limited(height, nodes)
            result = search.solve(shape)
            assert result.exact and ranked.cost(result.upper) == pytest.approx(best, abs=1e-9)
            tree = search.tree(shape)
            assert n_splits(tree) <= nodes
            assert cost_of(tree, dense(rank, ranked.columns), loss, count, price, least) == pytest.approx(
                best, abs=1e-9
            )


@pytest.mark.parametrize("seed", seeds(12, 120))
def test_the_kernel_of_two_splits(seed):
    """Tables of more rows than every tree could be tried for, with labels of which some are rare."""
    random = np.random.default_rng(seed)
    n, columns, labels = int(random.integers(20, 70)), int(random.integers(1, 5)), int(random.integers(2, 5))
    rank = random.integers(0, random.integers(2, n, columns), (n, columns))
    y = np.where(random.random(n) < 0.5, random.integers(0, labels, n), (rank[:, 0] > rank[:, 0].mean()).astype(int))
    loss = random.integers(1, 4, n)[:, None] * (1.0 - np.eye(labels))[y]
    count, price = random.integers(1, 3, n), float(random.choice([0, 0.5]))
    for least in (1, 3, n // 5):
        ranked = rank_rows(rank, loss, count, price, least)
        search = RankSearch(ranked)
        result = search.solve(Limited(2, 2))
        best = two_splits(rank, loss, count, price, least)
        assert result.exact and ranked.cost(result.upper) == pytest.approx(best, abs=1e-9)
        tree = search.tree(Limited(2, 2))
        assert n_splits(tree) <= 2
        assert cost_of(tree, dense(rank, ranked.columns), loss, count, price, least) == pytest.approx(best, abs=1e-9)
        for need in (result.upper // 2, result.upper, result.upper + 3):
            known = RankSearch(ranked).solve(Limited(2, 2), need)
            assert min(need, result.upper) <= known.lower <= max(need, result.upper)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_known_at_an_interruption_is_true(seed):
    random = np.random.default_rng(seed)
    rank, loss = random.integers(0, 12, (60, 4)), np.eye(2)[random.integers(0, 2, 60)]
    ranked, shape = rank_rows(rank, loss), limited(3, int(random.integers(3, 7)))
    best = RankSearch(ranked).solve(shape).upper
    for after in random.integers(1, 200, 5):
        moments = iter(range(after))
        search = RankSearch(ranked, lambda moments=moments: next(moments))
        try:
            search.solve(shape)
        except StopIteration:
            pass
        known = search.known(shape)
        assert known.lower <= best <= known.upper
        tree = search.tree(shape)
        assert n_splits(tree) <= shape.nodes
        assert cost_of(tree, dense(rank, ranked.columns), loss, np.ones(60), 0.0, 1) <= ranked.cost(known.upper) + 1e-9


def most_nodes(shape):
    return 2**shape - 1 if isinstance(shape, int) else shape.nodes


def test_both_sides_share_all_branch_nodes():
    for height in range(1, 6):
        for nodes in range(2**height):
            shape = limited(height, nodes)
            assert most_nodes(shape) == nodes or (levels(shape), nodes) == (height, 2**height - 1)
            assert all(2**less - 1 <= nodes for less in heights_within(shape))
            ways = divisions(shape) if isinstance(shape, Limited) else []
            assert all(most_nodes(way.left) + most_nodes(way.right) == nodes - 1 for way in ways)
            assert len(ways) == sum(max(n, nodes - 1 - n) < 2 ** (levels(shape) - 1) for n in range(nodes)) * bool(ways)
