"""Laws of the parts of constraints, each against its definition or by trying everything: lines, searches, repairs,
columns of their own, and rates of classes without rows."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.splits import Subset
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import (
    broken,
    built,
    complete,
    parse,
    posed,
    takes,
)
from odtc.problem.constraints.kind import CONSTRAINTS, Terms
from odtc.problem.constraints.on_predictions import mend, predicted
from odtc.problem.constraints.search_terms import _additive, search_problem
from odtc.problem.constraints.search_units import settled_price, whole
from odtc.testing.problems import ALL_VARIANTS
from odtc.trees.heap_tree import Beyond, HeapTree, settle
from tests import pipeline
from tests.unit.test_constraint_parts import saying
from tests.unit.test_each_constraint import TABLES, allowed, kept_by, of_kind, table, trees


def numbers(*columns, y, weight=None, classes=("no", "yes")) -> Dataset:
    features = tuple(Feature(f"f{at}", "numeric") for at in range(len(columns)))
    X, rows = np.column_stack(columns).astype(float), len(y)
    return Dataset("d", X, np.array(y, np.int32), features, classes, np.ones(rows) if weight is None else weight)


def many_tests() -> Dataset:
    """More pairs of tests than sets are made of: 229 thresholds of one column, and two columns of two numbers."""
    rng = np.random.default_rng(2)
    return numbers(np.arange(230), *rng.integers(0, 2, (2, 230)), y=rng.integers(0, 2, 230))


@pytest.mark.parametrize(
    "texts",
    [
        ("features <= 1",),
        ("features <= 2",),
        ("splits <= 2",),
        ("splits <= 3", "features <= 2"),
        ("splits <= 4", "splits <= 3"),
        ("not_below[f0,f1]",),
    ],
    ids=" and ".join,
)
def test_the_search_over_many_tests_keeps_what_is_asked_and_nothing_more(texts):
    problem = pipeline.pose(many_tests(), "dpflow", 3, encoding="thresholds", constraints=texts)
    found, seen, n_candidate_splits = search_problem(problem), set(), problem.encoded.n_candidate_splits
    assert n_candidate_splits * (n_candidate_splits - 1) // 2 > 20_000
    column = np.array([test.feature for test in problem.encoded.splits])
    for seed in range(60):
        rng = np.random.default_rng(seed)
        some = rng.permutation([*rng.choice(np.flatnonzero(column == 0), 3), *np.flatnonzero(column > 0)])
        test = np.full(16, -1, np.int32)
        test[1:8] = rng.choice(some[: 1 + seed % 5], 7)
        few = settle(test, problem.encoded, (np.arange(16) % 2).astype(np.int32))
        holds = all(allowed(problem, given, few) for given in problem.constraints)
        assert kept_by(found, few) == holds, few
        seen.add(holds)
    assert seen == {True, False}


@pytest.mark.parametrize("most", [2, 4, 7])
def test_many_columns_of_one_test_each_are_counted_by_their_tests(most):
    """Of 40 columns sets of four are too many to be listed."""
    rng = np.random.default_rng(3)
    data = numbers(*rng.integers(0, 2, (40, 60)), y=rng.integers(0, 2, 60))
    problem = pipeline.pose(data, "dpflow", 3, encoding="thresholds", constraints=(f"features <= {most}",))
    found = search_problem(problem)
    assert problem.encoded.n_candidate_splits == 40 and found.arrays.depth <= 3
    for heap in trees(problem, 40, depth=3):
        assert kept_by(found, heap) == allowed(problem, problem.constraints[0], heap)


@pytest.mark.parametrize("text", ["branch_nodes <= 1", "branch_nodes <= 2", "splits <= 2", "features <= 3"])
def test_a_tree_that_is_searched_is_the_tree_of_its_heaps(text):
    problem = posed(of_kind("leaf_rows", TABLES[0])[0], [text])
    problem = replace(problem, topology=pipeline.pose(table(*TABLES[0]), "dpflow", 3).topology)
    found = search_problem(problem)
    for heap in trees(problem, 20, depth=3):
        heaps = found.heaps(heap)
        if heaps is None:  # deeper than what is searched
            assert max(int(t).bit_length() for t in np.flatnonzero(heap.split >= 0)) > found.arrays.depth
            continue
        back = found.tree(*heaps)
        assert np.array_equal(back.split, heap.split) and np.array_equal(back.label, heap.label)
        split = Beyond.of([problem.encoded.splits[0]], np.zeros((problem.encoded.n_rows, 3)))
        assert found.heaps(HeapTree(heap.split, heap.label, split)) is None


@pytest.mark.parametrize("size", [1, 10**6, 10**13])
@pytest.mark.parametrize("seed", range(3))
def test_a_sum_in_whole_numbers_is_kept_if_the_sum_is(seed, size):
    """Of all predictions of three rows, and bounds at, just below and just above what these reach. Sums that are too
    large to be added exactly keep at least the trees that satisfy them."""
    rng = np.random.default_rng(seed)
    coef = rng.integers(-6, 7, (3, 2)) * size
    encoded = SimpleNamespace(n_rows=3, classes=("a", "b"))
    every = {said: int(coef[np.arange(3), list(said)].sum()) for said in product(range(2), repeat=3)}
    for upper in {value + off for value in every.values() for off in (-1, 0, 1)}:
        for coarse in (False, True):
            uses, bound, *_, rounded = _additive(encoded, [Terms(lines=((coef, upper),))], coarse)
            for said, value in every.items():
                kept = uses[0][np.arange(3), list(said)].sum() <= bound[0]
                assert kept == (value <= upper) or (rounded and kept), (value, upper, coarse)
            assert coarse or not rounded


def test_prices_and_weights_are_whole_up_to_their_largest_sizes():
    for exact, most in ((Fraction(1, 4), 2**48), (Fraction(1, 10**9 + 7), 10), (Fraction(0), 2**50)):
        assert settled_price(exact, most) == exact
    found, scale = whole(np.array([1e5 + 1 / 3, 2.0]))
    assert (found.tolist(), scale) == ([300001, 6], 3)
    found, scale = whole(np.array([100000.1000001, 1.0]))  # as it is written, however near to 100000.1
    assert (found.tolist(), scale) == ([1000001000001, 10**7], 10**7)
    for values in ([2.0**60, 1.0], [1e25], [2.0**52, 0.5]):  # above what float64 holds in sums
        with pytest.raises(TooLarge):
            whole(np.array(values))


@pytest.mark.parametrize("kind", ["precision[x]", "f1[x]", "f1[y]", "leaf_precision", "leaf_precision[y]"])
def test_a_sum_of_many_digits_is_searched_as_it_is(kind):
    """Which is rounded so that no tree is lost: each tree is asked beside that."""
    plain, seen = of_kind("leaf_rows", TABLES[1])[0], 0
    (given,) = posed(plain, [f"{kind} >= 0.5"]).constraints
    for heap in trees(plain, 12):
        value = given.module.value(plain.encoded, given, heap)
        for bound, holds in ((value + 1e-8, False), (value - 1e-8, True)):
            if 0 < bound < 1:
                problem = posed(plain, [f"{kind} >= {bound!r}"])
                assert kept_by(search_problem(problem), heap) == holds
                seen += 1
    assert seen > 6


def test_what_a_price_of_many_digits_is_rounded_by_counts_the_nodes_too():
    """Of three rows, so that a tree may have more branch nodes than errors."""
    data, price = numbers(np.arange(3), y=[0, 1, 0]), "0.123456789012345"
    problem = pipeline.pose(data, "dpflow", 3, params={"lambda": float(price)}, constraints=("leaves <= 8",))
    found = search_problem(problem)
    arrays, exact = found.arrays, Fraction(price)
    whole_unit = round(1 / found.unit)
    rounded = abs(Fraction(arrays.branch_cost, whole_unit) - exact)
    assert 0 < 7 * rounded <= Fraction(found.off) * (1 + Fraction(1, 10**6))


def test_the_search_of_a_formulation_without_a_price_counts_errors():
    form = next(name for name, _ in ALL_VARIANTS if not hasattr(of_form(name).params, "lambda_"))
    problem = of_form(form)
    found = search_problem(problem)
    for heap in trees(problem, 8):
        said, rows = predicted(problem.encoded, heap), np.arange(problem.encoded.n_rows)
        assert found.arrays.cost[rows, said].sum() * found.unit == pytest.approx(heap.loss(problem.encoded))
    assert found.arrays.branch_cost == 0 and found.off == 0


def of_form(name: str):
    return pipeline.pose(table(*TABLES[1]), name, 2, constraints=("leaf_rows >= 2",) * (name != "cg"))


def test_what_the_search_alone_takes_no_model_takes():
    problem = pipeline.pose(table(*TABLES[0]), "flowoct", 1)
    assert not any(takes(problem, CONSTRAINTS.get(kind)) for kind in ("shallowest", "monotone_everywhere", "together"))
    nothing = SimpleNamespace(SUBJECT=None, NEEDS=(), tries=lambda encoded: ["recall[nosuch] >= 1", "features <= x"])
    assert not takes(problem, nothing)


def four_leaves(weight=(1.0, 1.0, 1.0, 1.0), y=(0, 0, 1, 1)):
    """The encoding of four rows, their places in it, and the tree that has each in a leaf, with these labels."""
    data = numbers(np.arange(4.0), y=y, weight=np.array(weight))
    encoded = pipeline.pose(data, "flowoct", 2, encoding="thresholds").encoded
    cut = np.argsort([split.threshold for split in encoded.splits])
    test = np.full(8, -1, np.int32)
    test[[1, 2, 3]] = cut[[1, 0, 2]] if not encoded.ones_left.any() else cut[[1, 2, 0]]
    end = HeapTree(test, np.zeros(8, np.int32)).reach(encoded.X)[encoded.row_of]
    assert sorted(end) == [4, 5, 6, 7]

    def tree(*labels):
        label = np.full(8, -1, np.int32)
        label[end] = labels
        return HeapTree(test.copy(), label)

    return encoded, tree


def line(encoded, of, upper):
    """Σ coef [row is predicted k] ≤ upper, for {(row of data, k): coef}."""
    coef = np.zeros((4, 2))
    for (row, k), value in of.items():
        coef[encoded.row_of[row], k] = value
    return coef, upper


def labels_of(encoded, heap):
    return predicted(encoded, heap)[encoded.row_of].tolist()


def test_if_no_label_mends_anything_the_best_leaf_is_left():
    """Each other label for one leaf of 0,0,1,1 breaks as much; a leaf of either class breaks nothing."""
    for weight, best in (((1.0, 1.0, 1.0, 3.0), 1), ((3.0, 1.0, 1.0, 1.0), 0)):
        encoded, tree = four_leaves(weight)
        for k in (0, 1):
            stuck = [
                line(encoded, {(0, k): 1.0, (3, 1 - k): 1.0}, 1.0),
                line(encoded, {(0, 1 - k): 1.0, (1, k): 1.0}, 1.0),
                line(encoded, {(2, 1 - k): 1.0, (3, k): 1.0}, 1.0),
            ]
            found = mend(encoded, saying(*stuck), tree(k, k, 1 - k, 1 - k))
            assert not (found.split >= 0).any() and labels_of(encoded, found) == [best] * 4
            most = line(encoded, {(row, k): 1.0 for row in range(4)}, 3.0)  # so that one class alone may be a leaf
            found = mend(encoded, saying(*stuck, most), tree(k, k, 1 - k, 1 - k))
            assert not (found.split >= 0).any() and labels_of(encoded, found) == [1 - k] * 4
        never = saying(line(encoded, {(0, 0): 1.0, (0, 1): 1.0}, 0.0))  # which no tree keeps
        heap = tree(0, 1, 0, 1)
        assert mend(encoded, never, heap) is heap


def test_a_tree_that_never_predicts_a_class_keeps_what_its_leaves_would_need():
    data = numbers([0, 0, 1, 1], y=[0, 0, 0, 1])
    problem = pipeline.pose(data, "dpflow", 1, encoding="thresholds", constraints=("leaf_class_rows[yes] >= 3",))
    (given,) = problem.constraints
    for label, kept in ((0, True), (1, False)):
        heap = settle(np.full(4, -1, np.int32), problem.encoded, np.full(4, label, np.int32))
        assert given.holds(given.module.value(problem.encoded, given, heap)) == kept == (not broken(problem, heap))


@pytest.mark.parametrize("text", ["leaf_rows >= 1", "leaf_rows >= 0", "never_together[f0,f1]", "accuracy >= 0.5"])
def test_what_holds_of_filled_trees_needs_no_columns_for_leaves_above(text):
    given = posed(of_kind("leaf_rows", TABLES[0])[0], [text]).constraints[0]
    assert not given.module.early(given)
    for other in ("leaf_rows >= 2", "deepest[f0] <= 0", "leaf_precision >= 0.5"):
        given = posed(of_kind("leaf_rows", TABLES[0])[0], [other]).constraints[0]
        assert given.module.early(given)


OWN = [
    ("oct", "precision[x] >= 0.6"),
    ("oct", "false_positive_rate[x] <= 0.3"),
    ("binoct", "f1[y] >= 0.5"),
    ("binoct", "statistical_parity[group=side,positive=x] <= 0.4"),
    ("flowoct", "class_leaves[x] <= 1"),
    ("flowoct", "leaf_class_rows[x] >= 3"),
    ("flowoct", "leaf_rows >= 4"),
    ("binoct", "leaf_rows >= 4"),
    ("flowoct", "features <= 1"),
    ("binoct", "features <= 1"),
    ("dpflow", "features <= 1"),
    ("dpflow", "features <= 2"),
    ("flowoct", "never_together[f0,f1]"),
]


@pytest.mark.parametrize(("form", "text"), OWN)
def test_no_values_of_the_own_columns_let_a_tree_pass_that_breaks_it(form, text):
    """The columns of the formulation are those of a tree; a linear program looks for the others."""
    data = table(*TABLES[0])
    problem = pipeline.pose(data, form, 2, constraints=(text,))
    model, plain = built(problem), problem.module.build(problem)
    names = {block.name for block in plain.rows}, {block.name for block in plain.columns}
    rows, columns = (
        np.concatenate([np.arange(one.start, one.stop) for one in blocks if one.name not in known])
        for blocks, known in zip((model.rows, model.columns), names)
    )
    others = np.setdiff1d(np.arange(model.n_cols), columns)
    A, seen = model.A.toarray()[rows], set()
    lower, upper = model.col_lower[columns], model.col_upper[columns]
    for drawn in trees(problem, 12):
        heap = problem.module.trimmed(problem, drawn)
        x = complete(problem, model, heap)
        fixed = A[:, others] @ x[others]
        within = model.row_upper[rows] - fixed, fixed - model.row_lower[rows]
        finite = [np.isfinite(side) for side in within]
        matrix = np.concatenate([A[:, columns][finite[0]], -A[:, columns][finite[1]]])
        ends = np.concatenate([side[which] for side, which in zip(within, finite)])
        found = linprog(np.zeros(len(columns)), matrix, ends, bounds=np.stack([lower, upper], axis=1))
        holds = allowed(problem, problem.constraints[0], heap)
        assert (found.status == 0) == holds, (found.message, heap)
        if holds:  # what a start has for them is a way
            assert (lower - 1e-9 <= x[columns]).all() and (x[columns] <= upper + 1e-9).all()
            assert (matrix @ x[columns] <= ends + 1e-9).all()
        seen.add(holds)
    assert True in seen


@pytest.mark.parametrize("text", ["cost <= 9", "accuracy >= 0.5", "recall[y] >= 0.5", "balanced_accuracy >= 0.5"])
def test_rows_over_right_rows_count_each_once(text):
    """Of three classes: a row that is wrong may be so in two ways."""
    problem, seen = pipeline.pose(table(*TABLES[2]), "flowoct", 2, constraints=(text,)), set()
    model = built(problem)
    own = [block for block in model.rows if block.name.startswith("answer")]
    assert own
    for heap in trees(problem, 25):
        activity = model.A @ complete(problem, model, heap)
        kept = all(
            (activity[one.start : one.stop] <= model.row_upper[one.start : one.stop] + 1e-9).all() for one in own
        )
        assert kept == allowed(problem, problem.constraints[0], heap)
        seen.add(kept)
    assert seen == {True, False}


@cache
def of_two_columns():
    """Encodings of some rows with tests of two columns, and without."""
    data = numbers(*np.random.default_rng(1).integers(0, 6, (2, 14)), y=np.arange(14) % 2)
    return encode(data, "oblique:pool=3"), encode(data, "thresholds")


@pytest.mark.parametrize("kind", ["features", "not_below", "deepest", "together", "monotone_everywhere"])
def test_a_test_of_two_columns_is_of_no_column(kind):
    oblique, plain = of_two_columns()
    assert {len(test.features) for test in oblique.splits} == {1, 2}
    for text in CONSTRAINTS.get(kind).tries(plain)[-2:]:
        with pytest.raises(ChoiceError, match="has splits that use several columns"):
            parse(text, oblique)


@pytest.mark.parametrize("of_table", TABLES, ids=str)
def test_what_rises_everywhere_rises_in_trees_of_three_levels_too(of_table):
    """In which a column of levels may be asked twice on a path; and however the answers are coded."""
    seen = set()
    for problem in of_kind("monotone_everywhere", of_table, most=2):
        (given,), encoded = problem.constraints, problem.encoded
        other = replace(encoded, X=~np.asarray(encoded.X), ones_left=~encoded.ones_left)
        t = np.arange(1, 16)
        mirrored = t ^ (2 ** np.log2(t).astype(int) - 1)
        for heap in trees(problem, 60, depth=3):
            value = given.module.value(encoded, given, heap)
            assert (value == 0) == allowed(problem, given, heap)
            test, label = heap.split.copy(), heap.label.copy()
            test[t], label[t] = heap.split[mirrored], heap.label[mirrored]
            assert given.module.value(other, given, HeapTree(test, label)) == value
            seen.add(value == 0)
    assert seen == {True, False}


def test_an_order_is_of_numbers_that_are_asked_by_thresholds():
    """Of other numbers that are asked one by one, no tree is told to rise."""
    data = numbers(np.arange(6) % 3, np.arange(6) // 3, y=[0, 1, 0, 1, 1, 0])
    encoded = pipeline.pose(data, "dpflow", 1, encoding="thresholds").encoded
    given = parse("monotone_everywhere[f0,positive=yes]", encoded)
    at = [test.feature for test in encoded.splits].index(1)
    heap = settle(np.array([-1, at, -1, -1], np.int32), encoded, np.array([-1, -1, 0, 1], np.int32))
    tests = [*encoded.splits[:at], Subset(1, (0.0,)), *encoded.splits[at + 1 :]]
    asked = replace(encoded, splits=tuple(tests))
    assert given.module.value(encoded, given, heap) == 0
    assert given.module.value(asked, given, heap) == np.inf
    assert parse("monotone_everywhere[f0,positive=yes]", asked) == given
    with pytest.raises(ChoiceError, match="'f1', whose numbers have a split each"):
        parse("monotone_everywhere[f1,positive=yes]", asked)
    levels = table(*TABLES[0])
    with pytest.raises(ChoiceError, match="expected .* to name a column of numbers that is encoded by thresholds"):
        parse("monotone_everywhere[f1,positive=x]", pipeline.pose(levels, "dpflow", 1).encoded)
    one = replace(levels, X=levels.X * [1, 0, 1])  # a column of one level has no tests
    with pytest.raises(ChoiceError, match="expected .* to name a column of numbers that is encoded by thresholds"):
        parse("monotone_everywhere[f1,positive=x]", pipeline.pose(one, "dpflow", 1).encoded)
