"""Law 1: a start is feasible, costs what its tree costs, and decodes to its tree."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parameter_key
from odtc.trees.heap_tree import HeapTree
from tests.arrays import assert_point_of
from tests.laws.problems import (
    ALL_FORMS,
    COMPILED,
    FORMS,
    form_id,
    heaps,
    penalty,
    problems,
    terms,
)


@pytest.mark.parametrize("name", COMPILED)
def test_every_formulation_is_under_the_laws(name):
    assert FORMS[name], f"the model {name!r} declares no FORMS: parameter sets under which the laws try it"
    keys = {parameter_key(field) for field in dataclasses.fields(FORMULATIONS.get(name).Params)}
    for form in FORMS[name]:
        assert set(form) <= keys, f"the model {name!r} declares in FORMS what is no parameter of it: {form}"


@pytest.mark.parametrize("form", ALL_FORMS, ids=form_id)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_start_is_feasible_costs_the_tree_and_decodes_to_it(form, data):
    problem = data.draw(problems(form, depths=(1, 2, 3)))
    heap = data.draw(heaps(problem))
    module, encoded = problem.module, problem.encoded
    model = module.build(problem)
    x = model.join(module.start(problem, heap))
    assert_point_of(problem, model, heap, x)
    # What the tree costs, counted row by row in its words.
    tree = heap.to_tree(encoded)
    dataset = encoded.dataset
    predicted = tree.predict(dataset.X)
    lost = sum(w * encoded.cost[k, p] for w, k, p in zip(dataset.weight, dataset.y, predicted))
    per_error, per_branch_node, _ = terms(problem)
    cost = per_error * lost + per_branch_node * tree.n_branch_nodes + penalty(problem, predicted)
    assert module.objective(problem, heap) == pytest.approx(cost, abs=1e-9)
    back = module.decode(problem, model.split(x))
    if module.WEIGHS:  # many hyperplanes part the rows alike, and each side may be the left one
        assert_parts_alike(back, heap, encoded)
    else:
        assert_same(back, heap)


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
    np.testing.assert_array_equal(a.test, b.test)
    np.testing.assert_array_equal(a.label, b.label)
    assert (a.beyond and a.beyond.tests) == (b.beyond and b.beyond.tests)
