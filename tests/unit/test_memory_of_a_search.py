"""A search that cannot fit into the memory is refused before its arrays are made."""

import numpy as np
import pytest

import odtc
from odtc.base import memory
from odtc.data.reading import read_arrays
from odtc.errors import ModelError


def test_a_search_that_cannot_fit_is_refused_in_a_sentence(monkeypatch):
    random = np.random.default_rng(0)
    data = read_arrays(random.random((20_000, 12)), random.integers(0, 2, 20_000))
    monkeypatch.setattr(memory, "available", lambda: 5_000_000)
    with pytest.raises(ModelError, match='the search over 20,000 rows and 12 columns would take about .* model="cart"'):
        odtc.fit(data, model="dpflow", depth=2, start="none", encoding="auto")
