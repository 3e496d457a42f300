"""Cost-complexity on scikit-learn's scale, over all trees instead of the prunings of one.

    min over trees T of  R(T) + α · leaves(T),    R(T) = weight of misclassified rows / weight of all rows

The least value is the lower envelope of one line R + α k for each pair of least loss R and leaves k, so it is concave
and piecewise linear in α; its breakpoints are the slopes of the lower convex hull of the pairs (k, R).
"""

from collections.abc import Callable
from fractions import Fraction

from odtc.base.value_class import value_class

SAME = 1e-9  # of a share of the weight: sums of weights are rounded


@value_class
class Corner:
    """A tree on the envelope: its leaves, and the share of the weight that it misclassifies."""

    leaves: int
    wrong: float

    def value(self, alpha: float) -> float:
        return self.wrong + alpha * self.leaves


def penalty_of_branch_node(alpha: float, weight: float) -> float:
    """λ of (1-λ) · loss + λ · branch nodes that has the same optimum as loss / weight + α · leaves.

    Both are a factor times loss + weight · α · branch nodes, and a constant: λ / (1-λ) = weight · α. Weights and loss
    count class weights.
    """
    return weight * alpha / (1 + weight * alpha)


def rounding_of_penalty(alpha: float, weight: float, share: Fraction) -> float:
    """Return the relative error of weight · α, the penalty in units of loss, where a search gets it as λ = `share`.

    1-λ loses the digits of a large penalty, because it is then close to 0.
    """
    penalty = Fraction(weight) * Fraction(repr(alpha))
    return float(abs(share / (1 - share) / penalty - 1)) if penalty and share < 1 else 0.0


def envelope(solve: Callable[[float], Corner], most: float) -> list[tuple[float, Corner]]:
    """Return the corners of the envelope by rising α, each with the α from which on it is the best.

    Parameters
    ----------
    solve : callable
        A best tree at an α.
    most : float
        An α from which on no branch node is worth its penalty.

    Returns
    -------
    list of (float, Corner)
        The first from α = 0 on; no α twice. Between two neighbours α is the slope from one to the other, which is
        exact.
    """
    first, last = solve(0.0), solve(most)

    def between(more: Corner, less: Corner) -> list[tuple[float, Corner]]:
        """Return the corners after `more`, up to and including `less`."""
        if more.leaves <= less.leaves:
            return []
        alpha = max(0.0, less.wrong - more.wrong) / (more.leaves - less.leaves)
        found = solve(alpha) if alpha > 0 else more
        if less.leaves < found.leaves < more.leaves and found.value(alpha) < less.value(alpha) - SAME:
            return between(more, found) + between(found, less)
        return [(alpha, less)]

    found: list[tuple[float, Corner]] = []
    for alpha, corner in [(0.0, first), *between(first, last)]:
        at = 0.0 if alpha <= SAME else alpha
        # Of corners on one line only the ends are best at some interval; of trees that are as good at α = 0, the one
        # with the fewest leaves.
        if found and at - found[-1][0] <= SAME:
            found[-1] = found[-1][0], corner
        else:
            found.append((at, corner))
    return found
