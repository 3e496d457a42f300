"""Figures of constraints, and the message about a tree that violates one."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.constrained.constrained_problem import keeps
from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError, DataError
from odtc.problem.constraints.constraint import broken, built, complete, mended
from odtc.problem.constraints.kind import Repairs
from odtc.problem.constraints.kinds import monotone
from odtc.problem.constraints.search_terms import search_problem
from odtc.trees.heap_tree import HeapTree, settle
from tests import pipeline
from tests.command_line import odtc as command


def binary(*columns, y, weight=None) -> Dataset:
    features = tuple(Feature("fgh"[at], "numeric") for at in range(len(columns)))
    weight = np.ones(len(y)) if weight is None else np.array(weight, float)
    return Dataset("d", np.array(columns, float).T.copy(), np.array(y, np.int32), features, ("n", "p"), weight)


GRID = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])


@pytest.mark.parametrize(
    ("tests", "wrong"),
    [
        ((1, 0, 2), 1),  # the parent
        ((1, 2, 2, 0, -1, -1, -1), 1),  # the grandparent
        ((1, 2, 2, -1, -1, -1, 0), 1),
        ((1, 2, 2, 0, 0, 0, 0), 4),
        ((1, 0, 2, 2, -1, 0, -1), 2),
        ((0, 1, 1, 2, 2, 2, 2), 0),  # above is no matter
        ((2, 0, 1, -1, -1, 2, -1), 0),  # beside neither
        ((0, 1, 2, 0, -1, -1, -1), 1),  # between two of its own
    ],
)
def test_not_below_is_below_any_node_above(tests, wrong):
    """not_below[f,g] counts the nodes that ask f with any node above that asks g; the model's rows say the same."""
    dataset = binary(*GRID.T, y=[0, 1, 1, 0, 1, 0, 0, 1])
    problem = pipeline.pose(dataset, "flowoct", 3, constraints=("not_below[f,g]",))
    of_feature = [next(at for at, test in enumerate(problem.encoded.splits) if test.feature == f) for f in range(3)]
    test, label = np.full(16, -1, np.int32), np.full(16, -1, np.int32)
    for node, asked in enumerate(tests, 1):
        test[node] = of_feature[asked] if asked >= 0 else -1
    for node in range(1, 16):
        if test[node] < 0 and (node == 1 or test[node // 2] >= 0):
            label[node] = node % 2
    heap = HeapTree(test, label)
    (given_,) = problem.constraints
    assert given_.module.value(problem.encoded, given_, heap) == wrong
    assert bool(broken(problem, heap)) == bool(wrong)
    model = built(problem)
    (below,) = (slice(block.start, block.stop) for block in model.rows if block.name.startswith("below"))
    asked = (model.A @ complete(problem, model, heap))[below]
    assert (model.row_upper[below] == 1).all() and (asked > 1).any() == bool(wrong)


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_monotone_is_as_defined_with_missing_cells(data):
    """Rows that lack the number are compared with none, whatever else they hold."""
    n = data.draw(st.integers(5, 10))
    numbers = st.sampled_from([0.0, 1.0, 2.0, np.nan]), st.sampled_from([0.0, 0.0, 1.0, np.nan])
    columns = [data.draw(st.lists(number, min_size=n, max_size=n)) for number in numbers]
    dataset = replace(
        binary(*columns, y=data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))), missing="separate"
    )
    try:
        problem = pipeline.pose(dataset, "flowoct", 2, constraints=("monotone[f,positive=p]",))
    except (ChoiceError, DataError):  # no two neighbours, or nothing to ask
        return
    encoded = problem.encoded
    n_kinds = int(encoded.alike.max()) + 1  # rows that answer all tests alike are predicted alike
    of_kind = data.draw(st.lists(st.integers(0, 1), min_size=n_kinds, max_size=n_kinds))
    predicted = np.array(of_kind)[encoded.alike]

    class Labels:
        label = predicted

        def reach(self, X):
            return np.arange(len(predicted))

    of_row = predicted[encoded.row_of].tolist()
    told = list(zip(dataset.X[:, 0].tolist(), dataset.X[:, 1].tolist(), of_row))
    falls = any(
        low < high and (a == b or (a != a and b != b)) and one == 1 != two
        for low, a, one in told
        for high, b, two in told
    )
    (given_,) = problem.constraints
    assert bool(given_.module.value(encoded, given_, Labels())) == falls


def kind(name, ok, mend=None):
    """A constraint on a whole number in the place of a tree."""
    module = SimpleNamespace(
        value=lambda encoded, given, heap: float(ok(heap)),
        can=lambda what: what is not Repairs or mend is not None,
        mend=(lambda encoded, given, heap: mend(heap)),
    )
    return SimpleNamespace(name=name, module=module, holds=lambda value: value > 0)


def mended_of(heap, *constraints):
    return mended(SimpleNamespace(encoded=None, constraints=constraints), heap)


def test_what_mends_one_and_breaks_another_is_mended_again():
    even = kind("even", lambda n: n % 2 == 0, lambda n: n + 1)
    third = kind("third", lambda n: n % 3 == 0, lambda n: n + 1)
    assert mended_of(6, even, third) == 6
    assert mended_of(5, even, third) == 6
    assert mended_of(3, even, third) == 6  # 3 is odd; 4 is no third; 5 is odd; 6
    assert mended_of(1, even, third) is None  # as often as twice for each, and once more
    assert mended_of(3, kind("even", lambda n: n % 2 == 0), third) is None  # no one knows how to mend it
    assert mended_of(4, kind("even", lambda n: n % 2 == 0), third) is None  # 5 is odd, and stays so


def test_what_is_not_mended_in_the_end_is_none():
    never = kind("never", lambda n: n < 0, lambda n: n + 1)
    assert mended_of(0, never) is None
    seen = []
    swing = kind("swing", lambda n: False, lambda n: seen.append(n) or 1 - n)
    assert mended_of(0, swing, never) is None and len(seen) == 5


def test_a_mended_tree_keeps_all_of_them(tmp_path):
    dataset = binary(*GRID.T, y=[0, 1, 1, 0, 1, 0, 0, 1])
    test, label = np.full(16, -1, np.int32), np.full(16, -1, np.int32)
    for node in range(1, 8):
        test[node] = node.bit_length() - 1
    label[8:] = [0, 1] * 4
    for texts in (
        ("branch_nodes <= 3",),
        ("leaf_rows >= 2",),
        ("not_below[g,f]", "branch_nodes <= 2"),
        ("leaves <= 3",),
    ):
        problem = pipeline.pose(dataset, "flowoct", 3, constraints=texts)
        heap = HeapTree(test.copy(), label.copy())
        kept = mended(problem, heap)
        assert broken(problem, heap) and kept is not None and not broken(problem, kept)


def test_an_explanation_says_what_was_asked_of_the_tree_and_what_it_reaches(tmp_path):
    """On the training rows, and on those that the run set aside, never on the rows to be explained."""
    rows = [(x % 5, "yes" if x % 5 > 2 else "no") for x in range(40)]
    other = [(4, "yes"), (1, "yes"), (0, "no")]
    for name, some in (("t", rows), ("new", other), ("bare", other)):
        lines = [f"{x}" if name == "bare" else f"{x},{y}" for x, y in some]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x" if name == "bare" else "x,y", *lines]) + "\n")
    command("fit", "t.csv", "--depth", 1, "--constraint", "recall[yes] >= 0.6", "-o", "m", folder=tmp_path)
    told = [command("explain", "m.tree.json", f"{name}.csv", folder=tmp_path).out for name in ("t", "new", "bare")]
    for said in told:
        assert said.endswith("kept      recall[yes] >= 0.6: 1 on training rows\n") and "test rows" not in said
    facts = command("explain", "m.tree.json", "new.csv", "--json", folder=tmp_path).facts
    assert [(one["requested"], one["training"], one["test"]) for one in facts["constraint_values"]] == [
        (0.6, 1.0, None)
    ]
    words = ("--constraint", "recall[yes] >= 0.6", "--hold-out", 0.5, "-o", "h")
    assert command("fit", "t.csv", "--depth", 1, *words, folder=tmp_path).code == 0
    facts = command("explain", "h.tree.json", "new.csv", "--json", folder=tmp_path).facts
    assert [(one["training"], one["test"]) for one in facts["constraint_values"]] == [(1.0, 1.0)]
    (tmp_path / "m.run.json").unlink()
    assert "kept" not in command("explain", "m.tree.json", "new.csv", folder=tmp_path).out


@pytest.mark.parametrize("kind", ["accuracy", "recall[p]", "precision[p]", "f1[p]", "leaf_precision[p]"])
def test_a_share_of_five_digits_is_no_third(kind):
    """Rows and terms of the search compare with the number as it was typed: two thirds are fewer than 0.66667."""
    dataset = binary([0, 0, 0, 1, 1, 1], y=[0, 0, 1, 1, 1, 0])  # f > ½ for p: each share is 2/3
    for bound, holds in ((0.66666, True), (0.66667, False)):
        problem = pipeline.pose(dataset, "flowoct", 1, constraints=(f"{kind} >= {bound}",))
        heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
        posed_search = search_problem(problem)
        assert bool(broken(problem, heap)) != holds
        assert keeps(posed_search.arrays, *posed_search.heaps(heap)) == holds
        model = built(problem)
        point = complete(problem, model, heap)
        activity = model.A @ point
        beyond = np.maximum(activity - model.row_upper, model.row_lower - activity)
        assert bool((beyond <= 1e-9).all()) == holds


@pytest.mark.parametrize("seed", range(6))
def test_the_neighbours_of_monotone_follow_upon_each_other_among_equal_answers(seed):
    """Over more tests than one number holds the answers of; by sorting whole rows 300,000 of them took four seconds."""
    rng = np.random.default_rng(seed)
    own, other = (
        rng.integers(0, 6, 200),
        rng.permuted(np.tile(np.arange(40), (2, 1)), axis=1)[:, rng.integers(0, 40, 200)],
    )
    dataset = binary(own, *other, y=rng.integers(0, 2, 200))
    problem = pipeline.pose(dataset, "flowoct", 2, encoding="thresholds", constraints=("monotone[f,positive=p]",))
    encoded, (given_,) = problem.encoded, problem.constraints
    found = [pair.tolist() for pair in monotone._neighbours(encoded, given_)]
    mine = np.array([test.feature == 0 for test in encoded.splits])
    rows = {}
    for row, answers in enumerate(encoded.X.tolist()):
        of_others = tuple(answer for answer, own in zip(answers, mine) if not own)
        rows.setdefault((of_others, sum(answer for answer, own in zip(answers, mine) if own)), row)
    ordered = sorted(rows)
    wanted = [[rows[low], rows[high]] for low, high in zip(ordered, ordered[1:]) if low[0] == high[0]]
    assert sorted(found) == sorted(wanted) and len(wanted) > 3 and (~mine).sum() > 64
