"""The complete binary tree of a given depth, in heap numbering (FlowOCT, section 2).

Branch nodes are 1 .. 2^D - 1, leaves 2^D .. 2^(D+1) - 1; the children of t are 2t (left)
and 2t + 1 (right), its parent is t // 2.
"""

from collections.abc import Iterator

import numpy as np

from odtc.base.value_class import frozen_class
from odtc.errors import ChoiceError

DEEPEST = 20  # 2^20 leaves: no exact model of such a tree can be solved or even written


@frozen_class
class CompleteTree:
    depth: int

    def __post_init__(self):
        whole = isinstance(self.depth, (int, np.integer))
        if not whole or not 1 <= self.depth <= DEEPEST:
            least = 1 if whole and self.depth == 0 else 0  # a run of depth 0 is one of depth 1 with LEAF_ONLY
            raise ChoiceError(
                f"expected a depth{'' if whole else ', a whole number,'} from {least} to {DEEPEST}, got "
                f"{self.depth!r}; optimal trees are practical for depths of 2 to 5"
            )

    @property
    def branch_nodes(self) -> np.ndarray:
        return np.arange(1, 2**self.depth)

    @property
    def leaves(self) -> np.ndarray:
        return np.arange(2**self.depth, 2 ** (self.depth + 1))

    @property
    def nodes(self) -> np.ndarray:
        return np.arange(1, 2 ** (self.depth + 1))

    def rightmost(self, nodes: np.ndarray) -> np.ndarray:
        """Return the last leaf below each of these nodes: the leaf to which a node without a split sends its rows in
        OCT."""
        for _ in range(self.depth):
            nodes = np.where(nodes < 2**self.depth, 2 * nodes + 1, nodes)
        return nodes

    def sides(self, turn: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (branch nodes, leaves), equally long, level by level: each leaf with each node whose left (turn 0) or
        right (1) subtree has it."""
        for level in range(self.depth):
            goes = self.leaves[(self.leaves >> self.depth - 1 - level & 1) == turn]
            yield goes >> self.depth - level, goes

    @property
    def bottom(self) -> np.ndarray:
        """The branch nodes whose children are leaves."""
        return np.arange(2 ** (self.depth - 1), 2**self.depth)

    @property
    def inner(self) -> np.ndarray:
        """The branch nodes whose children are branch nodes."""
        return np.arange(1, 2 ** (self.depth - 1))
