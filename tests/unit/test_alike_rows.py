"""Rows of a table that are alike, for the checkers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.verification import alike_rows


@settings(max_examples=80, deadline=None)
@given(
    st.data(), st.sampled_from([np.int32, np.uint8, np.uint64, np.int64]), st.booleans(), st.sampled_from([1, 7, 2**22])
)
def test_kinds_are_those_of_the_rows(draw, dtype, one_number, together):
    """Also where all rows are mixed into one number, and where a few cells are compared at once."""
    columns = draw.draw(st.integers(0, 4))
    least = np.iinfo(dtype).min
    cells = st.sampled_from([0, 1, 2, int(least), int(np.iinfo(dtype).max)])
    rows = draw.draw(st.lists(st.tuples(*[cells] * columns), max_size=25))
    table = np.array(rows, dtype).reshape(len(rows), columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alike_rows, "TOGETHER", together)
        if one_number:
            patch.setattr(alike_rows, "ODD", np.uint64(0))
        kind, first = alike_rows.alike_rows(table)
    assert [rows[at] for at in first[kind]] == rows
    assert len(first) == len(set(rows)) and sorted(set(kind.tolist())) == list(range(len(first)))
