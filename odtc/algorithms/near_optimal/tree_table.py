"""Numbers of trees by branch nodes and cost, and the products of such tables, in exact whole numbers.

    cost = unit · (x - skew · b) + price · b = unit · x + rest · b,   skew = price // unit,   rest = price - skew · unit

for a tree with b branch nodes, so that the near-optimal trees of any number of branch nodes are in few cells x, which
add up if two trees become the sides of a third one: x = x_left + x_right + skew.
"""

import numpy as np

from odtc.algorithms.near_optimal.pair_counts import add_products
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_INT64


@value_class
class Units:
    """The costs of a unit of loss and of a branch node, as whole numbers."""

    unit: int
    price: int

    @property
    def skew(self) -> int:
        return self.price // self.unit

    @property
    def rest(self) -> int:
        return self.price - self.skew * self.unit

    def cost(self, b: int, x: int) -> int:
        """Return the cost of the trees in a cell."""
        return self.unit * x + self.rest * b


class TreeTable:
    """Trees of at most one height on one set of rows: `counts[b, x - low]`, int64 or Python's whole numbers.

    Parameters
    ----------
    units : Units
    height : int
    lower, budget : int, the least and the greatest cost of trees that are counted
    """

    def __init__(self, units: Units, height: int, lower: int, budget: int):
        self.units, self.lower, self.budget, most = units, lower, budget, 2**height - 1
        self.low = (lower - most * units.rest) // units.unit
        cells = max(0, budget // units.unit - self.low + 1)
        self.counts = np.zeros((most + 1, cells), np.int64)
        self.total = 0
        self.caps = (budget - units.rest * np.arange(most + 1)) // units.unit - self.low  # last cells within the budget

    def add(self, b: int, x: int, times: int) -> None:
        """Count some trees of one cell, if they are within the budget."""
        if 0 <= x - self.low <= self.caps[b]:
            self._hold(times)
            self.counts[b, x - self.low] += times
            self.total += times

    def add_all(self, b: int, x: np.ndarray, times: np.ndarray) -> None:
        """Count some trees of each of several cells, int64, like `add`."""
        inside = (x >= self.low) & (x - self.low <= self.caps[b])
        self._hold(int(times[inside].sum()))
        np.add.at(self.counts[b], x[inside] - self.low, times[inside])
        self.total += int(times[inside].sum())

    def add_products(self, left: "TreeTable", right: "TreeTable", times: int) -> None:
        """Count the trees that have a tree of each of two tables as sides, `times` each.

        Parameters
        ----------
        left, right : TreeTable
        times : int
        """
        shift = left.low + right.low + self.units.skew - self.low
        most = left.total * right.total * times
        if most < MAX_INT64:
            small = self.total + most < MAX_INT64 and self.counts.dtype != object
            out = self.counts if small else np.zeros(self.counts.shape, np.int64)
            add_products(left.counts.astype(np.int64), right.counts.astype(np.int64), out, shift, self.caps, times)
            if not small:
                self._hold(MAX_INT64)
                self.counts += out
        else:
            self._hold(MAX_INT64)
            for b, one in enumerate(left.counts):
                for c, two in enumerate(right.counts):
                    self._add_row(b + c + 1, _product(one, two), shift, times)
        self.total = int(self.counts.sum())

    def settle(self) -> None:
        """Update `total` after a kernel wrote into `counts`."""
        self.total = int(self.counts.sum())

    def cells(self):
        """Return (b, x, trees) of all cells that have trees, the cheapest first."""
        found = [(int(b), int(at) + self.low) for b, at in zip(*np.nonzero(self.counts))]
        found.sort(key=lambda cell: (self.units.cost(*cell), cell[0]))
        return [(b, x, int(self.counts[b, x - self.low])) for b, x in found]

    def at(self, b: int, x: int) -> int:
        """Return the number of trees of a cell."""
        inside = 0 <= b < len(self.counts) and 0 <= x - self.low < self.counts.shape[1]
        return int(self.counts[b, x - self.low]) if inside else 0

    def _add_row(self, b, values, shift, times):
        cap = int(self.caps[b])
        for x, value in values:
            if 0 <= x + shift <= cap:
                self.counts[b, x + shift] += value * times

    def _hold(self, more):
        if self.total + more >= MAX_INT64 and self.counts.dtype != object:
            self.counts = self.counts.astype(object)


def _product(one, two):
    """Yield (position, coefficient) of the product of two polynomials, computed as a product of two long whole numbers
    with one slot for each coefficient."""
    one, two = ([int(value) for value in line] for line in (one, two))
    if not any(one) or not any(two):
        return
    size = (sum(one).bit_length() + sum(two).bit_length() + 7) // 8
    long = [int.from_bytes(b"".join(value.to_bytes(size, "little") for value in line), "little") for line in (one, two)]
    cells = len(one) + len(two) - 1
    whole = (long[0] * long[1]).to_bytes(size * (cells + 1), "little")
    for at in range(cells):
        value = int.from_bytes(whole[at * size : (at + 1) * size], "little")
        if value:
            yield at, value
