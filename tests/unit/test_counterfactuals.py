"""The fewest changes that change a prediction, against all inputs that a tree can distinguish."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.dataset import CATEGORICAL, NUMERIC, Feature
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.trees.explanation import Counterfactuals, explain, explain_rows
from odtc.trees.tree import Branch, Leaf, Tree

FEATURES = (
    Feature("size", NUMERIC, has_missing=True),
    Feature("age", NUMERIC),
    Feature("colour", CATEGORICAL, ("red", "green", "blue")),
)
# A cell of each kind that splits of whole thresholds and these levels can tell apart.
INPUTS = ([0.5, 1.5, 2.5, 3.5], [0.5, 1.5, 2.5, 3.5], [0.0, 1.0, 2.0, -1.0])


@st.composite
def trees(draw, missing):
    splits = st.one_of(
        st.builds(Threshold, st.integers(0, 1), st.sampled_from([1.0, 2.0, 3.0])),
        st.builds(lambda codes: Subset(2, tuple(sorted(codes))), st.sets(st.sampled_from([0.0, 1.0, 2.0]), min_size=1)),
        *([st.just(Missing(0))] if missing == "separate" else []),
    )

    def node(depth):
        if depth and draw(st.integers(0, 4)):
            return Branch(draw(splits), node(depth - 1), node(depth - 1))
        rows = draw(st.integers(0, 3))
        return Leaf(draw(st.integers(0, 1)), (float(rows), 1.0), (rows, 1))

    return Tree(node(3), FEATURES, ("0", "1"), missing=missing, label_type="int")


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(["drop", "separate"]))
def test_no_input_with_fewer_changes_is_predicted_otherwise(data, missing):
    tree = data.draw(trees(missing))
    inputs = INPUTS if missing == "drop" else ([*INPUTS[0], np.nan], [*INPUTS[1], np.nan], [*INPUTS[2], np.nan])
    row = np.array([data.draw(st.sampled_from(cells)) for cells in inputs])
    now, best = tree.predict(row[None])[0], None
    for other in itertools.product(*inputs):
        if tree.predict(np.array([other]))[0] != now:
            changed = sum(a != b and not (np.isnan(a) and np.isnan(b)) for a, b in zip(row, other))
            best = changed if best is None else min(best, changed)
    found, path = Counterfactuals(tree).of(row), explain(tree, row)
    if best is None:
        assert found is None and path.counterfactual is None and path.to_json()["counterfactual"] is None
        return
    assert len(found.changes) == best == len(path.counterfactual.changes)
    assert tree.predict(found.row[None])[0] != now
    names = [change.column for change in found.changes]
    same = [place for place, feature in enumerate(FEATURES) if feature.name not in names]
    assert np.array_equal(found.row[same], row[same], equal_nan=True)
    assert path.label == now and path.counterfactual.label == 1 - now and type(path.label) is int


def test_conditions_are_told_by_the_tightest():
    inner = Branch(Threshold(1, 3.0), Leaf(1, (0.0, 2.0), (0, 2)), Leaf(0, (1.0, 0.0), (1, 0)))
    tree = Tree(Branch(Threshold(1, 1.0), Leaf(0, (5.0, 0.0), (5, 0)), inner), FEATURES, ("no", "yes"))
    told = str(explain(tree, np.array([0.5, 0.5, 0.0])))
    assert told.endswith("would be yes if age > 1 and age ≤ 3 (it is 0.5)")
    tree = Tree(
        Branch(Subset(2, (0.0,)), Leaf(0, (5.0, 0.0), (5, 0)), Branch(Subset(2, (1.0,)), inner.left, inner.right)),
        FEATURES,
        ("no", "yes"),
    )
    assert str(explain(tree, np.array([0.5, 0.5, 0.0]))).endswith("would be yes if colour = green (it is red)")


def test_hyperplanes_have_no_counterfactual():
    split = Oblique((Term(0, 1.0), Term(1, 1.0)), 2.0)
    tree = Tree(Branch(split, Leaf(0, (1.0, 0.0), (1, 0)), Leaf(1, (0.0, 1.0), (0, 1))), FEATURES, ("no", "yes"))
    assert explain(tree, np.array([0.5, 0.5, 0.0])).counterfactual is None


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [False, True]])
def test_explanations_of_an_estimator_keep_the_types_of_labels_and_are_text_and_html(labels):
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "<b>", "red", "<b>"]})
    tree = odtc.OptimalTreeClassifier(1).fit(frame, [labels[0], labels[0], labels[1], labels[1]])
    found = tree.explain(frame)
    assert [path.label for path in found] == list(tree.predict(frame))
    assert [path.counterfactual.label for path in found] == list(tree.predict(frame))[::-1]
    assert str(found).splitlines()[0] == f"row 1: {labels[0]}".lower() and "would be" in str(found[0])
    assert "<pre" in found._repr_html_() and "<b>" not in found._repr_html_().replace("<pre", "")
    assert isinstance(found, list) and str(explain_rows(tree.tree_, np.zeros((0, 2)), [])) == ""


def test_numbers_have_counterfactuals_of_other_numbers():
    tree = odtc.OptimalTreeRegressor(1).fit([[1.0], [2.0], [3.0]], [1.0, 1.0, 4.5])
    (path,) = tree.explain([[1.0]])
    assert path.label == 1.0 and path.counterfactual.label == 4.5 and "would be 4.5 if x0 > 2.5 (it is 1)" in str(path)
