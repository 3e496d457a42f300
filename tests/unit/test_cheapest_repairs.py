"""Repairs of a tree make the cheapest change among those that they may try, by definition, over drawn trees."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.problem.constraints import on_features
from odtc.problem.constraints.by_definition import BOUNDS
from odtc.problem.constraints.constraint import broken, mended, posed
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.trees.heap_tree import HeapTree, settle
from tests import pipeline

N = 20
NAMES = ("f0", "f1", "f2")


def table(n_classes=3, columns=3) -> Dataset:
    random = np.random.default_rng(5)
    X = np.column_stack([random.integers(0, 4, N), random.integers(0, 3, N), random.integers(0, 2, N)]).astype(float)
    features = (
        Feature("f0", "numeric"),
        Feature("f1", "categorical", ("a", "b", "c")),
        Feature("f2", "categorical", ("u", "v")),
    )
    y, weight = random.integers(0, n_classes, N).astype(np.int32), random.choice([1.0, 2.0, 5.0], N)
    dataset = Dataset("d", X[:, :columns], y, features[:columns], tuple("xyz"[:n_classes]), weight)
    side = Feature("side", "categorical", ("p", "q")), random.integers(0, 2, (N, 1)).astype(float)
    return replace(dataset, auxiliary=side[:1], auxiliary_X=side[1])


def problem_with(text: str):
    plain = pipeline.pose(table(), "dpflow", 3, constraints=("features <= 3",))
    return posed(replace(plain, constraints=()), [text])


def trees(encoded, n: int, depth=3):
    random = np.random.default_rng(1)
    for _ in range(n):
        test, label = np.full(2 ** (depth + 1), -1, np.int32), np.full(2 ** (depth + 1), -1, np.int32)
        for t in range(1, 2 ** (depth + 1)):
            if t == 1 or test[t // 2] >= 0:
                test[t] = random.integers(encoded.n_candidate_splits) if t < 2**depth and random.random() < 0.85 else -1
                label[t] = -1 if test[t] >= 0 else random.integers(len(encoded.classes))
        yield settle(test, encoded, label)


def column(encoded, test: int) -> str:
    return NAMES[encoded.splits[test].features[0]]


def ways(encoded, text: str, heap) -> list[list[int]]:
    """The groups of branch nodes of which a repair takes one away, by the kind of a constraint."""
    asking = np.flatnonzero(heap.split >= 0).tolist()
    kind, named = text.split("[")[0].split()[0], text.partition("[")[2].partition("]")[0].split(",")
    of = {t: column(encoded, heap.split[t]) for t in asking}
    if kind in ("branch_nodes", "leaves"):
        return [[t] for t in asking if 2 * t not in asking and 2 * t + 1 not in asking]
    if kind == "splits":
        return [[t for t in asking if heap.split[t] == test] for test in {heap.split[t] for t in asking}]
    if kind == "not_below":
        above = {t: [t >> up for up in range(1, t.bit_length())] for t in asking}
        return [[t] for t in asking if of[t] == named[0] and any(of[s] == named[1] for s in above[t])]
    columns = set(of.values()) & (set(named) if kind == "never_together" else {*NAMES})
    return [[t for t in asking if of[t] == name] for name in columns]


@pytest.mark.parametrize(
    "text",
    [
        "branch_nodes <= 3",
        "leaves <= 3",
        "splits <= 3",
        "features <= 2",
        "features <= 1",
        "never_together[f0,f1]",
        "never_together[f0,f1,f2]",
        "not_below[f0,f1]",
        "not_below[f0,f0]",
    ],
)
def test_what_is_taken_away_is_what_is_missed_least_one_part_after_another(text):
    problem, seen = problem_with(text), 0
    encoded = problem.encoded

    def ends(heap) -> set[float]:
        """What the tree may cost in the end, by each of the parts that are missed as little."""
        if not broken(problem, heap):
            return {heap.loss(encoded)}
        without = []
        for nodes in ways(encoded, text, heap):
            test = heap.split.copy()
            test[nodes] = -1
            without.append(settle(test, encoded, None))
        least = min(tree.loss(encoded) for tree in without)
        return set().union(*(ends(tree) for tree in without if tree.loss(encoded) == least))

    for heap in trees(encoded, 40):
        found, may = mended(problem, heap), ends(heap)
        assert found.loss(encoded) in may and not broken(problem, found)
        seen += found is not heap
    assert seen >= 6


@pytest.mark.parametrize("text", ["require_root[f1]", "require_root[f1,f2]", "forbid_root[f0]", "forbid_root[f0,f1]"])
def test_another_root_is_the_best_of_those_that_may_stand_there(text):
    problem, seen = problem_with(text), 0
    encoded, named = problem.encoded, text.partition("[")[2][:-1].split(",")
    may = [
        test
        for test in range(encoded.n_candidate_splits)
        if (column(encoded, test) in named) == text.startswith("require_root")
    ]
    for heap in trees(encoded, 40):
        if not broken(problem, heap):
            continue
        found, seen = mended(problem, heap), seen + 1
        rooted = [settle(np.append([-1, test], heap.split[2:]).astype(np.int32), encoded, None) for test in (-1, *may)]
        assert not broken(problem, found)
        assert found.loss(encoded) == min(tree.loss(encoded) for tree in rooted)
    assert seen >= 6


def test_of_very_many_roots_some_are_tried(monkeypatch):
    """Evenly spaced, the first and the last of them."""
    monkeypatch.setattr(on_features, "MOST_TRIED", 0)
    monkeypatch.setattr(on_features, "FEWEST_TRIED", 2)
    encoded = problem_with("require_root[f1]").encoded
    for allowed in (np.ones(encoded.n_candidate_splits, bool), np.arange(encoded.n_candidate_splits) % 2 == 1):
        may = np.flatnonzero(allowed)
        for heap in trees(encoded, 12):
            some = [-1, may[0], may[-1]]
            rooted = [settle(np.append([-1, at], heap.split[2:]).astype(np.int32), encoded, None) for at in some]
            found = on_features.with_root(encoded, heap, allowed)
            assert found.loss(encoded) == min(tree.loss(encoded) for tree in rooted)


@pytest.mark.parametrize(
    "text",
    [
        "class_leaves[x] <= 1",
        "class_leaves[y] <= 0",
        "leaf_precision >= 0.5",
        "leaf_precision[z] >= 0.7",
        "leaf_class_rows[x] >= 2",
    ],
)
def test_other_labels_are_the_cheapest_that_a_leaf_may_have(text):
    """By trying all labels of the leaves that rows reach; a leaf that may keep its label keeps it."""
    problem, seen = problem_with(text), 0
    encoded = problem.encoded
    for heap in trees(encoded, 40, depth=2):
        if not broken(problem, heap):
            continue
        found, end = mended(problem, heap), heap.reach(encoded.X)
        leaves = np.unique(end).tolist()
        cost = {t: encoded.loss[end == t].sum(axis=0) for t in leaves}
        own, may = {t: int(heap.label[t]) for t in leaves}, {}
        for t in leaves:
            rows = end == t
            weight, classes = encoded.weight[rows], encoded.y[rows]
            for k, name in enumerate(encoded.classes):
                part = weight[classes == k].sum()
                may[t, k] = {
                    "leaf_precision >= 0.5": part >= 0.5 * weight.sum(),
                    "leaf_precision[z] >= 0.7": name != "z" or part >= 0.7 * weight.sum() - 1e-9,
                    "leaf_class_rows[x] >= 2": name != "x" or encoded.copies[rows][classes == k].sum() >= 2,
                }.get(text, True)
        if text.startswith("class_leaves"):
            k, most = encoded.classes.index(text[13]), int(text[-1])
            mine = [t for t in leaves if own[t] == k]
            dearer = sorted(min(cost[t][j] for j in range(3) if j != k) - cost[t][k] for t in mine)
            least = sum(cost[t][own[t]] for t in leaves) + sum(dearer[: len(mine) - most])
        else:
            least = 0.0
            for t in leaves:
                allowed = [cost[t][k] for k in range(3) if may[t, k]]
                least += cost[t][own[t]] if may[t, own[t]] or not allowed else min(allowed)
        if found is None:  # a leaf that may have no label
            assert any(not any(may[t, k] for k in range(3)) for t in leaves)
            continue
        assert not broken(problem, found) and found.loss(encoded) == pytest.approx(least), text
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize(
    "text",
    [
        "accuracy >= 0.6",
        "recall[x] >= 0.8",
        "precision[y] >= 0.6",
        "false_positive_rate[x] <= 0.1",
        "group_accuracy[group=side] >= 0.3",
        "group_accuracy[group=f1] >= 0.3",
        "statistical_parity[group=f1,positive=x] <= 0",
        "equalised_odds[group=f1,positive=y] <= 0",
        "balanced_accuracy >= 0.5",
    ],
)
def test_labels_that_keep_a_share_are_found_if_one_leaf_keeps_it(text):
    """A tree is relabelled, or one leaf with a label that keeps the share; itself only if there is no such label."""
    problem, seen = problem_with(text), 0
    encoded, (given,) = problem.encoded, problem.constraints
    alone = []
    for label in range(3):
        test, labels = np.full(16, -1, np.int32), np.full(16, -1, np.int32)
        labels[1] = label
        alone.append(HeapTree(test, labels))
    may = [one.loss(encoded) for one in alone if not broken(problem, one)]
    for heap in trees(encoded, 60, depth=2):
        if not broken(problem, heap):
            continue
        found = given.module.mend(encoded, given, heap)
        if broken(problem, found):
            assert found is heap and not may
        elif not (found.split >= 0).any() and (heap.split >= 0).any():
            assert found.loss(encoded) in may
        seen += 1
    assert seen


CLASSES = ("x", "y", "z")
GROUPS = ["side", "f0", "f1", "f1:a", "f1:b|c", "f2"]
PAIRS = [*combinations(NAMES, 2), *combinations(NAMES, 3)]
TRIED = {
    **dict.fromkeys(("accuracy", "balanced_accuracy"), ([""], BOUNDS)),
    **dict.fromkeys(
        ("recall", "precision", "f1", "false_negative_rate", "false_positive_rate"),
        ([f"[{k}]" for k in CLASSES], BOUNDS),
    ),
    **dict.fromkeys(
        ("statistical_parity", "equal_opportunity", "predictive_equality", "equalised_odds"),
        ([f"[group={group},positive={k}]" for group in GROUPS for k in CLASSES], BOUNDS),
    ),
    "group_accuracy": ([f"[group={group}]" for group in GROUPS], BOUNDS),
    "leaf_precision": (["", *(f"[{k}]" for k in CLASSES)], BOUNDS),
    "leaf_class_rows": ([f"[{k}]" for k in CLASSES], range(4)),
    "class_leaves": ([f"[{k}]" for k in CLASSES], range(4)),
    "cost": ([""], (*range(7), 0.5, 2.25)),
    "leaf_rows": ([""], range(N + 1)),
    **dict.fromkeys(("branch_nodes", "splits", "features"), ([""], range(4))),
    "leaves": ([""], range(1, 4)),
    **dict.fromkeys(("deepest", "shallowest"), ([f"[{name}]" for name in NAMES], range(4))),
    **dict.fromkeys(("never_together", "together"), ([f"[{','.join(some)}]" for some in PAIRS], None)),
    "not_below": ([f"[{one},{two}]" for one, two in product(NAMES, NAMES)], None),
    **dict.fromkeys(
        ("require_root", "forbid_root"),
        ([f"[{','.join(some)}]" for n in (1, 2) for some in combinations(NAMES, n)], None),
    ),
    **dict.fromkeys(
        ("monotone", "monotone_everywhere"), ([f"[{name},positive={k}]" for name in NAMES for k in CLASSES], None)
    ),
}


@pytest.mark.parametrize("kind", CONSTRAINTS.names())
def test_what_a_kind_tries_is_all_that_it_says(kind):
    encoded = pipeline.pose(table(), "dpflow", 2, constraints=("features <= 3",)).encoded
    module, (args, bounds) = CONSTRAINTS.get(kind), TRIED[kind]
    ends = [""] if bounds is None else [f" {module.OPS[0]} {bound}" for bound in bounds]
    assert set(module.tries(encoded)) == {f"{kind}{arg}{end}" for arg in args for end in ends}
    if kind in ("never_together", "together"):  # of one column there is no pair
        alone = pipeline.pose(table(columns=1), "dpflow", 2).encoded
        assert module.tries(alone) == [f"{kind}[f0,f0]"]
