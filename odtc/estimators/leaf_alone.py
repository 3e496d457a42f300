"""The constraints of a tree that can only be a leaf: no depth, or no test that tells rows apart."""

from collections.abc import Sequence

import numpy as np

from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode
from odtc.data.splits import Splits
from odtc.errors import DataError, NoSolutionError
from odtc.problem.constraints.constraint import parse
from odtc.trees.heap_tree import HeapTree


def labels_that_keep(dataset: Dataset, scheme: str, cost: np.ndarray | None, texts: Sequence[str]) -> list[int]:
    """The labels with which one leaf alone satisfies the constraints.

    Parameters
    ----------
    dataset : Dataset
    scheme : str
        The encoding whose tests constraints may name.
    cost : float64 (classes, classes) or None
    texts : sequence of str
        The constraints.

    Returns
    -------
    list of int
        One at least.

    Raises
    ------
    ChoiceError
        If a constraint does not fit the data.
    NoSolutionError
        If there is none.
    """
    labels = list(range(max(1, len(dataset.classes))))
    if not texts:
        return labels
    encoded = _without_tests(dataset, scheme, cost)
    try:
        named = encode(dataset, scheme, by_column=True)
    except DataError:  # no test tells rows apart
        named = encoded
    for given in [parse(text, named) for text in texts]:
        kept = [k for k in labels if given.holds(given.module.value(encoded, given, _leaf(k)))]
        if not kept:
            together = "" if len(texts) == 1 else f" together with {'; '.join(texts)}"
            raise NoSolutionError(
                f"proved: no tree without a branch node keeps {given}{together}, and there is no other, as the "
                "depth is 0 or no test tells rows apart; relax it, or allow more depth or other columns"
            )
        labels = kept
    return labels


def _leaf(label: int) -> HeapTree:
    return HeapTree(np.array([-1, -1], np.int32), np.array([-1, label], np.int32))


def _without_tests(dataset: Dataset, scheme: str, cost: np.ndarray | None) -> Encoded:
    """Each row of the data as it is, and nothing to ask."""
    n = dataset.n_rows
    return Encoded(
        name=dataset.name,
        X=np.zeros((n, 0), bool),
        y=dataset.y.copy(),
        weight=dataset.weight.copy(),
        copies=np.ones(n, np.int64),
        row_of=np.arange(n),
        tests=Splits.of([]),
        ones_left=np.zeros(0, bool),
        features=dataset.features,
        classes=dataset.classes,
        target=dataset.target,
        missing=dataset.missing,
        stands_for=(),
        scheme=scheme,
        dataset=dataset,
        cost=None if cost is None else cost.copy(),
        task=dataset.task,
    )
