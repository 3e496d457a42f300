"""Halves of the classes at the nodes of a tree: each class has a leaf, and a hyperplane can part them."""

from itertools import product

import numpy as np
import pytest

from odtc.algorithms.hyperplanes.class_halves import class_halves
from odtc.algorithms.hyperplanes.penalised import Grower


def ends(halves, t: int = 1) -> list[tuple[int, ...]]:
    """The sets of classes that no node parts further."""
    return [
        end
        for side, part in enumerate(halves[t])
        for end in (ends(halves, 2 * t + side) if 2 * t + side in halves else [part])
    ]


def test_on_a_line_the_halves_are_intervals_of_half_of_the_classes():
    Z = np.repeat([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2.0], 9)[:, None]
    Z = Z + 0.001 * np.random.default_rng(0).normal(size=Z.shape)
    halves = class_halves(Z, np.repeat(np.arange(8), 9), np.ones(72), 3)
    assert sorted(map(sorted, halves[1])) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert sorted(ends(halves)) == [(k,) for k in range(8)]


@pytest.mark.parametrize("classes, depth", [(3, 2), (4, 2), (5, 3), (6, 3), (7, 3), (8, 3), (7, 4)])
def test_each_class_has_a_leaf_if_there_are_leaves_for_all(classes, depth):
    angle = 2 * np.pi * np.repeat(np.arange(classes), 10) / classes
    Z = 0.5 + 0.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    Z += 0.01 * np.random.default_rng(classes).normal(size=Z.shape)
    halves = class_halves(Z, np.repeat(np.arange(classes), 10), np.ones(len(Z)), depth)
    assert max(halves) < 2**depth
    assert sorted(ends(halves)) == [(k,) for k in range(classes)]
    for (
        left,
        right,
    ) in halves.values():  # of a circle a line cuts arcs: the classes of a part have no other between them
        around = [k for k in range(classes) if k in left + right]
        sides = [k in left for k in around]
        assert sum(one != other for one, other in zip(sides, sides[1:] + sides[:1])) == 2


def test_seven_classes_near_each_other_and_one_apart_have_a_leaf_each(monkeypatch):
    monkeypatch.setattr(Grower, "_searched", lambda self, Z, loss: [])
    centre = np.array(list(product((0.0, 1.0), repeat=3))) @ np.random.default_rng(3).normal(size=(3, 6))
    centre[7] += 4.0
    label = np.repeat(np.arange(8), 12)
    Z = centre[label] + 0.15 * np.random.default_rng(4).normal(size=(96, 6))
    low, high = np.quantile(Z, [0.05, 0.95], axis=0)
    tree = Grower(3, 0, False).paths((Z - low) / (high - low), 1.0 - np.eye(8)[label], np.inf, (1000.0,))[
        "tree", 1000.0
    ][0]
    assert tree.leaves == 8 and tree.loss <= 4
