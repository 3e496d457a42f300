"""Drawn tables that the generator of the laws lacks (missing cells in several columns of numbers and levels, prices of
each pair of classes, an auxiliary group column, up to three constraints), against a brute force of its own in whole
numbers.

Of the package it takes the answers of the rows to the tests, and nothing that a constraint means.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import odtc
from odtc.errors import NoSolutionError
from tests.pipeline import pose

SEEDS = range(200) if os.environ.get("ODTC_ALL_CELLS") else range(12)
CLASSES = ("no", "odd", "yes")
READING = {"auxiliary": ("g",), "missing": "separate"}
SPLITS = "auto:levels=8"  # all sets of levels


@dataclass
class Drawn:
    """A table, and what it is for the brute force: cells by column, classes y, group g, prices (true, predicted)."""

    cells: dict[str, np.ndarray]
    y: np.ndarray
    g: np.ndarray
    price: np.ndarray

    @property
    def frame(self):
        columns = {name: list(column) for name, column in self.cells.items()}
        groups = {"g": ["uv"[one] for one in self.g], "y": [CLASSES[one] for one in self.y]}
        return pytest.importorskip("pandas").DataFrame(columns | groups)


@dataclass
class Tree:
    """Nodes as (depth, test, whether its answers lead to different classes), leaves as (rows, label), predictions."""

    nodes: list[tuple[int, int, bool]]
    leaves: list[tuple[np.ndarray, int]]
    said: np.ndarray


def drawn(seed: int) -> Drawn | None:
    rng = np.random.default_rng(seed)
    n, K, cells = int(rng.integers(7, 12)), int(rng.choice([2, 2, 3])), {}
    for j in range(int(rng.integers(2, 4))):
        if rng.random() < 0.6:
            cells[f"c{j}"] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 3, n))
        else:
            cells[f"c{j}"] = np.where(rng.random(n) < 0.15, None, np.array(list("abc"), object)[rng.integers(0, 3, n)])
    price = rng.integers(1, 4, (3, 3)) if rng.random() < 0.6 else np.ones((3, 3), int)
    y, g = rng.integers(0, K, n), rng.integers(0, 2, n)
    if len(set(y)) < K or len(set(g)) < 2:
        return None
    return Drawn(cells, y if K == 3 else 2 * y, g, price * (1 - np.eye(3, dtype=int)))


def constraints(data: Drawn, rng: np.random.Generator, answers: np.ndarray, of: list[str]) -> dict[str, Callable]:
    """{text: whether a tree satisfies it} of each kind, with numbers drawn."""
    k = int(rng.choice(np.unique(data.y)))
    tenths, few, name = int(rng.integers(2, 10)), int(rng.integers(1, 3)), CLASSES[k]
    a, b = rng.permutation(list(data.cells))[:2]
    mine, n, share = data.y == k, len(data.y), tenths / 10

    def right(tree):
        return tree.said == data.y

    def apart_by_tenths(tree):
        (one, of_one), (two, of_two) = [((tree.said == k)[data.g == v].sum(), (data.g == v).sum()) for v in (0, 1)]
        return 10 * abs(one * of_two - two * of_one) <= tenths // 3 * of_one * of_two

    def rises(tree):
        others = answers[[place for place, column in enumerate(of) if column != a]]
        alike = (others[:, :, None] == others[:, None, :]).all(axis=0)
        more = data.cells[a][:, None] < data.cells[a][None, :]
        return not (alike & more & (tree.said == k)[:, None] & (tree.said != k)[None, :]).any()

    def columns(tree, telling=False):
        return {of[test] for _, test, tells in tree.nodes if tells or not telling}

    found = {
        f"recall[{name}] >= {share:g}": lambda t: 10 * (mine & (t.said == k)).sum() >= tenths * mine.sum(),
        f"precision[{name}] >= {share:g}": lambda t: 10 * (mine & (t.said == k)).sum() >= tenths * (t.said == k).sum(),
        f"accuracy >= {share:g}": lambda t: 10 * right(t).sum() >= tenths * n,
        f"group_accuracy[group=g] >= {share:g}": lambda t: all(
            10 * (right(t) & (data.g == v)).sum() >= tenths * (data.g == v).sum() for v in (0, 1)
        ),
        f"statistical_parity[group=g,positive={name}] <= {tenths // 3 / 10:g}": apart_by_tenths,
        f"leaf_rows >= {few}": lambda t: all(rows.sum() >= few for rows, _ in t.leaves),
        f"leaf_class_rows[{name}] >= {few}": lambda t: all(
            label != k or (rows & mine).sum() >= few for rows, label in t.leaves
        ),
        f"leaf_precision >= {share:g}": lambda t: all(
            10 * (rows & (data.y == label)).sum() >= tenths * rows.sum() for rows, label in t.leaves
        ),
        f"class_leaves[{name}] <= {few}": lambda t: sum(label == k for _, label in t.leaves) <= few,
        f"cost <= {tenths}": lambda t: cost(data, t) <= tenths,
        f"features <= {few}": lambda t: len(columns(t)) <= few,
        f"splits <= {few}": lambda t: len({test for _, test, _ in t.nodes}) <= few,
        f"branch_nodes <= {few}": lambda t: len(t.nodes) <= few,
        f"forbid_root[{a}]": lambda t: all(depth or of[test] != a for depth, test, _ in t.nodes),
        f"require_root[{a}]": lambda t: all(depth or of[test] == a for depth, test, _ in t.nodes),
        f"deepest[{a}] <= 0": lambda t: all(not depth or of[test] != a for depth, test, _ in t.nodes),
        f"shallowest[{a}] >= {few}": lambda t: all(depth >= few or of[test] != a for depth, test, _ in t.nodes),
        f"not_below[{a},{b}]": lambda t: (
            not any(
                depth and of[test] == a and any(not high and of[other] == b for high, other, _ in t.nodes)
                for depth, test, _ in t.nodes
            )
        ),
        f"together[{a},{b}]": lambda t: len(columns(t, telling=True) & {a, b}) != 1,
        f"never_together[{a},{b}]": lambda t: len(columns(t) & {a, b}) < 2,
    }
    if data.cells[a].dtype != object:
        found[f"monotone[{a},positive={name}]"] = rises
    return found


def cost(data: Drawn, tree: Tree) -> int:
    return int(data.price[data.y, tree.said].sum())


def every_tree(answers: np.ndarray, n: int, labels: list[int]) -> Iterator[Tree]:
    """All trees of depth 2 whose leaves hold rows."""
    tests, whole = [None, *range(len(answers))], np.ones(n, bool)
    shapes = [(None, None, None), *itertools.product(tests[1:], tests, tests)]
    for root, *below in shapes:
        ends = []
        for side, test in zip((answers[root], ~answers[root]) if root is not None else (), below):
            ends.append([side] if test is None else [side & answers[test], side & ~answers[test]])
        leaves = [rows for end in ends for rows in end] or [whole]
        if not all(rows.any() for rows in leaves):
            continue
        for label in itertools.product(labels, repeat=len(leaves)):
            said, at, nodes = np.zeros(n, int), 0, []
            for rows, one in zip(leaves, label):
                said[rows] = one
            for test, end in zip(below, ends):
                if test is not None:
                    nodes.append((1, test, label[at] != label[at + 1]))
                at += len(end)
            if root is not None:
                nodes.append((0, root, len(set(label)) > 1))
            yield Tree(nodes, list(zip(leaves, label)), said)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_tree_is_that_of_trying_every_one(seed):
    data, rng = drawn(seed), np.random.default_rng(1000 + seed)
    if data is None:
        return
    pairs = itertools.permutations(np.unique(data.y).tolist(), 2)
    prices = ",".join(f"{CLASSES[i]}:{CLASSES[j]}={data.price[i, j]}" for i, j in pairs)
    encoded = pose(data.frame, "dpflow", 2, encoding=SPLITS, reading=READING, constraints=("features <= 9",)).encoded
    answers = np.asarray(encoded.X)[encoded.row_of].T.astype(bool)
    of = [encoded.features[test.features[0]].name for test in encoded.splits]
    known = constraints(data, rng, answers, of)
    texts = tuple(rng.choice(list(known), int(rng.integers(1, 4)), replace=False).tolist())
    best = None
    for tree in every_tree(answers, len(data.y), np.unique(data.y).tolist()):
        if (best is None or cost(data, tree) < best) and all(known[text](tree) for text in texts):
            best = cost(data, tree)
    names = list(data.cells)
    estimator = odtc.OptimalTreeClassifier(max_depth=2, encoding=SPLITS, constraints=texts, cost=prices)
    asked = {"encoding": SPLITS, "reading": READING, "constraints": texts, "cost": prices}
    fits = (
        lambda: odtc.fit(data.frame, "dpflow", 2, **asked).facts["objective"],
        lambda: estimator.fit(data.frame[names], data.frame["y"], auxiliary=data.frame[["g"]]).objective_,
    )
    for fitted in fits:
        try:
            assert fitted() == best, texts
        except NoSolutionError as none:
            assert best is None and none.outcome.solution.termination == "infeasible", texts
