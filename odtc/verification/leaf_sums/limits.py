"""The limits of a certificate on its trees: rows of the data in each leaf, and a number of leaves."""

from typing import NamedTuple


class Limit(NamedTuple):
    """The limits on trees: rows of the data in each leaf, and the largest number of leaves, 0 for any number."""

    rows: int = 1
    leaves: int = 0

    @property
    def words(self) -> list[str]:
        """The same as constraints are written."""
        rows = [f"leaf_rows >= {self.rows}"] if self.rows > 1 else []
        return rows + ([f"leaves <= {self.leaves}"] if self.leaves else [])

    def at(self, depth: int) -> "tuple[Limit, int]":
        """Return the limit and the depth of trees of a depth, without a limit on leaves that has no effect, and
        without levels that the limit excludes."""
        if not self.leaves:
            return self, depth
        depth = min(depth, self.leaves - 1)
        return (Limit(self.rows) if self.leaves >= 2**depth else self), depth

    def shares(self, depth: int) -> list[int]:
        """Return the numbers of leaves that the left side of a root may have, [0] for any number."""
        if not self.leaves:
            return [0]
        most = 2 ** (depth - 1)
        return list(range(max(1, self.leaves - most), min(most, self.leaves - 1) + 1))

    def of_sides(self, share: int) -> "tuple[Limit, Limit]":
        """Return the limits of the sides of a root whose left side has this many leaves."""
        return Limit(self.rows, share), Limit(self.rows, self.leaves - share)


NO_LIMIT = Limit()
