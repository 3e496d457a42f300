"""Cuts of the rows of a node over thresholds, and the bounds that evaluated cuts imply for others, by definition."""

import numpy as np
import pytest

from odtc.verification.node_cuts import NodeCuts, Rows
from odtc.verification.threshold_columns import distinct_columns


def drawn(seed: int, least: int = 1):
    """(the ranks of the columns that are left, the cuts of some of these rows, the rows): columns that mirror one
    another or share some cuts, rows that stand for several."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 5, 14)
    coarse = np.minimum(first, 2)  # has two cuts of the first
    apart = rng.permutation(14)  # each row has a rank of its own
    rank = np.column_stack([first, 4 - first, coarse, apart, rng.integers(0, 4, 14), rng.integers(0, 2, 14)])
    columns = distinct_columns(rank)
    loss, count = rng.integers(0, 6, (14, 2)).astype(float), rng.integers(1, 4, 14)
    rows = Rows(columns, loss, count, 1.0, least)
    members = np.sort(rng.permutation(14)[: 14 - seed % 6])
    return columns.rank, NodeCuts(rows, members), rows


def left_of(rank, cuts, place: int) -> np.ndarray:
    """Which members lie on the left of a place."""
    return rank[cuts.members, cuts.column[place]] <= cuts.rank[place]


@pytest.mark.parametrize("least", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_each_cut_with_rows_enough_on_both_sides_is_a_place(seed, least):
    rank, cuts, rows = drawn(seed, least)
    count, enough = rows.count[cuts.members], {}
    for column in range(rank.shape[1]):
        for value in np.unique(rank[cuts.members, column])[:-1]:
            left = rank[cuts.members, column] <= value
            if min(count[left].sum(), count[~left].sum()) >= least:
                enough.setdefault(tuple(left ^ left[0]), left)
    places = [left_of(rank, cuts, place) for place in np.flatnonzero(cuts.parts)]
    assert {tuple(left ^ left[0]) for left in places} == enough.keys()
    own = [(cuts.column[place], cuts.rank[place]) for place in range(cuts.size)]
    assert own == sorted(set(own)) and len(places) >= len(enough)


@pytest.mark.parametrize("seed", range(6))
def test_places_are_those_of_the_cuts_of_all_rows(seed):
    rank, cuts, rows = drawn(seed)
    values = np.random.default_rng(seed).random(len(cuts.members))
    sums = cuts.up_to(values)
    assert rows.most.tolist() == [max(costs) for costs in rows.loss.tolist()]
    for place in range(cuts.size):
        left = left_of(rank, cuts, place)
        assert sums[place] == pytest.approx(values[left].sum())
        assert cuts.moved[place] == rows.most[cuts.members][left].sum()
        assert (cuts.place[:, cuts.column[place]] <= place).tolist() == left.tolist()
    for column in range(rank.shape[1]):
        for value in range(int(rank[:, column].max()) + 1):
            place, left = cuts.place_of(column, value), rank[cuts.members, column] <= value
            assert (place < 0) == (not left.any()), (column, value)
            if place >= 0:
                assert cuts.column[place] == column and left_of(rank, cuts, place).tolist() == left.tolist()


@pytest.mark.parametrize("falls", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_carried_to_more_rows_and_to_fewer_by_what_they_can_cost(seed, falls):
    """More rows on a side cost no less if fewer cost no more, and rows that leave it take at most what they cost."""
    rank, cuts, rows = drawn(seed)
    rng, whole = np.random.default_rng(seed), 9.0
    left, right = rng.integers(0, 12, cuts.size).astype(float), rng.integers(0, 12, cuts.size).astype(float)
    lower, upper = cuts.carried(left, right, whole, falls)
    most = rows.most[cuts.members]
    for place in range(cuts.size):
        inside, wanted = left_of(rank, cuts, place), [[], []]
        for other in np.flatnonzero(cuts.column == cuts.column[place]):
            there = left_of(rank, cuts, other)
            for side, (bounds, own, others) in enumerate(((left, inside, there), (right, ~inside, ~there))):
                if falls and not (others & ~own).any():  # it has these rows, and more
                    wanted[side].append(bounds[other])
                if not (own & ~others).any():  # some of its rows are elsewhere
                    wanted[side].append(bounds[other] - most[others & ~own].sum())
        assert lower[place] == max(*wanted[0], whole - most[~inside].sum())
        assert upper[place] == max(*wanted[1], whole - most[inside].sum())
