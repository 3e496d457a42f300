"""Nodes of a decision tree: branch nodes with a split, and leaves with their prediction and their training rows."""

from odtc.base.value_class import frozen_class
from odtc.data.dataset import Feature
from odtc.data.splits import Split


@frozen_class
class Line:
    """The line that a leaf predicts: intercept + slope x, of the numeric feature x at the position `feature`."""

    feature: int
    slope: float
    intercept: float

    def at(self, x):
        """Return the number at x, a number or float64 (rows,)."""
        return self.intercept + self.slope * x

    def words(self, features: tuple[Feature, ...]) -> str:
        """Return the line as text, such as "2.5 + 0.3 age"."""
        sign = "-" if self.slope < 0 else "+"
        return f"{self.intercept:.6g} {sign} {abs(self.slope):.6g} {features[self.feature].name}"


@frozen_class
class Leaf:
    """A leaf, which predicts `classes[label]`.

    `counts` are the training weights in the leaf, by class; `rows` the numbers of training rows, by class (both of
    shape (classes,)); `sums` the sums of the task over them (odtc.data.task), and `curve` the points of the curve that
    the task draws for them, such as (time, survival). With a `line` a leaf predicts the number on it; its own number,
    which is the mean of its training rows, is for rows with a missing cell in the line's feature.
    """

    label: int
    counts: tuple[float, ...] = ()
    rows: tuple[int, ...] = ()
    sums: tuple[float, ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    line: Line | None = None

    @property
    def measured(self) -> tuple[int, ...]:
        """The positions of the features whose numbers the prediction depends on."""
        return () if self.line is None else (self.line.feature,)

    def shares(self, n_classes: int) -> tuple[float, ...]:
        """Return the share of each class in the training weight of this leaf, of shape (classes,).

        A leaf without training weight has 1 for the class that it predicts, and 0 for the others.
        """
        whole = sum(self.counts)
        if whole <= 0:
            return tuple(float(k == self.label) for k in range(n_classes))
        return tuple(count / whole for count in self.counts)


@frozen_class
class Branch:
    split: Split
    left: "Branch | Leaf"
    right: "Branch | Leaf"

    @property
    def counts(self) -> tuple[float, ...]:
        return tuple(a + b for a, b in zip(self.left.counts, self.right.counts))

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(a + b for a, b in zip(self.left.rows, self.right.rows))

    @property
    def sums(self) -> tuple[float, ...]:
        return tuple(a + b for a, b in zip(self.left.sums, self.right.sums))


Node = Branch | Leaf
