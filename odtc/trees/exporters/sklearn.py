"""A tree over numbers as a fitted `DecisionTreeClassifier`, or `DecisionTreeRegressor` if its leaves predict numbers,
pickled. If some columns of the data are not numeric, it is a Pipeline that first selects the columns that the tree
uses.

scikit-learn rounds the cells to 32 bits and compares them with a threshold of 64 bits, so it predicts the same as this
tree for all cells that are exact in 32 bits. A set of numbers becomes a pair of thresholds around each.
"""

import pickle
from dataclasses import replace
from math import inf, nextafter

import numpy as np

from odtc.base.text import some
from odtc.data.dataset import NUMERIC
from odtc.data.splits import Missing, Subset, Threshold
from odtc.data.task import TASKS
from odtc.data.tasks import regression
from odtc.errors import ChoiceError
from odtc.trees.tree import Branch, Leaf, Tree

NAME = "sklearn"
SUMMARY = "a pickled DecisionTreeClassifier or DecisionTreeRegressor of scikit-learn, for trees over numbers"
SUFFIX = "pkl"
NUMBERS = True

NOTE = "scikit-learn rounds cells to 32 bits before it compares them, so cells near a threshold may go the other way"
MAX_NODES = 1_000_000  # nodes, so that nested sets of many numbers end in a sentence


def write(tree: Tree) -> bytes:
    return pickle.dumps(estimator(tree))


def estimator(tree: Tree):
    """Return the fitted DecisionTreeClassifier, which supports `predict`, `predict_proba`, `score` and everything else
    in scikit-learn.

    `classes_` are the labels, of the type that they have in the data, in scikit-learn's order. The shares of a leaf are
    its shares of training weight, unless its label does not have the greatest share (under costs): then its label has
    the share 1. If the leaves predict numbers, it is a DecisionTreeRegressor. A missing cell goes right at a threshold,
    although this tree may refuse it. With columns that are not numeric it is a Pipeline, in which a ColumnTransformer
    takes the columns used from a data frame.

    Raises ChoiceError for other splits, and if there is no numeric column.
    """
    if all(feature.kind == NUMERIC for feature in tree.features):
        return _fitted(tree)
    from sklearn.pipeline import Pipeline

    for node, _ in tree.walk():
        if isinstance(node, Branch):
            _compared(node, tree)  # it refuses splits that are not on a number
    numeric = [place for place, feature in enumerate(tree.features) if feature.kind == NUMERIC]
    asked = sorted(tree.used) or numeric[:1]  # scikit-learn expects one column or more
    if not asked:
        raise ChoiceError(
            f"a tree of scikit-learn takes a column of numbers, and {tree.features[0].name!r} is none, nor any other "
            "column; export to python, onnx or pmml"
        )
    fitted = _fitted(_over(tree, asked))
    del fitted.feature_names_in_  # it gets an array
    return Pipeline([("columns", _chosen(tree.features, asked)), ("tree", fitted)])


def remarks(tree: Tree, X: np.ndarray) -> list[str]:
    """Report which marks of missing cells scikit-learn does not know, and for how many of the rows its predictions
    differ, because it rounds their cells."""
    marks = list(dict.fromkeys(mark for place in sorted(tree.used) for mark in tree.features[place].missing_marks))
    unknown = [f"scikit-learn does not know marks of missing cells ({some(marks)}); replace them by NaN first"] * bool(
        marks
    )
    known = X if tree.missing == "separate" else X[~np.isnan(X[:, sorted(tree.used)]).any(axis=1)]
    with np.errstate(over="ignore"):
        rounded = known.astype(np.float32).astype(np.float64)
    changed = int((tree.answers(rounded) != tree.answers(known)).sum())
    if not changed:
        return unknown
    return [
        *unknown,
        f"scikit-learn predicts {changed} of {len(known)} training rows otherwise than the tree, because it rounds "
        "cells to 32 bits; export to python, onnx or pmml, which compare in 64 bits",
    ]


def _over(tree: Tree, asked: list[int]) -> Tree:
    """Return the tree over these columns only."""

    def node(part):
        if isinstance(part, Leaf):
            return part
        split = replace(part.split, feature=asked.index(part.split.feature))
        return Branch(split, node(part.left), node(part.right))

    return replace(tree, root=node(tree.root), features=tuple(tree.features[place] for place in asked))


def _chosen(features, asked: list[int]):
    """Return a fitted ColumnTransformer from data frames with all these columns to those that are used."""
    from sklearn.compose import ColumnTransformer

    from odtc.data.frames import row_of  # it loads polars

    names = [features[place].name for place in asked]
    chosen = ColumnTransformer([("asked", "passthrough", names)], verbose_feature_names_out=False)
    return chosen.fit(row_of(features))


def _fitted(tree: Tree):
    """Return the result of `estimator` for numeric columns only."""
    # A second's import, which a list of exporters does without.
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import NODE_DTYPE
    from sklearn.tree._tree import Tree as Nodes

    records, values = _records(tree)
    of_numbers, width = TASKS.get(tree.task).NUMBERS, len(values[0])
    nodes = np.zeros(len(records), dtype=NODE_DTYPE)
    fields = (
        "left_child",
        "right_child",
        "feature",
        "threshold",
        "impurity",
        "n_node_samples",
        "weighted_n_node_samples",
        "missing_go_to_left",
    )
    for name, column in zip(fields, zip(*records)):
        nodes[name] = column
    # As scikit-learn sorts classes.
    order = np.zeros(1, np.intp) if of_numbers else np.argsort(np.array(tree.labels), kind="stable")
    inside = Nodes(len(tree.features), np.array([width], dtype=np.intp), 1)
    shares = np.ascontiguousarray(np.array(values)[:, None, order])
    inside.__setstate__({"max_depth": _depth(records), "node_count": len(nodes), "nodes": nodes, "values": shares})
    fitted = (DecisionTreeRegressor if of_numbers else DecisionTreeClassifier)(max_depth=max(1, _depth(records)))
    fitted.tree_, fitted.n_outputs_, fitted.n_features_in_, fitted.max_features_ = (
        inside,
        1,
        len(tree.features),
        len(tree.features),
    )
    if not of_numbers:
        fitted.classes_, fitted.n_classes_ = np.array(tree.labels)[order], width
    fitted.notes_ = (NOTE,)
    fitted.feature_names_in_ = np.array([feature.name for feature in tree.features], dtype=object)
    return fitted


def _records(tree: Tree) -> tuple[list[list], list[np.ndarray]]:
    """Return the fields of each node as scikit-learn numbers the nodes, and its number or its shares of the classes."""
    records, values, of_numbers = [], [], TASKS.get(tree.task).NUMBERS
    width = 1 if of_numbers else len(tree.classes)

    def add(node) -> int:
        number = len(records)
        if number > MAX_NODES:
            raise ChoiceError(
                f"expected a tree that scikit-learn needs at most {MAX_NODES:,} nodes for; sets of numbers take two "
                f"thresholds for each"
            )
        if isinstance(node, Leaf):
            value = np.array([tree.answer(node)]) if of_numbers else _shares(node, tree)
            impurity = _squares(node, tree) if of_numbers else _gini(value)
            records.append([-1, -1, -2, -2.0, impurity, sum(node.rows), sum(node.counts), 0])
            values.append(value)
            return number
        feature, threshold, left, right, absent_left = _compared(node, tree)
        records.append([0, 0, feature, threshold, 0.0, sum(node.rows), sum(node.counts), absent_left])
        values.append(np.zeros(width))
        below = records[number][:2] = add(left), add(right)
        weights = np.array([max(records[child][6], 1e-300) for child in below])
        weights /= weights.sum()
        values[number] = weights @ np.array([values[child] for child in below])
        apart = sum(
            share * (records[child][4] + float(values[child][0] - values[number][0]) ** 2)
            for share, child in zip(weights, below)
        )
        records[number][4] = apart if of_numbers else _gini(values[number])
        return number

    add(tree.root)
    return records, values


def _shares(leaf: Leaf, tree: Tree) -> np.ndarray:
    """Return the share of each class in the leaf, float64 (classes,)."""
    shares, own = np.array(leaf.counts or (0.0,) * len(tree.classes)), np.eye(len(tree.classes))[leaf.label]
    return shares / shares.sum() if shares.sum() and shares.argmax() == leaf.label else own


def _gini(shares: np.ndarray) -> float:
    """Return the Gini impurity of a node with these shares of the classes, as in scikit-learn's nodes."""
    return max(0.0, float(1 - (shares**2).sum()))


def _squares(leaf: Leaf, tree: Tree) -> float:
    """Return the mean squared error of the rows of a leaf around its mean; 0 for a leaf without it."""
    if tree.task != regression.NAME or not leaf.sums or not leaf.sums[1]:
        return 0.0
    return float(regression.leaf_costs(np.array(leaf.sums))) / leaf.sums[1]


def _compared(node: Branch, tree: Tree):
    """Return (feature, threshold, left, right, whether a missing cell goes left) of a branch node."""
    split = node.split
    if isinstance(split, (Threshold, Subset, Missing)) and tree.features[split.feature].kind == NUMERIC:
        if isinstance(split, Threshold):
            return split.feature, split.threshold, node.left, node.right, 0
        if isinstance(split, Missing):  # known cells are at most infinity
            return split.feature, inf, node.right, node.left, 0
        first, *others = sorted(split.values)
        rest = Branch(Subset(split.feature, tuple(others)), node.left, node.right) if others else node.right
        within = Branch(Threshold(split.feature, first), node.left, rest)
        return split.feature, nextafter(first, -inf), node.right, within, 1
    instead = "splits of one column each" if split.kind == "oblique" else "numbers alone"
    raise ChoiceError(
        "scikit-learn compares numbers with thresholds, and this tree has the split "
        f"{split.words(tree.features)[0]!r}; train on {instead}, or export to python, onnx or pmml"
    )


def _depth(records) -> int:
    depth = [0] * len(records)
    for number, record in enumerate(records):
        for child in record[:2]:
            if child > 0:
                depth[child] = depth[number] + 1
    return max(depth)
