"""Literal models of six rows compared term by term with files that were typed from their papers."""

import numpy as np
import polars as pl
import pytest

import odtc
from tests import pipeline
from tests.by_hand import terms_of, typed

BINARY = {"x1": [0, 0, 1, 1, 1, 0], "x2": [0, 1, 0, 1, 0, 1], "y": list("abbaab")}
NUMBERS = {"x1": [0, 0, 1, 1, 2, 2], "x2": [0, 1, 0, 1, 0, 1], "y": list("abbaab")}  # x1 is halved by its scaling


@pytest.mark.parametrize(
    ("name", "rows", "depth", "params"),
    [
        ("flowoct", BINARY, 2, {"lambda_": 0.25}),
        ("bendersoct", BINARY, 2, {"lambda_": 0.25}),
        ("svm1_odt", NUMBERS, 1, {"epsilon": 0.1, "alpha1": 2.0, "alpha2": 3.0, "M": 10.0}),
    ],
)
def test_the_literal_model_is_the_one_that_was_typed_from_the_paper(name, rows, depth, params):
    model = pipeline.build(odtc.read(pl.DataFrame(rows), target="y"), name, depth, literal=True, **params)
    assert terms_of(model) == typed(f"{name}.lp")


def test_bounds_of_the_printed_variables():
    """The files have no section of bounds: (8.5), and the last line of (1) of SVM1-ODT, which leaves numbers free."""
    assert bounds_of("bendersoct", BINARY)["g"] == (0, 1)
    bounds = bounds_of("svm1_odt", NUMBERS, alpha2=3.0)
    assert all(bounds[name] == (-np.inf, np.inf) for name in ("yhat", "w", "g"))
    assert all(bounds[name] == (0, np.inf) for name in ("pp", "pn", "m", "hp", "hn"))
    assert bounds["u"] == (1, 2)


def bounds_of(name, rows, **params):
    """The bounds of each block of variables."""
    model = pipeline.build(odtc.read(pl.DataFrame(rows), target="y"), name, 1, literal=True, **params)
    return {block.name: (model.col_lower[block.start], model.col_upper[block.start]) for block in model.columns}
