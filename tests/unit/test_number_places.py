"""The position of a cell among a few different numbers equals that of a search through them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.number_places import MAX_NUMBERS, NumberPlaces, bits_of
from odtc.data.table import column_coding
from odtc.data.table.column_coding import Known

TYPES = {
    pl.Float64: st.floats(allow_nan=False),
    pl.Float32: st.floats(allow_nan=False, width=32),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Int8: st.integers(-128, 127),
}


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_places_are_those_of_a_search_through_the_numbers(draw):
    dtype = draw.draw(st.sampled_from(list(TYPES)))
    pool = draw.draw(st.lists(TYPES[dtype], min_size=1, max_size=20))
    pool += [0, -0.0] if dtype in (pl.Float64, pl.Float32) else [0]
    n_known = draw.draw(st.integers(1, len(pool)))
    known = pl.Series(pool[:n_known], dtype=dtype).unique(maintain_order=True)
    cells = draw.draw(st.lists(st.sampled_from([*pool, None]), min_size=1, max_size=40))
    series = pl.Series(cells, dtype=dtype)
    number = np.arange(len(known) + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_coding, "LEAST_CELLS", 0)
        code, fresh = Known(known, number).codes(series)
    held = known.to_list()  # 0 and -0 are equal
    assert code.tolist() == [0 if c is None or c not in held else held.index(c) + 1 for c in series]
    assert fresh.dtype == dtype and fresh.n_unique() == len(fresh)
    assert set(fresh) == {c for c in series if c is not None and c not in held}


@pytest.mark.parametrize("many", [1, 2, 3, 255, 256, MAX_NUMBERS])
def test_as_many_numbers_as_there_may_be(many):
    random = np.random.default_rng(many)
    for numbers in (np.arange(many) / 10, random.normal(size=many), np.arange(many) * 2**40):
        bits = bits_of(numbers)
        places = NumberPlaces.of(bits)
        assert places is not None
        code, absent = places.codes(bits[::-1].copy())
        assert absent is None and np.array_equal(code, np.arange(many, 0, -1))
        code, absent = places.codes(bits_of(np.array([-1.0, numbers[0]])))
        assert code.tolist() == [0, 1] and absent.tolist() == [True, False]
    assert NumberPlaces.of(bits[:0]) is None and NumberPlaces.of(bits_of(np.arange(MAX_NUMBERS + 1))) is None
