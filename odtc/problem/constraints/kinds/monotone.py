"""Monotone predictions on the rows of the data: among rows that splits on other columns do not separate, the
prediction of a class rises with a column.

If no split on another column separates two rows, and the one with the smaller number is predicted as the class, so is
the other: [row i is predicted c] ≤ [row j is predicted c] for neighbours x_i < x_j.

If every threshold is a split, these rows differ only in this column. With fewer splits (bins), they are alike for
every tree over these splits, and the prediction for one of them with the number of the other is the prediction for the
other. The column is numeric and encoded by thresholds; rows without its number are not compared. The constraint is
about rows of the data, so no tree is lost, and it says nothing about inputs that no row has (monotonicity there
depends on all pairs of leaves whose boxes meet); `monotone_everywhere` includes all inputs, and rows of
hardly any weight (--weights) some of them.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from odtc.algorithms.equal_rows import equal_rows
from odtc.data.encoding import Encoded
from odtc.data.ranked_answers import RankedAnswers
from odtc.data.splits import Threshold
from odtc.errors import ChoiceError, SaysNothingError
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.kind import Constraint, Subject, Terms
from odtc.problem.constraints.on_features import feature_of
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.problem.constraints.rates import counting, positive_of
from odtc.trees.heap_tree import HeapTree

NAME = "monotone"
SUMMARY = (
    "monotone[FEATURE,positive=CLASS]: of two rows that differ only in this column (as far as the splits show), the "
    "one with the greater number is predicted as the class if the other is"
)
OPS = ()
SUBJECT = Subject.PREDICTIONS
MOST_LINES = 12  # neighbours that the search treats as sums; with more it checks every candidate tree


def read(encoded: Encoded, given: Constraint) -> Constraint:
    positive_of(encoded, given)
    feature = feature_of(encoded, given, given.args[0])
    if not any(isinstance(split, Threshold) for split in encoded.splits if split.features == (feature,)):
        raise ChoiceError(
            f"expected {str(given)!r} to name a column of numbers that is encoded by thresholds, got "
            f"{given.args[0]!r}, for which the encoding {encoded.scheme!r} has no threshold"
        )
    if not len(_neighbours(encoded, given)):
        raise SaysNothingError(
            f"expected two rows that differ only in {given.args[0]!r} for {str(given)!r}, got none, so it does not "
            f"apply to this data; '{given.name}_everywhere{str(given).removeprefix(given.name)}' requires it for all "
            "inputs",
            given.args[0],
        )
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    low, high = _neighbours(encoded, given).T
    said = predicted(encoded, heap) == positive_of(encoded, given)
    return float((said[low] & ~said[high]).sum())


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    k, unit = positive_of(encoded, given), np.eye(encoded.n_rows, dtype=np.int64)
    return [(counting(encoded, unit[low] - unit[high], k), 0) for low, high in _neighbours(encoded, given)]


def _neighbours(encoded: Encoded, given: Constraint) -> np.ndarray:
    """Return int64 (pairs, 2): the encoded rows, one of each kind, that follow one another in this column."""
    feature = feature_of(encoded, given, given.args[0])
    found: np.ndarray = encoded.derived(("neighbours", feature), lambda: _found(encoded, feature))
    return found


def _found(encoded: Encoded, feature: int) -> np.ndarray:
    own = np.array(
        [
            all(one.features == (feature,) for one in (split, *(one for one, _ in same)))
            for split, same in zip(encoded.splits, encoded.stands_for)
        ]
    )
    rises = own & np.array([isinstance(split, Threshold) for split in encoded.splits])
    rank = _ones(encoded.X, np.flatnonzero(rises))
    lacking = encoded.X[:, own & ~rises].any(axis=1)
    alike, _ = equal_rows(_codes(encoded.X, np.flatnonzero(~own)))
    _, first = np.unique((alike * (rank.max(initial=0) + 1) + rank)[~lacking], return_index=True)
    row = np.flatnonzero(~lacking)[first]
    follows = alike[row[1:]] == alike[row[:-1]]
    return np.stack([row[:-1][follows], row[1:][follows]], axis=1)


def _ones(X: np.ndarray | RankedAnswers, splits: np.ndarray) -> np.ndarray:
    """Return int64 (rows,): for how many of some splits each row has the result 1."""
    return X.codes(splits) if isinstance(X, RankedAnswers) else X[:, splits].sum(axis=1)


def _codes(X: np.ndarray | RankedAnswers, splits: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Return parts that together determine which rows have equal results for some splits: (int64 (rows,), a number
    above them) each."""
    yield np.zeros(len(X), np.int64), 1  # without splits all rows are equal
    if not isinstance(X, RankedAnswers):
        yield from ((X[:, split].astype(np.int64), 2) for split in splits)
        return
    for scale in np.unique(X.scale[splits]):
        code = X.codes(splits[X.scale[splits] == scale])
        yield code, int(code.max(initial=0)) + 1


def terms(encoded: Encoded, given: Constraint) -> Terms:
    """Return the terms of the search: a line for each pair of neighbours, or a check of every tree if these are too
    many for multipliers."""
    if len(_neighbours(encoded, given)) > MOST_LINES:
        return Terms(checked=True)
    return Terms(lines=tuple(answers(encoded, given)))


def reference(encoded: Encoded, given: Constraint) -> Reference:
    data, klass = encoded.dataset, encoded.classes.index(given.args[1].partition("=")[2])
    place = [feature.name for feature in data.features].index(given.args[0])
    numbers, others = data.X[:, place].tolist(), np.delete(data.X, place, axis=1)
    others = np.where(np.isnan(others), np.inf, others).tolist()  # rows with two missing cells are equal there

    def rises(predicted: Sequence[int]) -> bool:
        told = list(zip(numbers, others, predicted))
        return not any(
            low < high and alike == other and one == klass != two
            for low, alike, one in told
            for high, other, two in told
        )

    return Reference(predictions=rises)
