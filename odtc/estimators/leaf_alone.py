"""The best tree of data on which every tree is a single leaf: no depth, or no split that separates rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode, without_splits
from odtc.data.task import priced
from odtc.errors import DataError, NoSolutionError
from odtc.model.feasibility import Check, is_close
from odtc.problem.constraints.constraint import parse
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree


def best_leaf(
    dataset: Dataset, scheme: str, texts: Sequence[str], cost: np.ndarray | None = None
) -> tuple[Tree, float]:
    """Return the tree of one leaf with the least loss among those that satisfy the constraints, and this loss.

    Parameters
    ----------
    dataset : Dataset
    scheme : str
        The encoding whose splits constraints may name.
    texts : sequence of str
        The constraints.
    cost : float64 (classes, classes) or None
        The cost of predicting column for row; None for the costs of the task.

    Raises
    ------
    ChoiceError
        If a constraint does not fit the data.
    NoSolutionError
        If no leaf satisfies them.
    """
    encoded = without_splits(dataset, scheme)
    encoded = priced(encoded) if cost is None else replace(encoded, cost=cost.copy())
    kept = _labels_that_keep(encoded, texts)
    paid = np.bincount(encoded.y, encoded.weight, len(encoded.classes)) @ encoded.cost
    heap = _leaf(kept[int(paid[kept].argmin())])
    return heap.to_tree(encoded), heap.loss(encoded)


def _labels_that_keep(encoded: Encoded, texts: Sequence[str]) -> list[int]:
    """Return the labels with which a single leaf satisfies the constraints, at least one; raises NoSolutionError if
    there is none."""
    labels = list(range(len(encoded.classes)))
    if not texts:
        return labels
    try:
        named = encode(encoded.dataset, encoded.scheme, by_column=True)
    except DataError:  # no split separates rows
        named = encoded
    for given in [parse(text, named) for text in texts]:
        kept = [k for k in labels if given.holds(given.module.value(encoded, given, _leaf(k)))]
        if not kept:
            together = "" if len(texts) == 1 else f" together with {'; '.join(texts)}"
            raise NoSolutionError(
                f"proved: no tree without a branch node satisfies {given}{together}, and every tree is a single leaf, "
                "because the depth is 0 or no split separates rows; relax it, or allow more depth or other columns"
            )
        labels = kept
    return labels


def checks_alone(only: bool, said: Tree, found: Tree, costs: tuple[float | None, float | None, float]) -> list[Check]:
    """Compare the claims for a tree that can only be a leaf with the results on these rows.

    Parameters
    ----------
    only : bool
        Whether every possible tree is a leaf.
    said, found : Tree
        The tree of the estimator, and the cheapest leaf of these rows that satisfies the constraints.
    costs : (float or None, float or None, float)
        The objective and the bound that were claimed, and the cost of that leaf.
    """
    (claimed, bound, paid), one, two = costs, said.root, found.root

    def near(name: str) -> bool:
        told, again = (np.array(getattr(leaf, name), float) for leaf in (one, two))
        size = float(np.abs(again).max(initial=1.0))
        return told.shape == again.shape and np.allclose(told, again, rtol=1e-9, atol=1e-9 * size)

    answers = said.answer(one), found.answer(two)
    apart = "and every tree is a leaf" if only else "but the depth or a split allows other trees"
    return [
        Check("only tree", only, f"a single leaf, {apart}"),
        Check(
            "leaf counts", all(map(near, ("counts", "rows", "sums"))), f"the leaf holds weight {sum(one.counts):.10g}"
        ),
        Check("answer", same(*answers), f"the leaf answers {answers[0]}, {answers[1]} by these rows"),
        Check("objective", claimed is not None and is_close(paid, claimed), f"it costs {paid:.10g}, claimed {claimed}"),
        Check("bound", bound is not None and (bound <= paid or is_close(bound, paid)), f"the claimed bound is {bound}"),
    ]


def same(one, two) -> bool:
    """Return whether two answers are the same label, or numbers that differ only by rounding."""
    if isinstance(one, str) or isinstance(two, str):
        return bool(one == two)
    return abs(one - two) <= 1e-9 * max(1.0, abs(two))


def _leaf(label: int) -> HeapTree:
    return HeapTree(np.array([-1, -1], np.int32), np.array([-1, label], np.int32))
