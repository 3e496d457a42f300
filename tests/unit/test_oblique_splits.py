"""Oblique splits send rows the same way in words, in JSON, in a program and in the encoding."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import Encoded, encode
from odtc.data.splits import Oblique, Term, Threshold, split_from_json
from odtc.errors import DataError, TreeError
from odtc.testing.random_trees import cells, hyperplanes, rows_for, trees
from odtc.trees.heap_tree import CompleteTree, HeapTree
from odtc.trees.rendering import render_tree
from odtc.trees.tree import Branch, Leaf, Tree
from odtc.verification.verify import _goes_left
from tests.laws.test_exports import expected, exported, python_predict

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}
WIDTH, LENGTH = Feature("width", "numeric"), Feature("length", "numeric")
COLOUR = Feature("colour", "categorical", ("blue", "red"))
PLANE = Oblique((Term(0, 1.0), Term(1, -0.5), Term(2, 2.0, 1.0)), 1.5)  # width - 0.5 length + 2 [red] <= 1.5
FEATURES = (WIDTH, LENGTH, COLOUR)


@settings(max_examples=120, **SLOW)
@given(data=st.data())
def test_every_router_agrees_bit_for_bit(data):
    tree = data.draw(trees(oblique=True))
    X = data.draw(rows_for(tree))
    splits = [node.split for node, _ in tree.walk() if isinstance(node, Branch)]
    for split in splits:
        assert split.left(X).tolist() == [_goes_left(split, row) for row in X.tolist()]
        assert split_from_json(json.loads(json.dumps(split.to_json(tree.features))), tree.features) == split
    assert Tree.from_json(json.loads(json.dumps(tree.to_json()))) == tree
    predict = python_predict(render_tree(tree, "python"))
    for row in X:
        assert exported(predict, cells(tree, row)) == expected(tree, row)
    for to in ("text", "dot"):
        assert render_tree(tree, to).endswith("\n")


def test_the_words_are_sparse_signed_and_exact():
    assert PLANE.words(FEATURES) == (
        "width - 0.5·length + 2·[colour = red] ≤ 1.5",
        "width - 0.5·length + 2·[colour = red] > 1.5",
    )
    assert Oblique((Term(1, -1.0), Term(0, 0.1)), -3.0).words(FEATURES)[0] == "-length + 0.1·width ≤ -3"


def test_missing_and_unseen_cells_go_right_or_are_refused():
    X = np.array([[1.5, 0.0, 0], [np.nan, 0, 0], [1.5, np.nan, 0], [1.5, 0, np.nan], [1.5, 0, -1], [1.5, 0, 1]])
    assert PLANE.left(X).tolist() == [True, False, False, True, True, False]
    tree = Tree(Branch(PLANE, Leaf(0), Leaf(1)), FEATURES, ("l", "r"), missing="separate")
    assert tree.predict(X).tolist() == [0, 1, 1, 0, 0, 1]
    tree = Tree(Branch(PLANE, Leaf(0), Leaf(1)), FEATURES, ("l", "r"))
    assert tree.predict(X[[0, 3, 4]]).tolist() == [0, 0, 0]
    with pytest.raises(DataError, match="no value for 'length', which this tree weighs"):
        tree.predict(X[2:3])


def test_a_term_of_a_category_needs_a_level_that_it_has():
    for fact in (
        {"feature": "colour", "weight": 1.0},
        {"feature": "colour", "level": "pink", "weight": 1.0},
        {"feature": "x", "weight": 1},
    ):
        with pytest.raises(TreeError, match="expected a split of kind .*oblique"):
            split_from_json({"kind": "oblique", "terms": [fact], "bound": 0}, FEATURES)


@settings(max_examples=60, **SLOW)
@given(data=st.data())
def test_a_tree_of_hyperplanes_on_the_heap_and_in_words_is_one(data):
    n = data.draw(st.integers(4, 12))
    X = np.array(
        data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.integers(0, 1)), min_size=n, max_size=n)), float
    )
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int32)
    dataset = Dataset("small", X, y, FEATURES, ("no", "yes"), np.ones(n))
    try:
        encoded = encode(dataset)
    except DataError:
        return
    planes = [data.draw(hyperplanes(FEATURES)) for _ in range(3)]
    tree = Tree(
        Branch(planes[0], Branch(planes[1], Leaf(0), Leaf(1)), Branch(planes[2], Leaf(1), Leaf(0))),
        FEATURES,
        ("no", "yes"),
    )
    heap = HeapTree.from_tree(tree, encoded, CompleteTree(2), beyond=True)
    assert heap.to_tree(encoded).predict(X).tolist() == tree.predict(X).tolist()
    assert isinstance(encoded, Encoded) and heap.errors(encoded) == (tree.predict(X) != y).sum()


def test_a_threshold_and_a_hyperplane_of_one_feature_part_alike():
    X = np.array([[1.0], [2.0], [3.0]])
    assert Oblique((Term(0, 1.0),), 2.0).left(X).tolist() == Threshold(0, 2.0).left(X).tolist()
