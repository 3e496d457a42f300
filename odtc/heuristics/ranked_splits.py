"""The splits of an encoding as ranks of columns for a search over thresholds, and its trees converted back."""

from collections.abc import Iterable
from copy import copy
from dataclasses import replace

import numpy as np

from odtc.algorithms.equal_rows import distinct_values
from odtc.algorithms.near_optimal.fewest_columns import Looks
from odtc.algorithms.thresholds.few_nodes.shapes import Shape
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base.memory import require_memory
from odtc.base.wording import option
from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import Scales
from odtc.trees.heap_tree import Beyond, CompleteTree, HeapTree, nested_splits, settle

# Bytes of a search for each row and column, at least: ranks and orders of the proof, and of the search for few leaves.
BYTES = 24


def columns_asked(encoded: Encoded, scales: Scales) -> list[tuple[int, ...]]:
    """Return the columns of the data that the splits of each ordered feature use."""
    return [encoded.splits[j].features for j in scales.split(np.arange(scales.n), 0).tolist()]


def _bits(features: Iterable[int]) -> int:
    return sum(1 << feature for feature in set(features))


class RankedSplits:
    """Encoded rows and splits for odtc.algorithms.thresholds.rank_search.

    Parameters
    ----------
    encoded : Encoded
    price : float, the penalty of a branch node, in units of loss
    least : int, rows of the data that each leaf must have; 1 or less for none
    loss : float64 (rows, labels), the cost of predicting a label on a row; None for the loss of the data
    keep : bool, whether rows that cost the same with any prediction are kept
    apart : bool, whether equal ordered features are kept if their splits use different columns of the data
    among : int (some scales,), the ordered features that a tree may use; None for all
    scales : Scales of the encoding, if they are known

    Attributes
    ----------
    ranked : RankedRows
    """

    def __init__(
        self,
        encoded: Encoded,
        price: float,
        least: int,
        loss: np.ndarray | None = None,
        keep: bool = False,
        apart: bool = False,
        among: np.ndarray | None = None,
        scales: Scales | None = None,
    ):
        self.encoded, self.scales = encoded, Scales.of(encoded) if scales is None else scales
        rows, columns = self.scales.rank.shape
        fewer = (
            f"name auxiliary columns ({option('auxiliary')}), train on part of the rows ({option('select')}, "
            f"{option('hold_out')}), or take {option('model', 'cart')}"
        )
        require_memory(BYTES * rows * columns, f"the search over {rows:,} rows and {columns:,} columns", fewer)
        loss = encoded.loss if loss is None else loss
        ranked = rank_rows(
            self.scales.rank if among is None else self.scales.rank[:, among],
            loss,
            encoded.copies,
            price,
            least,
            keep,
            columns_asked(encoded, self.scales) if apart else None,
            among is not None and self.scales.dense,
        )
        self.ranked = ranked if among is None else replace(ranked, columns=among[ranked.columns])

    def counting(self, scale: int) -> "RankedSplits":
        """Return the same with `scale` units of the search for each unit of cost, so that it can count branch nodes in
        addition to the cost."""
        other = copy(self)
        other.ranked = self.ranked.counting(scale)
        return other

    def split(self, column: int, rank: int) -> int:
        """Return the split of the encoding that a rank of a column represents."""
        scale = self.ranked.columns[column]
        return int(self.scales.split(scale, distinct_values(self.scales.rank[:, scale])[rank]))

    def looks(self) -> Looks:
        """Return the columns of the data that the splits of each column of the search can use."""
        encoded, scales = self.encoded, self.ranked.columns
        own = [_bits(encoded.splits[j].features) for j in self.scales.split(scales, 0).tolist()]
        others: list[list[tuple[int, int]]] = [[] for _ in own]
        ranks: dict[int, np.ndarray] = {}
        column_of = {scale: column for column, scale in enumerate(scales.tolist())}
        for j in (j for j, merged in enumerate(encoded.stands_for) if merged):
            column = column_of.get(int(self.scales.scale[j]))
            told = {_bits(split.features) for split, _ in encoded.stands_for[j]}
            if column is not None and told != {own[column]}:
                if column not in ranks:
                    ranks[column] = distinct_values(self.scales.rank[:, scales[column]])
                rank = int(np.searchsorted(ranks[column], self.scales.place[j]))
                others[column] += [(rank, bits) for bits in sorted(told - {own[column]})]
        return Looks(own, [sorted(one) for one in others])

    def written(self, heap: HeapTree, columns: int) -> HeapTree | None:
        """Return the same tree with splits over these columns of the data (bits of a whole number), in place of splits
        on other columns that separate the rows in the same way; None if the data is not available to find their
        sides."""
        encoded, splits = self.encoded, {}
        for split in distinct_values(heap.split[heap.split >= 0]).tolist():
            if _bits(encoded.splits[split].features) & ~columns:
                same = (one for one, _ in encoded.stands_for[split])
                splits[split] = next(one for one in same if not _bits(one.features) & ~columns)
        if not splits:
            return heap
        if encoded.dataset is None:
            return None
        split, asked = heap.split.copy(), sorted(splits)
        for at, j in enumerate(asked):
            split[heap.split == j] = encoded.n_candidate_splits + at
        X = np.stack([np.asarray(encoded.X[:, j]) for j in asked], axis=1)
        sides = [encoded.left(splits[j]) for j in asked]
        if any(side is None for side in sides):
            return None
        ones_left = np.array([side[0] == answers[0] for side, answers in zip(sides, X.T)])
        return HeapTree(split, heap.label.copy(), Beyond(tuple(splits[j] for j in asked), X, ones_left))

    def tree(self, search: RankSearch, topology: CompleteTree, shape: Shape | None = None) -> HeapTree:
        """Return the best tree that a search of `ranked` has found: of the depth of a topology, or of a shape."""
        return self.heap_tree(search.tree(topology.depth if shape is None else shape), topology)

    def heap_tree(self, nested, topology: CompleteTree) -> HeapTree:
        """Return a tree given as nested (column, rank, left, right), with None for a leaf."""
        return settle(self.split_heap(nested, topology), self.encoded)

    def split_heap(self, nested, topology: CompleteTree) -> np.ndarray:
        """Return int32 (2^(depth + 1),): all its splits, also those that the losses of the data do not need."""
        return nested_splits(nested, topology, self.split)
