"""Rows of equal codes, against numpy's own distinct rows: with a hash of any quality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms import equal_rows as module
from odtc.algorithms.equal_rows import equal_rows


@st.composite
def codes(draw):
    """(codes of columns, a number above those of each): of few values, or of so many that keys overflow."""
    n = draw(st.integers(1, 30))
    above = draw(st.lists(st.sampled_from([1, 2, 3, 2**20, 2**31, 2**61]), min_size=1, max_size=9))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    rows = np.stack([random.integers(0, many, 5) for many in above], axis=1)
    return rows[random.integers(0, 5, n)], above


@pytest.mark.parametrize("odd", [module.ODD, (0, 0), (1, 1)])  # all hashes are equal by the second
@settings(max_examples=40, deadline=None)
@given(codes())
def test_rows_are_of_one_kind_if_all_their_codes_are_equal(odd, drawn):
    rows, above = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ODD", tuple(map(np.uint64, odd)))
        kind, first = equal_rows(zip(rows.T, above))
    _, expected, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == sorted(expected.tolist())
    assert (rows[first][kind] == rows).all()
    assert first[kind].tolist() == expected[inverse.ravel()].tolist()


def test_no_rows_are_of_no_kind():
    kind, first = equal_rows([(np.zeros(0, np.uint8), 3)])
    assert len(kind) == len(first) == 0
