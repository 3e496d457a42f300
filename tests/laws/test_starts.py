"""Property 1: a start is feasible, has the cost of its tree, and decodes to its tree (properties.formulations)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.testing import cases
from odtc.testing.problems import COMPILED, heaps, problems
from odtc.trees.heap_tree import HeapTree


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "case",
    [
        case
        for name in COMPILED
        for word in ("name", "declared", "start")
        for case in cases("formulation", name, property=word)
    ],
    ids=str,
)
def test_a_start_is_feasible_costs_the_tree_and_decodes_to_it(case):
    case.expect(min(case.property.examples, 6))  # `odtc check` draws more


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_tree_in_words_and_on_the_heap_are_one(data):
    problem = data.draw(problems(data.draw(st.sampled_from([("flowoct", {}), ("fair", {})])), depths=(1, 2, 3)))
    heap = data.draw(heaps(problem))
    back = HeapTree.from_tree(
        heap.to_tree(problem.encoded), problem.encoded, problem.topology, beyond=problem.formulation == "fair"
    )
    assert_same(back, heap)


def assert_parts_alike(a: HeapTree, b: HeapTree, encoded):
    ends = [tree.reach(encoded.X) for tree in (a, b)]
    together = [end[:, None] == end for end in ends]
    np.testing.assert_array_equal(*together)
    np.testing.assert_array_equal(a.label[ends[0]], b.label[ends[1]])


def assert_same(a: HeapTree, b: HeapTree):
    np.testing.assert_array_equal(a.split, b.split)
    np.testing.assert_array_equal(a.label, b.label)
    assert (a.beyond and a.beyond.splits) == (b.beyond and b.beyond.splits)
