"""First trees of a search under constraints, and the messages of a search that ends without a proof."""

from itertools import product

import numpy as np
import pytest

from odtc.algorithms.constrained.constrained_problem import Below
from odtc.base import deadline
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.errors import NoSolutionError
from odtc.formulations.dpflow.constrained import Posed
from odtc.formulations.dpflow.floors.pruned_trees import pruned_tree
from odtc.heuristics.cart import grown_splits
from odtc.problem.constraints.constraint import broken, mended
from odtc.trees.heap_tree import settle
from odtc.workflow.compiling import prepare
from odtc.workflow.first_trees import known_tree
from odtc.workflow.provenance.certifying import certify
from odtc.workflow.results.facts import no_worse_than_cart
from odtc.workflow.searching import searched
from tests.pipeline import pose


def made(seed: int, rows: int = 300) -> Dataset:
    """Three columns of numbers and a group of two; a third of the rows is "yes"."""
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(rows, 3)), 1)
    group = random.integers(0, 2, rows)
    z = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.5 * group + random.normal(size=rows)
    X = np.column_stack([X, group])
    features = tuple(Feature(name, NUMERIC) for name in ("a", "b", "c", "group"))
    y = (z > np.quantile(z, 0.67)).astype(np.int32)
    return Dataset("made", X, y, features, ("no", "yes"), np.ones(rows))


def by_all_labels(problem, depth: int) -> float:
    """The least objective of the greedy tests cut off in every way with any labels, by trying all of them."""
    test, best = grown_splits(problem.encoded, problem.topology), np.inf
    nodes = [t for t in range(1, 2**depth) if test[t] >= 0]
    for keep in product((False, True), repeat=len(nodes)):
        kept = {t for t, held in zip(nodes, keep) if held}
        if any(t > 1 and t // 2 not in kept for t in kept):
            continue
        heap = np.array([test[t] if t in kept else -1 for t in range(len(test))], np.int32)
        leaves = [t for t in range(1, len(test)) if t not in kept and (t == 1 or t // 2 in kept)]
        for labels in product(range(len(problem.encoded.classes)), repeat=len(leaves)):
            label = np.full(len(test), -1, np.int32)
            label[leaves] = labels
            tree = settle(heap, problem.encoded, label)
            if not broken(problem, tree):
                best = min(best, problem.module.objective(problem, tree))
    return best


@pytest.mark.parametrize(
    "constraints",
    [
        ("recall[yes] >= 0.8",),
        ("recall[yes] >= 0.6", "statistical_parity[group=group,positive=yes] <= 0.05"),
        ("leaf_precision[yes] >= 0.6", "leaves <= 3"),
        ("features <= 1", "f1[yes] >= 0.4"),
        ("monotone[a,positive=yes]",),
        ("not_below[a,b]", "precision[yes] >= 0.7"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_tree_at_once_is_the_best_of_the_pruned_and_relabelled_greedy_ones(constraints, seed):
    problem = pose(made(seed), "dpflow", 2, constraints=constraints)
    found = pruned_tree(problem.derived(Posed).problem)
    least = by_all_labels(problem, 2)
    assert (found is None) == np.isinf(least)
    if found is not None:
        assert not broken(problem, found)
        assert problem.module.objective(problem, found) == pytest.approx(least)


def test_a_limit_that_has_passed_at_once_leaves_a_tree_that_keeps_the_constraints():
    problem = pose(made(5, 2000), "dpflow", 3, constraints=("recall[yes] >= 0.8", "leaf_rows >= 20"))
    done = searched(problem, time_limit=0.001)
    assert all(entry["training"] >= entry["requested"] for entry in done.kept)
    assert done.training.train_correct > 2000 / 3  # not that of the label "yes" alone
    assert "it is open whether a better tree satisfies the constraints" in done.solution.message


def test_a_tree_without_a_proof_is_no_worse_than_that_of_cart_where_this_keeps_the_constraints():
    problem = pose(made(6), "dpflow", 2, constraints=("leaf_rows >= 2",))
    alone = settle(np.full(8, -1, np.int32), problem.encoded)
    found = no_worse_than_cart(problem, alone)
    assert problem.module.objective(problem, found) < problem.module.objective(problem, alone)
    strict = pose(made(6), "dpflow", 2, constraints=("recall[yes] >= 0.99",))
    assert no_worse_than_cart(strict, alone) is alone


def test_no_tree_in_time_says_that_it_is_open_and_what_cart_comes_to():
    problem = pose(made(7, 2000), "dpflow", 3, constraints=("accuracy >= 0.95",))
    with pytest.raises(NoSolutionError, match="it is open whether there is one; CART violates accuracy >= 0.95 \\(0"):
        searched(problem, time_limit=0.001)


@pytest.mark.parametrize("seed", range(5))
def test_what_may_be_below_what_is_told_without_a_table_of_pairs(seed):
    random = np.random.default_rng(seed)
    once, under = random.random((2, 3, 9)) < 0.3
    table = ~np.logical_or.reduce([one[:, None] & other[None, :] for one, other in zip(once, under)])
    below = Below(once, under)
    some = random.permutation(9)[:4]
    assert (below[3] == table[3]).all() and (below[some] == table[some]).all()
    assert (below[np.ix_(some, some[::-1])] == table[np.ix_(some, some[::-1])]).all()
    assert below[2, 5] == table[2, 5]
    assert below == Below(once[:2], under[:2]) & Below(once[2:], under[2:])


def test_the_certificate_of_a_bound_at_the_limit_has_the_tree_at_once():
    """40,000 rows read in a limit of 5 seconds had the tree of one label, and twice the errors."""
    problem = pose(made(5, 300), "dpflow", 3, constraints=("recall[yes] >= 0.8", "leaf_rows >= 20"))
    one_label = problem.module.objective(problem, mended(problem, settle(np.full(16, -1, np.int32), problem.encoded)))
    found = certify(problem, 1e-9)
    paid = problem.module.objective(problem, pruned_tree(problem.derived(Posed).problem))
    assert found.objective <= paid < one_label and found.bound <= found.objective
    assert not broken(problem, found.fit.decoded.heap)


def test_a_limit_before_the_model_leaves_the_tree_at_once():
    """`--pool` wants a model; 2,000 rows x 400 columns ended with the tree of one label, and parity with none."""
    problem = pose(
        made(5), "dpflow", 3, constraints=("recall[yes] >= 0.7", "statistical_parity[group=group,positive=yes] <= 0.05")
    )
    known = prepare(problem, time_limit=1e-9).known
    paid = [problem.module.objective(problem, heap) for heap in (known, pruned_tree(problem.derived(Posed).problem))]
    assert not broken(problem, known) and paid[0] <= paid[1]


def test_a_limit_in_the_search_before_the_model_is_never_worse_than_cart():
    """A machine that has CART in time comes to this search, which handed in the tree of one label."""
    problem = pose(
        made(5), "dpflow", 3, constraints=("recall[yes] >= 0.7", "statistical_parity[group=group,positive=yes] <= 0.05")
    )
    problem.derived(Posed)
    with deadline.within(0.0):
        _, found = problem.module.limited(problem, mended(problem, known_tree(problem, "cart")))
    paid = [
        problem.module.objective(problem, heap) for heap in (found.heap, pruned_tree(problem.derived(Posed).problem))
    ]
    assert not broken(problem, found.heap) and paid[0] <= paid[1]
