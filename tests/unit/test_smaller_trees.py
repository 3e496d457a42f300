"""Which tree in hand contradicts that a tree is the smallest of its objective: one that costs no more, keeps the
constraints and has fewer leaves, or as many leaves and fewer columns if that was said, too."""

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.problem.constraints.constraint import broken
from odtc.trees.heap_tree import HeapTree, settle
from odtc.verification.known_trees import is_below
from odtc.workflow.provenance.searched_again import tree_size
from odtc.workflow.provenance.without_model import _smaller
from tests import pipeline

# The class is a xor b; where a is 1, c is b. One row more is wrong in any tree without all three.
A, B = np.repeat([0, 0, 1, 1], 4), np.tile([0, 1], 8)
C = np.where(A == 1, B, np.tile([0, 0, 1, 1], 4))
ROWS = np.column_stack([A, B, C]).astype(float)
WEIGHT = np.ones(16)


def problem(*constraints, weight=WEIGHT):
    features = tuple(Feature(name, "categorical", ("0", "1")) for name in "abc")
    dataset = Dataset("d", ROWS, (A ^ B).astype(np.int32), features, ("n", "y"), weight)
    return pipeline.pose(dataset, "dpflow", 2, encoding="onehot", constraints=("features <= 3", *constraints))


def tree(posed, *names):
    """A tree that asks these columns at nodes 1, 2 and 3, with the best labels."""
    of = {posed.encoded.features[split.features[0]].name: at for at, split in enumerate(posed.encoded.splits)}
    test = np.full(8, -1, np.int32)
    test[1 : 1 + len(names)] = [of.get(name, -1) for name in names]
    return settle(test, posed.encoded, None)


def test_the_size_of_a_tree_is_its_leaves_and_its_columns():
    posed = problem()
    sizes = {("a", "b", "b"): (4, 2), ("a", "b", "c"): (4, 3), ("b", "a", "a"): (4, 2), ("-",): (1, 0)}
    assert {names: tree_size(posed, tree(posed, *names)) for names in sizes} == sizes


@pytest.mark.parametrize(
    ("own", "other", "columns", "smaller"),
    [
        (("a", "b", "c"), ("a", "b", "b"), True, True),  # as many leaves, fewer columns
        (("a", "b", "c"), ("a", "b", "b"), False, False),  # of which nothing was said
        (("a", "b", "b"), ("a", "b", "c"), True, False),
        (("a", "b", "b"), ("b", "a", "a"), True, False),  # as large
        (("a", "b", "b"), ("a", "b", "-"), True, False),  # smaller, and costs more
        (("a", "b", "b"), ("-",), True, False),
        (("a", "c", "b"), ("c",), False, True),  # as dear, and with a split less
        (("b", "b", "c"), ("c",), False, True),  # and cheaper
    ],
    ids=str,
)
def test_a_smaller_tree_that_costs_no_more_is_named(own, other, columns, smaller):
    posed = problem()
    heap, known = tree(posed, *own), tree(posed, *other)
    said = _smaller(posed, heap, [("another", tree(posed, *own)), ("that one", known)], columns)
    assert (said is not None) == smaller
    if smaller:
        paid = posed.module.objective(posed, known)
        leaves, asked = tree_size(posed, known)
        assert said.startswith(f"that one costs {paid:g}, leaves {leaves}, columns {asked}; this tree has ")


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_a_smaller_tree_that_costs_less_is_named_too(unit):
    """Rows of a last leaf weigh `unit` each: a wrong label there is no matter of rounding, however little it costs."""
    posed = problem(weight=np.where((A == 1) & (B == 1), unit, 1.0))
    heap, known = (tree(posed, *names) for names in (("a", "b", "c"), ("a", "b", "b")))

    def wrong(right):
        """The same tree with another label in the leaf of these rows, which no other leaf shares."""
        for leaf in range(4, 8):
            other = HeapTree(right.split, np.where(np.arange(8) == leaf, 1 - right.label, right.label).astype(np.int32))
            if posed.module.objective(posed, other) == pytest.approx(4 * unit, rel=1e-6):
                return other
        raise AssertionError("no leaf of these rows alone")

    for own, other, named in ((wrong(heap), known, True), (heap, known, True), (heap, wrong(known), False)):
        assert (_smaller(posed, own, [("that one", other)], True) is not None) == named


def test_a_tree_that_breaks_a_constraint_is_no_smaller_one():
    heap, known = (tree(problem(), *names) for names in (("a", "b", "c"), ("a", "b", "b")))
    assert _smaller(problem(), heap, [("that one", known)], True)
    posed = problem("never_together[a,b]")
    assert broken(posed, known) and _smaller(posed, heap, [("that one", known)], True) is None


def test_needless_tests_of_the_tree_itself_are_found():
    posed = problem()
    whole = tree(posed, "a", "b", "b")
    heap = HeapTree(whole.split, np.where(whole.label >= 0, 1, -1).astype(np.int32))  # the same answer everywhere
    paid = posed.module.objective(posed, heap)
    said = _smaller(posed, heap, [], False)
    assert said == f"this tree without needless splits costs {paid:g}, leaves 1, columns 0; this tree has 4 and 2"


@pytest.mark.parametrize(
    ("paid", "bound", "below"), [(1.0, 2.0, True), (2.0, 2.0, False), (2 - 1e-9, 2.0, False), (3.0, 2.0, False)]
)
def test_a_cost_is_below_a_bound_by_more_than_rounding(paid, bound, below):
    assert is_below(problem(), paid, bound) == below
