"""Constraints on tables of so many thresholds that rows are held by ranks, and never as one column for each test."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.algorithms.constrained import all_thresholds, engines
from odtc.algorithms.constrained.constrained_problem import codes_of, ones_of
from odtc.data import encoding
from odtc.data.ranked_answers import RankedAnswers
from odtc.problem.constraints import search_terms


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_ranks_count_their_ones_as_the_table_does(seed, rows, scales):
    """ones, codes and taken of random nested tests are those of the dense table."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, scales)
    rank = np.stack([rng.integers(0, most + 1, rows) for most in size], axis=1).astype(np.uint32)
    cut = [(scale, place) for scale, most in enumerate(size.tolist()) for place in range(most)]
    order = rng.permutation(len(cut))
    X = RankedAnswers(rank, *(np.array(cut, np.int64)[order].T.copy()))
    dense = X.rank[:, X.scale] > X.place
    some = rng.random(rows) < 0.5
    assert np.array_equal(ones_of(X), dense.sum(axis=0))
    assert np.array_equal(ones_of(X, some), dense[some].sum(axis=0))
    tests = np.flatnonzero(rng.random(len(cut)) < 0.5)
    assert np.array_equal(codes_of(X, tests), dense[:, tests].sum(axis=1))
    taken = X.taken(np.flatnonzero(some))
    assert np.array_equal(taken[np.arange(len(taken))], dense[some])


def table(rows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    data = pd.DataFrame({name: rng.integers(0, 40, rows) for name in "abc"})
    data["group"] = rng.choice(["u", "v"], rows)
    data["y"] = np.where((data.a > 18) ^ (rng.random(rows) < 0.25), "yes", "no")
    return data


SETS = [
    (1, ["recall[yes] >= 0.9"]),
    (2, ["recall[yes] >= 0.9", "statistical_parity[group=group,positive=yes] <= 0.1"]),
    (2, ["leaf_precision >= 0.7", "leaf_rows >= 5"]),
    (2, ["tests <= 2", "recall[no] >= 0.9"]),
    (3, ["features <= 1", "recall[yes] >= 0.9"]),
]


@pytest.mark.parametrize("depth, constraints", SETS)
def test_the_best_tree_by_ranks_is_that_of_the_dense_table(depth, constraints, monkeypatch):
    """The same optimum, without the table of all answers."""
    asked = {"target": "y", "aside": ["group"], "depth": depth, "constraints": constraints}
    dense = odtc.fit(table(), **asked).facts
    monkeypatch.setattr(encoding, "LARGE", 0)
    few = (engines, "FEW_TESTS"), (engines, "MOST_TESTS"), (all_thresholds, "MANY"), (search_terms, "MANY_TESTS")
    for module, name in few:
        monkeypatch.setattr(module, name, 20)

    def no_table(self):
        raise AssertionError("the table of all answers was made")

    monkeypatch.setattr(RankedAnswers, "dense", property(no_table))
    ranked = odtc.fit(table(), **asked).facts
    assert ranked["termination"] == dense["termination"] == "optimal"
    assert ranked["objective"] == ranked["bound"] == dense["objective"]
