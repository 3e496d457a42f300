"""Sums over tests: the same by tests and by features, at every point, for every kind of column and missing cells."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.splits import Missing, Threshold
from odtc.errors import DataError
from odtc.formulations.shared.feature_sums import BranchSums, Kinds, StumpSums, features
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.optima import relaxed
from odtc.trees.heap_tree import CompleteTree

SLOW = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
    "derandomize": True,
}
NODES, CLASSES = 2, 3


@st.composite
def encodings(draw):
    """Numbers and levels with missing cells and many ties, equal and complementary columns among them."""
    n = draw(st.integers(2, 16))
    kinds = draw(st.lists(st.sampled_from([NUMERIC, CATEGORICAL]), min_size=1, max_size=4))
    cells = st.sampled_from([0.0, 1, 2, 3, float("nan")])
    columns = [draw(st.lists(cells, min_size=n, max_size=n)) for _ in kinds]
    if draw(st.booleans()):  # the tests of one are merged into those of another
        kinds, columns = [*kinds, kinds[0]], [*columns, [3 - x for x in columns[0]]]
    y = np.array(draw(st.lists(st.integers(0, CLASSES - 1), min_size=n, max_size=n)), np.int32)
    features = tuple(Feature(f"f{j}", kind, () if kind == NUMERIC else tuple("abcd")) for j, kind in enumerate(kinds))
    dataset = Dataset("random", np.array(columns).T.copy(), y, features, tuple("xyz"), np.ones(n), missing="separate")
    try:
        return encode(dataset, draw(st.sampled_from(["auto", "onehot", "auto:bins=2"])))
    except DataError:
        return None


def measured(encoded, by):
    """The two sums of every row and node as a matrix of their entries times a random point, and what they are."""
    rng = np.random.default_rng(encoded.n_rows)
    b, p = rng.random((NODES, encoded.n_candidate_splits)), rng.random((NODES, encoded.n_candidate_splits, 2, CLASSES))
    m, node, row = ModelBuilder("sums"), Axis("node", NODES, 1), Axis("row", encoded.n_rows)
    test, side, klass = Axis("split", encoded.n_candidate_splits), Axis("side", 2), Axis("class", CLASSES)
    t, sends, right = np.array([1, 2]), BranchSums(encoded, by), StumpSums(encoded, by)
    sends.add(m, m.columns("b", node, test), node)
    right.add(m, m.columns("p", node, test, side, klass), node)
    defined = sum(block.size for block in m._rows)
    blocks = [
        (m.rows(name, row, node), entries)
        for name, entries in (("left", sends.entries(0, t)), ("right", sends.entries(1, t)), ("hit", right.entries(t)))
    ]
    for block, entries in blocks:
        for at, cells, coef in entries:
            m.add(block[at, t], cells, coef)
    model = m.finish()
    x = model.join({"b": b, "p": p} | sends.values(b) | right.values(p))
    activity = model.A @ x
    assert model.A.has_canonical_format and model.A.nnz == model.nnz and (model.A.data != 0).all()
    np.testing.assert_allclose(activity[:defined], 0, atol=1e-9)
    X, y = encoded.X.astype(int), encoded.y
    plain = np.stack(
        [(1 - X) @ b.T, X @ b.T, np.array([p[:, np.arange(len(x)), x, k].sum(axis=1) for x, k in zip(X, y)])]
    )
    return activity[defined:].reshape(3, encoded.n_rows, NODES), plain, model


@given(encoded=encodings().filter(lambda found: found is not None))
@settings(max_examples=150, **SLOW)
def test_both_ways_of_writing_are_the_sum_of_each_row(encoded):
    for by in ("splits", "features", "auto"):
        found, plain, _ = measured(encoded, by)
        np.testing.assert_allclose(found, plain, atol=1e-9)


@given(encoded=encodings().filter(lambda found: found is not None))
@settings(max_examples=100, **SLOW)
def test_the_entries_foretold_are_those_of_the_model(encoded):
    sizes = {by: measured(encoded, by)[2].nnz for by in ("splits", "features", "auto")}
    assert sizes["auto"] <= min(sizes["splits"], sizes["features"])


@given(encoded=encodings().filter(lambda found: found is not None))
@settings(max_examples=60, **SLOW)
def test_thresholds_are_nested_and_no_test_is_left_out(encoded):
    groups = features(encoded)
    assert sorted(f for tests, _ in groups for f in tests) == list(range(encoded.n_candidate_splits))
    for tests, nested in groups:
        assert len({encoded.splits[f].feature for f in tests}) == 1
        assert nested == (len(tests) == 1 or all(isinstance(encoded.splits[f], Threshold) for f in tests))
        if nested:
            assert (np.diff(encoded.X[:, tests].astype(int), axis=1) <= 0).all()


def test_a_row_has_an_entry_for_each_feature_in_which_it_is_unusual():
    X = np.array([[1, 0], [1, 0], [2, 0], [3, 1], [3, 2], [np.nan, 2.0]])
    kinds = (Feature("size", NUMERIC), Feature("colour", CATEGORICAL, ("blue", "red", "white")))
    dataset = Dataset("d", X, np.zeros(6, np.int32), kinds, ("no",), np.ones(6), missing="separate")
    encoded = encode(dataset, "auto")
    assert [type(split) for split in encoded.splits].count(Missing) == 1
    found = Kinds.of(encoded, np.arange(encoded.n_rows))
    # Merged rows: (1,blue) (2,blue) (3,red) (3,white) (missing,white); "blue" is merged into size > 2.5. Usual are
    # sizes above 2.5 (a missing one is above all), known sizes, and, first of two equals, neither red nor white.
    assert found.answers[[encoded.splits.index(Threshold(0, 1.5)), encoded.splits.index(Threshold(0, 2.5))]].all()
    assert np.bincount(found.unusual[0]).tolist() == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("form", [{}, {"lambda": 0.2}, {"bottom": "flow"}], ids=str)
@given(encoded=encodings().filter(lambda found: found is not None), depth=st.integers(1, 3))
@settings(max_examples=25, **SLOW)
def test_the_relaxation_of_flowoct_is_the_same(form, encoded, depth):
    bounds = []
    for by in ("splits", "features"):
        problem = Problem(
            encoded, CompleteTree(depth), FORMULATIONS.get("flowoct"), parse_params("flowoct", form | {"sums": by})
        )
        model = FORMULATIONS.get("flowoct").build(problem)
        bounds.append(relaxed(model))
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-6)
