"""Trees of hyperplanes that are chosen by held-out rows (odtc.algorithms.hyperplanes.held_out), for data beyond the
training rows: any number of leaves, down to the prediction of the majority.

Columns are scaled by their quantiles, so that a few numbers far out leave the others as they are.
"""

import math
import time

import numpy as np

from odtc.algorithms.hyperplanes.held_out import Choice, choose_tree, grown_candidates
from odtc.algorithms.hyperplanes.penalised import Grower, PrunedTree
from odtc.algorithms.hyperplanes.tree_alternating import unit_of
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.encoding import Encoded
from odtc.data.linear_terms import LinearTerms, raw_values
from odtc.data.splits import Oblique, Split, Subset
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError
from odtc.heuristics.separating_hyperplanes import build_tree, split_by_hyperplane
from odtc.trees.heap_tree import CompleteTree, HeapTree, prune

NAME = "regularised"
SUMMARY = "hyperplanes with a penalty, as many as held-out rows speak for (regularised:seconds=10,se=1,seed=0,sparse=1)"
OPTIONS = {
    "seconds": (float, "how long it may take (default 10)"),
    "se": (float, "standard errors that fewer leaves may be worse on held-out rows (default 1)"),
    "seed": (int, "of the folds and draws (default 0)"),
    "sparse": (int, "1 for hyperplanes of few columns, 0 for any number (default 1)"),
}


@value_class
class Candidate:
    """A tree, and its number of leaves before twins were merged; `penalty` is the C of its nodes, None for single
    columns."""

    heap: HeapTree
    leaves: int
    penalty: float | None


def tree(
    encoded: Encoded,
    topology: CompleteTree,
    price: float = 0.0,
    seconds: float = 10.0,
    se: float = 1.0,
    seed: int = 0,
    sparse: int = 1,
) -> HeapTree:
    """Return the chosen tree; a branch node that saves no more than `price` is left out. Raises ChoiceError for options
    out of range, or if the encoding holds rows for one whose numbers differ."""
    heap, _ = choose(encoded, topology, seconds=seconds, se=se, seed=seed, sparse=bool(sparse))
    return prune(heap, encoded, price) if price else heap


def choose(
    encoded: Encoded,
    topology: CompleteTree,
    *,
    seconds: float = 10.0,
    se: float = 1.0,
    seed: int = 0,
    sparse: bool = True,
    part: float = 0.5,
) -> tuple[HeapTree, Choice]:
    """Return (the chosen tree, the results of cross-validation).

    Columns that no hyperplane can weigh are split on individually. Numeric columns with missing cells may be weighed,
    too, if rows without the number then go right. Without a time limit, `seconds` are CPU time, so that other programs
    on the machine do not matter; with a limit, the search takes at most this share of the remaining time. Raises the
    exceptions of `tree`.
    """
    if not (seconds >= 0 and se >= 0) or seed < 0:
        raise ChoiceError(
            f"expected seconds, se and seed of 0 or more for the start {NAME!r}, got {seconds:g}, {se:g} and {seed}"
        )
    rows = _Scaled.of(encoded)
    choice = choose_tree(
        rows.Z,
        rows.loss,
        rows.weight,
        rows.grower(topology.depth, seed, sparse),
        encoded.copies,
        se=se,
        seconds=deadline.time_share(seconds, part),
    )
    choice = choice.in_units(unit_of(encoded.loss), unit_of(encoded.weight))
    return rows.heap(topology, choice.tree), choice


def candidates(
    encoded: Encoded, topology: CompleteTree, *, seconds: float, seed: int, sparse: bool, part: float
) -> list[Candidate]:
    """Return the trees that `choose` would have folds choose from, of all rows, for another judge; options as there."""
    rows = _Scaled.of(encoded)
    grown = grown_candidates(
        rows.Z,
        rows.loss,
        rows.grower(topology.depth, seed, sparse),
        encoded.copies,
        seconds=deadline.time_share(seconds, part),
    )
    return [Candidate(rows.heap(topology, tree), tree.leaves, penalty) for penalty, tree in grown]


@value_class
class _Scaled:
    """Rows in the form that nodes are fitted to: numbers for hyperplanes, scaled by quantiles; columns that are split
    on individually; and one indicator of missing cells per number that has some."""

    encoded: Encoded
    weighed: LinearTerms
    alone: "_Alone"

    @classmethod
    def of(cls, encoded: Encoded) -> "_Scaled":
        return cls(encoded, LinearTerms.encoded(encoded, gaps=True).by_quantiles(), _Alone.of(encoded))

    @property
    def gaps(self) -> np.ndarray:
        return np.flatnonzero(self.weighed.missing.any(axis=0))

    @property
    def Z(self) -> np.ndarray:
        return np.hstack([self.weighed.Z, self.alone.places, self.weighed.missing[:, self.gaps]])

    @property
    def loss(self) -> np.ndarray:
        return self.encoded.loss / unit_of(self.encoded.loss)

    @property
    def weight(self) -> np.ndarray:
        return self.encoded.weight / unit_of(self.encoded.weight)

    def grower(self, depth: int, seed: int, sparse: bool) -> Grower:
        """Without a time limit its clock is CPU time, so that other programs on the machine change nothing."""
        clock = time.thread_time if deadline.seconds_left() is None else time.monotonic
        return Grower(depth, seed, sparse, len(self.alone.splits), tuple(self.gaps), clock)

    def heap(self, topology: CompleteTree, chosen: PrunedTree) -> HeapTree:
        """Return the tree of the splits of the data that a tree of scaled rows has."""
        encoded, weighed, alone, values = self.encoded, self.weighed, self.alone, raw_values(self.encoded)
        inside = [t for t in chosen.nodes() if not chosen.ends[t]]

        def ask(t: int, rows) -> Split | bool:
            if t not in inside:
                return True
            h, g = chosen.H[t], float(chosen.g[t])
            asked = h[weighed.n : weighed.n + len(alone.splits)]
            if asked.any():
                split = alone.split(asked, g)
                left = np.zeros(len(rows), bool) if split is None else split.left(values[rows])
                return split if left.any() and not left.all() else not left.any()
            split = split_by_hyperplane(weighed, h[: weighed.n], g, rows, kept=True)
            return _of_one_category(split, values[rows], encoded.features) if isinstance(split, Oblique) else split

        return build_tree(encoded, topology, ask, kept=True)


def _of_one_category(split: Oblique, X: np.ndarray, features: tuple[Feature, ...]) -> Split:
    """Return the set of levels of one category that sends these rows the same way, if there is one: other weights of
    the hyperplane are then chance."""
    left = split.left(X)
    for place in split.features:
        column = X[:, place]
        levels = np.unique(column[left])  # NaN among them is none of those on the right, but goes there
        if features[place].kind != NUMERIC and not np.isin(column[~left], levels).any() and not np.isnan(levels).any():
            return Subset(place, tuple(levels.tolist()))
    return split


@value_class
class _Alone:
    """Columns that are split on individually: the splits of the encoding on categories and on numbers with missing
    cells.

    A row goes left at splits[s][c] iff `places` (float64 (rows, columns)) is at most c in column s.
    """

    places: np.ndarray
    splits: tuple[tuple[Split, ...], ...]

    @classmethod
    def of(cls, encoded: Encoded) -> "_Alone":
        gaps, scales = np.isnan(raw_values(encoded)).any(axis=0), Scales.of(encoded)
        places, splits = [], []
        for s, size in enumerate(scales.size.tolist()):
            asked = [int(scales.split(s, place)) for place in range(size)]
            first = encoded.splits[asked[0]]
            on_line = encoded.features[first.features[0]].kind == NUMERIC and not gaps[first.features[0]]
            ones_left = encoded.ones_left[asked]
            if len(first.features) > 1 or on_line or (ones_left.any() and size > 1):
                continue
            places.append(size - scales.rank[:, s] if ones_left[0] else scales.rank[:, s])
            splits.append(tuple(encoded.splits[j] for j in asked))
        return cls(np.column_stack(places).astype(float) if places else np.zeros((encoded.n_rows, 0)), tuple(splits))

    def split(self, h: np.ndarray, g: float) -> Split | None:
        """Return the split of the one column that `h` weighs, with those left who are at g or less; None if all go one
        way."""
        asked = self.splits[int(np.flatnonzero(h)[0])]
        return asked[math.floor(g)] if 0 <= g < len(asked) else None
