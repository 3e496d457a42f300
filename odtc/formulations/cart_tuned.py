"""CART*, tuned: the best of 80 settings by cross-validation, then fitted to all rows.

Firat et al. (2020), "Column generation based heuristic for learning classification trees", §6.1 and Table 3: 2
criteria, 4 least sizes of a node to split, 5 least sizes of a leaf, classes weighted equally or by their size;
exhaustive search, 10 folds.
"""

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.cost_matrix import unit_cost
from odtc.heuristics.heuristic import splits_of
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

NAME = "cart_tuned"
TITLE = "CART*: CART with 80 settings tried by 10-fold cross-validation; a learner without a model"
PAPER = (
    "Firat, Crognier, Gabor, Hurkens & Zhang (2020), Column generation based heuristic for learning "
    "classification trees"
)

GRID = {
    "criterion": ["gini", "entropy"],
    "min_samples_split": [0.02, 0.05, 0.1, 0.2],
    "min_samples_leaf": [0.01, 0.05, 0.1, 0.2, 1],
    "class_weight": ["balanced", None],
}
ANY_COST = True


@value_class
class Params:
    folds: int = parameter(10, "folds of the cross-validation; never more than there are rows", least=2)
    seed: int = parameter(0, "of the folds", least=0)
    merge: bool = merge_rows()


def tree(problem: Problem) -> HeapTree:
    """Return the tree of the best setting. Leaves have the labels of CART, which with balanced classes need not be the
    most frequent; if costs are given, they have the cheapest labels."""
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.tree import DecisionTreeClassifier

    encoded = problem.encoded
    # Merged rows are rows again, or a fold would hold all copies of a row or none.
    rows = np.repeat(np.arange(encoded.n_rows), encoded.copies)
    X, y = encoded.X[rows].astype(np.float32), encoded.y[rows]
    # The weight of a row is the average cost of an error on it; if error costs differ, a fold is scored by its loss.
    mean = encoded.cost.sum(axis=1) / (len(encoded.classes) - 1)
    weight = (encoded.weight * mean[encoded.y] / np.maximum(encoded.copies, 1))[rows]
    alike = (encoded.cost == unit_cost(len(encoded.classes))).all()

    def score(model, X, y, sample_weight=None):
        lost = encoded.cost[y, model.predict(X)]
        if sample_weight is None:
            return -lost.mean()
        return -(lost / np.where(mean > 0, mean, 1)[y] * sample_weight).mean()

    folds = KFold(min(problem.params.folds, len(rows)), shuffle=True, random_state=problem.params.seed)
    search = GridSearchCV(
        DecisionTreeClassifier(max_depth=problem.topology.depth, random_state=0),
        GRID,
        cv=folds,
        scoring=None if alike else score,
    )
    search.fit(X, y, sample_weight=weight)
    best = search.best_estimator_
    split = splits_of(best, problem.topology)
    label = np.full(len(split), -1, np.int32)
    # CART's prediction for a representative row of each leaf is the label of the leaf.
    reached = HeapTree(split, label).reach(encoded.X)
    ends, first = np.unique(reached, return_index=True)
    label = label.copy()
    label[ends] = best.predict(encoded.X[first].astype(np.float32))
    return settle(split, encoded, label if alike else None)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return the loss."""
    return heap.loss(problem.encoded)
