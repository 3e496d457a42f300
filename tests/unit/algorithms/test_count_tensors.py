"""Counts of rows by pairs of tests: those of the rows one by one, in parts between which the deadline is looked at."""

import numpy as np
import pytest

from odtc.algorithms.constrained import count_tensors
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.base import deadline
from odtc.errors import TimeLimitReached


def counts_of(seed: int, rows: int = 50) -> Counts:
    """Of random answers to five tests, rows of two classes and several weights."""
    random = np.random.default_rng(seed)
    y, weight = random.integers(0, 2, rows), random.integers(1, 4, rows)
    return Counts(
        ConstrainedProblem(
            X=random.integers(0, 2, (rows, 5)).astype(bool),
            cost=(np.arange(2) != y[:, None]).astype(np.int64) * weight[:, None],
            depth=3,
            uses=np.zeros((0, rows, 2), np.int64),
            bound=np.zeros(0, np.int64),
            column=np.arange(5),
            subsets=np.ones((1, 5), bool),
            branch_cost=0,
            measures=np.ones((1, rows), np.int64),
            least=np.ones((1, 2)),
        )
    )


@pytest.mark.parametrize("cells", [1, 35, 10**6])
@pytest.mark.parametrize("path", [(), ((2, 1),), ((2, 0),), ((2, 1), (4, 0))])
def test_counts_in_parts_are_those_of_the_rows_one_by_one(cells, path, monkeypatch):
    monkeypatch.setattr(count_tensors, "BLOCK_CELLS", cells)
    counts = counts_of(len(path))
    X = counts.problem.X
    inside = [all(one[test] == answer for test, answer in path) for one in X]
    expected = np.zeros((counts.n_kinds, 5, 5))
    for row in np.flatnonzero(inside):
        expected += counts.factor[row][:, None, None] * np.outer(X[row], X[row])
    pairs, total = counts.below(path)
    assert np.array_equal(pairs, expected)
    assert np.array_equal(total, counts.factor[inside].sum(axis=0))


def test_a_count_that_takes_long_ends_with_the_deadline(monkeypatch):
    """One of 200,000 rows by 150 tests took up to 0.4 CPU seconds without a look at the clock."""
    with deadline.within(0):
        assert counts_of(0).pairs.any()  # what is small is made whole
    monkeypatch.setattr(count_tensors, "BLOCK_CELLS", 35)
    with deadline.within(0), pytest.raises(TimeLimitReached):
        _ = counts_of(0).pairs
