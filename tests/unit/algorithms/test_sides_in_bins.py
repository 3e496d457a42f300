"""The bound of height 4 by bins of the sides of cuts: never above the best tree, and near it where runs are short."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.bins import sides_in_bins
from odtc.algorithms.bins.sides_in_bins import SidesInBins
from odtc.algorithms.thresholds.common_rows import CommonRows
from odtc.algorithms.thresholds.early_bound import EarlyBound
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base import deadline
from odtc.data.reading import read_arrays
from odtc.errors import TimeLimitReached
from odtc.formulations.dpflow import threshold_search
from tests import pipeline
from tests.unit.algorithms.test_bin_bound import tables


def shown(ranked, seconds, need=2**40):
    sides = SidesInBins(ranked, lambda: None)
    sides.bound(lambda: seconds, need)
    return sides.lower


@settings(max_examples=20, deadline=None)
@given(tables(40, 40), st.sampled_from([0.0, 1e9]))
def test_no_tree_costs_less(table, seconds):
    rank, loss, price = table
    ranked = rank_rows(rank, loss, price=price)
    best = RankSearch(ranked).solve(4).upper
    assert shown(ranked, seconds) <= best
    assert shown(ranked, seconds, best // 2) <= best // 2


@pytest.mark.parametrize("labels", [2, 3])
def test_more_time_shows_more(labels, monkeypatch):
    """With a bin for each rank, and a run for each cut, it is the cost of the best tree."""
    random = np.random.default_rng(labels)
    ranked = rank_rows(random.integers(0, 12, (300, 3)), 1 - np.eye(labels)[random.integers(0, labels, 300)])
    best = RankSearch(ranked).solve(4).upper
    quick = shown(ranked, 0.0)
    assert 0 < quick < shown(ranked, 1e9) <= best
    monkeypatch.setattr(sides_in_bins, "OF_SIDE", (256, 256))
    monkeypatch.setattr(sides_in_bins, "LEAVES", (2.0,))
    assert shown(ranked, 1e9) == best


def test_what_ends_before_it_shows_a_bound_shows_none():
    def stop():
        raise TimeoutError

    random = np.random.default_rng(1)
    ranked = rank_rows(random.integers(0, 12, (300, 3)), 1 - np.eye(2)[random.integers(0, 2, 300)])
    sides = SidesInBins(ranked, stop)
    with pytest.raises(TimeoutError):
        sides.bound(lambda: 1e9, 2**40)
    assert sides.lower == 0


@pytest.mark.parametrize("slow", [0.0, np.inf])
def test_a_search_with_a_limit_has_this_bound_where_its_own_takes_long(slow, monkeypatch):
    random = np.random.default_rng(3)
    problem = pipeline.pose(read_arrays(random.random((120, 3)), random.random(120) < 0.4), "dpflow", 4)
    best = problem.module.search(problem, None, None).bound

    def ended(*_):
        raise TimeLimitReached("the time limit came")

    monkeypatch.setattr(threshold_search, "CELLS_FOR_BINS", 0)
    monkeypatch.setattr(threshold_search, "SLOW_SHARE", slow)
    monkeypatch.setattr(RankSearch, "solve", ended)
    monkeypatch.setattr(CommonRows, "bound", ended)
    monkeypatch.setattr(EarlyBound, "raise_on", ended)
    with deadline.within(60.0):
        found = problem.module.search(problem, None, None)
    assert 0 < found.bound <= best if not slow else found.bound == 0
