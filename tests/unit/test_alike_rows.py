"""Rows of a table that are alike, for the checkers."""

from itertools import product

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
        patch.setattr(alike_rows, "BLOCK_CELLS", together)
        if one_number:
            patch.setattr(alike_rows, "ODD", np.uint64(0))
        kind, first = alike_rows.alike_rows(table)
    assert [rows[at] for at in first[kind]] == rows
    assert len(first) == len(set(rows)) and sorted(set(kind.tolist())) == list(range(len(first)))


@pytest.mark.parametrize("together", [1, 2, 3, 4, 2**22])
@pytest.mark.parametrize("n_rows", range(1, 6))
def test_no_two_rows_that_are_mixed_into_one_number_are_taken_for_alike(n_rows, together, monkeypatch):
    """Every table of up to five rows and one column or two of 0 and 1, of which all are mixed into one number, and
    those that differ in one cell alone; cells are compared in blocks of any size."""
    monkeypatch.setattr(alike_rows, "ODD", np.uint64(0))
    monkeypatch.setattr(alike_rows, "BLOCK_CELLS", together)
    for cells in product((0, 1), repeat=n_rows):
        table = np.array(cells, np.int32)[:, None]
        for wider in (table, np.hstack([table * 0, table]), np.hstack([table, table * 0])):
            kind, first = alike_rows.alike_rows(wider)
            assert len(first) == len(set(cells)) and kind.shape == (n_rows,)
            assert [cells[at] for at in first[kind]] == [*cells]


@pytest.mark.parametrize("n_rows", [1, 2, 200])
def test_rows_of_other_numbers_are_not_compared_cell_by_cell(n_rows, monkeypatch):
    """Which would take as long as to sort them whole."""
    monkeypatch.setattr(np, "unique", None)
    random = np.random.default_rng(n_rows)
    rows = random.integers(-3, 4, (n_rows, 3))
    kind, first = alike_rows.alike_rows(rows)
    assert np.array_equal(rows[first[kind]], rows) and len(first) == len({*map(tuple, rows.tolist())})
