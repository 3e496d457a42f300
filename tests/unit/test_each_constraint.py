"""Every kind of constraint says one thing in all its voices: of trees drawn once, its figure, the rows of its models,
the terms of the search and its shares of rows agree with what it is by definition (`reference`), and its repair keeps
it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from odtc.algorithms.constrained.constrained_problem import TooLarge, keeps
from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import broken, built, complete, mended, posed
from odtc.problem.constraints.kind import CONSTRAINTS, OnLeafProportions, OnProportions, Repairs
from odtc.problem.constraints.search_terms import search_problem
from odtc.testing.problems import ALL_VARIANTS, form_id, kept_kinds
from odtc.trees.heap_tree import settle
from tests import pipeline

N = 14


@cache
def table(n_classes: int, weighted: bool, missing: bool) -> Dataset:
    """A number, two columns of levels, and a column that is no feature; rows repeat, tie and contradict."""
    rng = np.random.default_rng(n_classes)
    X = np.stack([rng.integers(0, 3, N), rng.integers(0, 3, N), rng.integers(0, 2, N)], axis=1).astype(float)
    X[:3], X[3:6, 1:] = X[3:6], X[:3, 1:]  # rows that the number alone tells apart
    X[3:6, 0] = (X[3:6, 0] + 1) % 3
    if missing:
        X[7, 0] = X[8, 1] = np.nan
    features = (
        Feature("f0", "numeric"),
        Feature("f1", "categorical", ("a", "b", "c")),
        Feature("f2", "categorical", ("u", "v")),
    )
    weight = rng.choice([1.0, 2.0, 0.5], N) if weighted else np.ones(N)
    y = rng.integers(0, n_classes, N).astype(np.int32)
    side = rng.integers(0, 3, N).astype(float)
    dataset = Dataset("d", X, y, features, tuple("xyz"[:n_classes]), weight, missing="separate" if missing else "drop")
    return replace(dataset, auxiliary=(Feature("side", "categorical", ("p", "q", "r")),), auxiliary_X=side[:, None])


TABLES = ((2, False, False), (2, True, True), (3, True, False))


@cache
def of_kind(name: str, of_table, formulation="dpflow", params=(), most=9):
    """Problems with one constraint of a kind each, of bounds of all sizes."""
    data = table(*of_table)
    plain = pipeline.pose(data, formulation, 2, params=dict(params), constraints=("features <= 3",))
    plain = replace(plain, constraints=())
    texts = CONSTRAINTS.get(name).tries(plain.encoded)
    found = []
    for text in [texts[at] for at in np.unique(np.linspace(0, len(texts) - 1, most).round().astype(int))]:
        try:
            found.append(posed(plain, [text]))
        except ChoiceError:  # what this data has no rows, columns or levels for
            continue
    return found


def trees(problem, n=25, depth=2, seed=0):
    """Settled trees of random tests and labels."""
    encoded, rng = problem.encoded, np.random.default_rng(seed)
    for _ in range(n):
        test, label = np.full(2 ** (depth + 1), -1, np.int32), np.full(2 ** (depth + 1), -1, np.int32)
        for t in range(1, 2 ** (depth + 1)):
            if t > 1 and test[t // 2] < 0:
                continue
            if t < 2**depth and rng.random() < 0.8:
                test[t] = rng.integers(encoded.n_candidate_splits)
            else:
                label[t] = rng.integers(len(encoded.classes))
        yield settle(test, encoded, label)


def allowed(problem, given, heap) -> bool:
    """Whether a tree satisfies a constraint by its reference."""
    encoded, reference = problem.encoded, given.module.reference(problem.encoded, given)
    asking = np.flatnonzero(heap.split >= 0).tolist()
    tests = {int(heap.split[t]) for t in asking}
    end = heap.reach(encoded.X)[encoded.row_of]
    leaves = {int(t): np.flatnonzero(end == t).tolist() for t in np.unique(end)}
    labels = [int(heap.label[t]) for t in leaves]
    above = {t: tuple(int(heap.split[t >> up]) for up in range(t.bit_length() - 1, 0, -1)) for t in asking}
    return bool(
        all(len(rows) >= reference.least_rows for rows in leaves.values())
        and (reference.allowed is None or all(reference.allowed(int(heap.split[t]), above[t]) for t in asking))
        and (reference.counts is None or reference.counts(len(asking), tests))
        and (reference.predictions is None or reference.predictions(tuple(heap.label[end].tolist())))
        and (reference.leaf is None or all(reference.leaf(k, rows) for k, rows in zip(labels, leaves.values())))
        and (reference.leaves is None or reference.leaves([labels.count(k) for k in range(len(encoded.classes))]))
        and (reference.tree is None or reference.tree(shape(heap)))
    )


def shape(heap, t=1):
    """A class, or (test, shape of its zeros, shape of its ones)."""
    if heap.split[t] < 0:
        return int(heap.label[t])
    return int(heap.split[t]), shape(heap, 2 * t), shape(heap, 2 * t + 1)


KINDS = CONSTRAINTS.names()


@pytest.mark.every(3)
@pytest.mark.parametrize("of_table", TABLES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_its_figure_is_by_definition(kind, of_table):
    seen = set()
    for problem in of_kind(kind, of_table):
        (given,) = problem.constraints
        for heap in trees(problem, 40):
            holds = given.holds(given.module.value(problem.encoded, given, heap))
            assert holds == allowed(problem, given, heap) == (not broken(problem, heap)), str(given)
            seen.add(holds)
    assert seen in ({True, False}, set())  # of some kinds this data has none


@pytest.mark.every(3)
@pytest.mark.parametrize("of_table", TABLES, ids=str)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if CONSTRAINTS.get(kind).can(Repairs)])
def test_a_repair_keeps_it_and_leaves_alone_what_keeps_it(kind, of_table):
    for problem in of_kind(kind, of_table):
        for heap in trees(problem, 20):
            found = mended(problem, heap)
            if not broken(problem, heap):
                assert found is heap
            elif found is not None:
                assert allowed(problem, problem.constraints[0], found)


def kept_by(posed_search, heap) -> bool:
    """Whether a tree is feasible in a search; one that is deeper than what is searched is not."""
    heaps = posed_search.heaps(heap)
    return heaps is not None and keeps(posed_search.arrays, *heaps)


@pytest.mark.every(3)
@pytest.mark.parametrize("of_table", TABLES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_search_keeps_it_and_nothing_more(kind, of_table):
    for problem in of_kind(kind, of_table):
        try:
            posed_search = search_problem(problem)
        except TooLarge:
            continue
        (given,) = problem.constraints
        for heap in trees(problem):
            assert kept_by(posed_search, heap) == allowed(problem, given, heap), str(given)
            assert posed_search.cost(heap) * posed_search.unit == pytest.approx(heap.loss(problem.encoded))


# One form each of those that state right rows, classes, leaves and products, and that have columns of thresholds.
FORMS = [
    (form, kind)
    for name in ("flowoct", "bendersoct", "binoct", "oct")
    for form in [next(form for form in ALL_VARIANTS if form[0] == name)]
    for kind in sorted(kept_kinds(form))
]


@pytest.mark.every(3)
@pytest.mark.parametrize(("form", "kind"), FORMS, ids=[f"{form_id(form)}-{kind}" for form, kind in FORMS])
def test_its_rows_hold_of_the_trees_that_keep_it_alone(form, kind):
    seen = set()
    for problem in of_kind(kind, TABLES[0], form[0], tuple(form[1].items()), 5):
        (given,) = problem.constraints
        model = built(problem)
        plain = {block.name for block in built(replace(problem, constraints=())).rows}
        own = [slice(block.start, block.stop) for block in model.rows if block.name not in plain]
        for heap in trees(problem, 12):
            x = complete(problem, model, heap)
            activity = model.A @ x
            beyond = np.maximum(model.row_lower - activity, activity - model.row_upper)
            kept = all((beyond[rows] <= 1e-9).all() for rows in own)
            assert kept == allowed(problem, given, heap), str(given)
            seen.add(kept)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in KINDS
        if CONSTRAINTS.get(kind).can(OnProportions) or CONSTRAINTS.get(kind).can(OnLeafProportions)
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_its_shares_of_rows_say_the_same(kind, n_classes):
    """Of rows of weight 1 that are all different."""
    for problem in of_kind(kind, (n_classes, False, False)):
        (given,), encoded = problem.constraints, problem.encoded
        rows = np.arange(N)
        each = replace(
            encoded,
            X=encoded.X[encoded.row_of],
            y=encoded.dataset.y,
            weight=np.ones(N),
            copies=np.ones(N, int),
            row_of=rows,
            groups=(),
        )
        for heap in trees(problem, 20):
            end = heap.reach(each.X)
            said = heap.label[end]
            if given.module.can(OnProportions):
                sums = given.module.proportions(each, given, said)
            else:
                at, leaf = np.unique(end, return_inverse=True)
                sums = given.module.leaf_proportions(each, given, said, leaf.reshape(-1), heap.label[at])
            over = [
                sum(share.coef * share.value for share in one.shares) - one.upper
                for one in sums
                if all(share.among.any() for share in one.shares)
            ]
            if not any(abs(more) < 1e-12 for more in over):  # floats do not tell which side of a boundary this is
                assert all(more < 0 for more in over) == allowed(problem, given, heap), str(given)


@pytest.mark.parametrize(
    "texts",
    [
        ("never_together[f0,f1]", "features <= 2"),
        ("features <= 1", "never_together[f0,f1]"),
        ("never_together[f0,f1]", "splits <= 2"),
        ("never_together[f0,f1,f2]", "never_together[f1,f2]"),
        ("never_together[f0,f2]", "never_together[f0,f1]"),
        ("features <= 2", "splits <= 2"),
        ("forbid_root[f0]", "deepest[f1] <= 0", "not_below[f0,f2]"),
    ],
    ids=" and ".join,
)
def test_the_search_keeps_several_and_nothing_more(texts):
    """Sets of columns that are cut by pairs that are apart, and tests at levels and below others; at depth 3."""
    plain = pipeline.pose(table(*TABLES[0]), "dpflow", 3, constraints=texts)
    arrays, seen = search_problem(plain), set()
    for heap in trees(plain, 60, depth=3):
        kept = all(allowed(plain, given, heap) for given in plain.constraints)
        assert kept_by(arrays, heap) == kept
        seen.add(kept)
    assert seen == {True, False}


@pytest.mark.parametrize("text", ["leaf_precision >= 0.4975195653869821", "leaf_precision[x] >= 0.6000000123456789"])
def test_a_share_of_many_digits_in_each_leaf_is_searched(text):
    """The search refused it, as no small fraction, and no model of dpflow takes it instead."""
    problem = posed(of_kind("leaf_rows", TABLES[1])[0], [text])
    (given,), posed_search, seen = problem.constraints, search_problem(problem), set()
    for heap in trees(problem, 60):
        holds = keeps(posed_search.arrays, *posed_search.heaps(heap))
        assert holds == allowed(problem, given, heap)
        seen.add(holds)
    assert seen == {True, False}
