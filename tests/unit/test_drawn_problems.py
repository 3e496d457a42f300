"""The problems that property tests draw include the odd tables and constraints that reveal errors."""

import numpy as np
from hypothesis import Phase, given, seed, settings

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.formulations.fair.discrimination import index
from odtc.testing.exhaustive import every_split
from odtc.testing.problems import constrained, datasets

OF = {
    "missing cells that are tested for": lambda data: data.missing == "separate" and np.isnan(data.X).any(),
    "a class whose rows weigh nothing": lambda data: 0.0 in np.bincount(data.y, data.weight)[np.unique(data.y)],
    "numbers that differ past the twelfth digit": lambda data: any(
        0 < high - low < 1e-12 for column in data.X.T for low, high in zip(np.unique(column), np.unique(column)[1:])
    ),
}


def drawn(strategy, examples: int) -> list:
    """What a strategy draws first."""
    found = []

    @seed(1)
    @settings(max_examples=examples, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def draw(one):
        found.append(one)

    draw()
    return found


def test_odd_tables_are_drawn():
    tables = drawn(datasets(), 60)
    assert [what for what, told in OF.items() if not any(map(told, tables))] == []


def test_constraints_on_paths_are_drawn_at_depth_3():
    assert any(problem.topology.depth == 3 for problem in drawn(constrained(("flowoct", {}), "not_below"), 20))


def test_the_judges_take_missing_cells_for_alike_and_rows_without_weight_for_none():
    """Two rows that lack the same cell are compared; a group without weight is not."""
    group, lacking = np.array([0.0, 1.0, 2.0]), np.full((3, 1), np.nan)
    weight = np.array([1.0, 1.0, 0.0])
    assert index(group, lacking, [0, 1, 0], weight) == index(group[:2], np.zeros((2, 1)), [0, 1], weight[:2]) == 2.0


def test_every_split_of_missing_cells():
    """They are at most no number and in no set; that they are missing is a split, too."""
    X = np.array([[0.0, 0.0], [1.0, 1.0], [np.nan, 2.0], [2.0, np.nan]])
    features = Feature("a", "numeric"), Feature("k", "categorical", ("u", "v", "w"))
    data = Dataset("d", X, np.array([0, 1, 0, 1], np.int32), features, ("n", "p"), np.ones(4), missing="separate")
    splits = {tuple(split) for split in every_split(data).T.tolist()}
    sent = [test.left(X) for test in encode(data).splits]
    assert all({tuple(left.tolist()), tuple((~left).tolist())} & splits for left in sent)
