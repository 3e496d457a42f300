"""Costs of rows with more digits than a search counts: exact whole numbers of a high part and a rest."""

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_INT64, sums_of_whole
from odtc.base.whole_numbers.of_any_size import narrowed


@value_class
class ExactParts:
    """Exact costs as whole numbers of two parts: `parts * high + rest` with `rest < parts`.

    Attributes
    ----------
    high, rest : int64 or objects (rows, labels), the costs of predicting a label on a row
    parts : int
    price : int, the cost of a branch node, not divided
    """

    high: np.ndarray
    rest: np.ndarray
    parts: int
    price: int

    @classmethod
    def of(cls, exact: np.ndarray, parts: int, price: int) -> "ExactParts":
        """Divide exact costs, objects (rows, labels)."""
        rest = exact % parts
        return cls((exact // parts).astype(np.int64), narrowed(rest) if parts < MAX_INT64 else rest, parts, price)

    def of_kinds(self, kind: np.ndarray, rows: np.ndarray) -> "ExactParts":
        """Return the costs of merged rows, `kind` of each given row; only of these `rows` of them."""
        many = int(kind.max(initial=-1)) + 1
        high, rest = (
            np.stack([sums_of_whole(kind, label, many) for label in cost.T], axis=1)[rows].astype(cost.dtype)
            for cost in self._both
        )
        return ExactParts(high, rest, self.parts, self.price)

    @property
    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        return self.high, self.rest

    def leaf(self, rows: np.ndarray) -> int:
        """Return the cost of some rows as one leaf."""
        high, rest = (cost[rows].sum(axis=0).tolist() for cost in self._both)
        return min(self.parts * int(one) + int(other) for one, other in zip(high, rest))

    def carried(self, high: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of both parts so that the rest is less than one part again."""
        return high + rest // self.parts, rest % self.parts

    def least(self, high: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least cost in each line of sums of both parts (sums, labels)."""
        high, rest = self.carried(high, rest)
        above = high.min(axis=1)
        beyond = np.where(high == above[:, None], rest, self.parts)
        return above, beyond.min(axis=1)
