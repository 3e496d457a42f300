"""The bound by bins of columns: never above the best tree, and the best tree itself once each bin has one rank."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.algorithms.bins import bin_bound
from odtc.algorithms.bins.bin_bound import BinBound, Bins, bin_ends, cuts_of
from odtc.algorithms.bins.three_levels import three_levels
from odtc.algorithms.thresholds.ranks import rank_rows
from tests.references import two_levels_of_bins


def least(rank, loss, depth, price):
    """What the best tree costs, by trying every tree."""
    alone = loss.sum(axis=0).min() if len(loss) else 0.0
    if depth == 0 or len(rank) < 2:
        return alone
    best = alone
    for column in rank.T:
        for cut in np.unique(column)[:-1]:
            goes = column <= cut
            sides = [least(rank[side], loss[side], depth - 1, price) for side in (goes, ~goes)]
            best = min(best, price + sum(sides))
    return best


@st.composite
def tables(draw, most_rows=14, most_ranks=9):
    """(ranks, losses, price) of few rows: ties, copies, rows without a cost."""
    n, columns, labels = draw(st.integers(1, most_rows)), draw(st.integers(1, 3)), draw(st.integers(2, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rank = random.integers(0, draw(st.integers(1, most_ranks)), (n, columns))
    loss = random.integers(0, 4, (n, labels)).astype(float)
    if draw(st.booleans()):  # errors
        loss = 1 - np.eye(labels)[random.integers(0, labels, n)]
    return rank, loss, float(draw(st.sampled_from([0, 0, 1])))


def stages(rank, loss, price, height, many=12):
    """(the bound in units of loss, of how many parts) after each step."""
    ranked = rank_rows(rank, loss, price=price)
    bound, found = BinBound(ranked, height, lambda: None), []
    seconds = iter([1e9] * many)

    def left():
        found.append((ranked.cost(bound.lower), bound.parts))
        return next(seconds, 0.0)

    bound.raise_in(left, 2**40)
    return [*found, (ranked.cost(bound.lower), bound.parts)]


@pytest.fixture(autouse=True)
def every_step(monkeypatch):
    """No step is left out because it takes a moment."""
    monkeypatch.setattr(bin_bound, "QUICK", 0.0)
    monkeypatch.setattr(bin_bound, "MEASURED", 0.0)
    monkeypatch.setattr(bin_bound, "FREE", 0.0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_no_tree_costs_less(table):
    rank, loss, price = table
    best = least(rank, loss, 3, price)
    told = [bound for bound, _ in stages(rank, loss, price, 3)]
    assert max(told) <= best + 1e-9
    assert told == sorted(told)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_bins_of_one_rank_each_are_exact(table):
    rank, loss, price = table
    assert stages(rank, loss, price, 3, 60)[-1][0] == pytest.approx(least(rank, loss, 3, price), abs=1e-9)


def test_four_levels(monkeypatch):
    """Also with a single bin of each column on the levels above the last two."""
    random = np.random.default_rng(4)
    rank, y = random.integers(0, 6, (12, 2)), random.integers(0, 2, 12)
    loss = 1 - np.eye(2)[y]
    best = least(rank, loss, 4, 0.0)
    assert max(bound for bound, _ in stages(rank, loss, 0.0, 4)) <= best
    monkeypatch.setattr(bin_bound, "FIRST", 1)  # all cuts of the levels above lie in one bin
    assert stages(rank, loss, 0.0, 4, 3)[-1][0] <= best


with_one_table = three_levels.with_constants(STORED=0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.integers(1, 5), st.integers(1, 5))
def test_three_levels_are_two_on_each_side_of_the_best_first_cut(table, parts, first_parts):
    rank, loss, price = table
    ranked = rank_rows(rank, loss, price=price)
    if not ranked.rank.size:
        return
    most = ranked.most.astype(np.int64)
    bins, first = (Bins(ranked.rank, ranked.most, number) for number in (parts, first_parts))
    own = BinBound(ranked, 3, lambda: None)
    members = np.flatnonzero(np.arange(ranked.n) % 3 > 0)
    below = bins.code, bins.n_bins, bins.cuts, bins.n_cuts
    rows = own._label, own._gain, most, own._labels, own._whole, ranked.price
    for code, n_bins, cuts, n_cuts in zip(first.code, first.n_bins, first.cuts, first.n_cuts):
        cuts = np.ascontiguousarray(cuts[:, :n_cuts])
        paid = [
            two_levels_of_bins.two_levels(*below, members[code[members] < lo], *rows)
            + two_levels_of_bins.two_levels(*below, members[code[members] >= hi], *rows)
            for lo, hi in cuts.T
        ]
        for loops in (three_levels, with_one_table):
            assert loops(code, int(n_bins), cuts, *below, members, *rows) == min(paid, default=2**62)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 8))
def test_bins_hold_every_rank_and_heavy_ones_alone(mass, parts):
    ends = bin_ends(np.array(mass), parts)
    assert ends[-1] == len(mass) - 1 and (np.diff(ends) > 0).all()
    for rank in np.flatnonzero(np.array(mass) > sum(mass) / parts).tolist():
        assert rank in ends and (rank == 0 or rank - 1 in ends)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_every_cut_of_a_column_is_within_a_bin_that_is_left_out_or_beside_exact_ones(long):
    """What a cut of any rank sends left and right holds what some cut of the bins does."""
    ends = np.cumsum([2 if one else 1 for one in long]) - 1
    cuts = cuts_of(ends)
    first = np.concatenate([[0], ends + 1])  # of the bins, the first rank
    for rank in range(int(ends[-1])):
        assert any(first[lo] - 1 <= rank and first[hi] > rank for lo, hi in cuts.T.tolist())
