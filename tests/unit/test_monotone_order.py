"""Leaves as boxes: whether a tree rises with a column for all inputs."""

from itertools import product

import numpy as np

from odtc.data.dataset import Feature
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.trees.monotone_order import falling_pairs
from odtc.trees.tree import Branch, Leaf, Tree


def test_a_tree_rises_if_it_does_for_all_inputs_of_a_grid():
    """Drawn trees over two columns of numbers and one of levels, against every pair of inputs of a grid."""
    features = (Feature("a", "numeric"), Feature("b", "numeric"), Feature("c", "categorical", ("u", "v")))
    numbers, levels = [-1.0, 0.5, 1.5, np.nan], [0.0, 1, -1, np.nan]
    grid = np.array(list(product(numbers, numbers, levels)))
    seen = set()
    for seed in range(120):
        random = np.random.default_rng(seed)

        def node(depth, random=random):
            if depth == 0 or random.random() < 0.2:
                return Leaf(int(random.integers(2)), (1.0, 1.0), (1, 1))
            at = int(random.integers(3))
            some = (Threshold(at, float(random.integers(2))), Missing(at)) if at < 2 else ()
            some = some or (Subset(at, (int(random.integers(2)),)), Missing(at))
            return Branch(some[int(random.random() < 0.25)], node(depth - 1), node(depth - 1))

        tree = Tree(node(3), features, ("n", "p"), "y", "separate")
        said = tree.predict(grid).reshape(4, 4, 4)
        for place in (0, 1):
            told = np.moveaxis(said, place, 0)[:3]  # of inputs that lack the number nothing is asked
            rises = not (told[:-1] > told[1:]).any()
            assert (falling_pairs(tree.root, features, place, 1) == 0) == rises, (seed, place)
            falls = not (told[:-1] < told[1:]).any()
            assert (falling_pairs(tree.root, features, place, 0) == 0) == falls, (seed, place)
            seen.add(rises)
    assert seen == {True, False}
    leaves = Leaf(0, (1.0, 1.0), (1, 1)), Leaf(1, (1.0, 1.0), (1, 1))
    for split in (Subset(0, (1.0,)), Oblique((Term(0, 1.0), Term(1, 1.0)), 0.5)):
        assert falling_pairs(Branch(split, *leaves), features, 0, 1) is None
