"""A path of depths and penalties of branch nodes on the same rows: other settings that one proved tree settles.

At the penalty λ a tree of loss E and k branch nodes costs (1 - λ) E + λ k: a line over λ. The cost of the best tree,
V(λ), is the least of these lines, so it is concave. Hence, for one depth,

    (1)  if one tree is best at λ₁ and at λ₂, V is its line between them, and the best trees of each λ₁ < λ < λ₂ are all
         trees of this line;
    (2)  if a single leaf is best at λ₁, it is best at each λ > λ₁.

Every tree of one depth is also a tree of the next depth, so, for one λ,

    (3)  if the best tree of depth D has depth d, it is the best of each depth from d to D.

The search chooses among the best trees one with the fewest leaves, then of the fewest columns, then the first in a
fixed order (odtc.formulations.dpflow.threshold_search). The order does not depend on λ or the depth, so if both counts
are proved, a fit of its own would return the same tree. Other fits settle nothing.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from odtc.base.value_class import value_class
from odtc.workflow.results.fit import Fit
from odtc.workflow.specification import ModelSpec

PRICE = "lambda"
PATHS = 4  # that a process remembers


@value_class
class _Known:
    depth: int
    price: float | None
    tree: Any
    scores: Any


class PricePath:
    """Knowledge about the trees of one set of rows, under settings that differ only in the depth and in λ."""

    def __init__(self) -> None:
        self._known: list[_Known] = []

    def scores(self, depth: int, price: float | None) -> Any | None:
        """Return the scores noted with the tree that a fit of this setting would return; None if that is not known.

        Parameters
        ----------
        depth : int
        price : float or None
            λ; None if the model has its own.
        """
        same = [known for known in self._known if known.price == price and known.tree.depth <= depth <= known.depth]
        if same:
            return same[0].scores
        if price is None:
            return None
        mine = [known for known in self._known if known.depth == depth and known.price is not None]
        below = [known for known in mine if known.price < price]
        above = [known for known in mine if known.price > price]
        for low in below:
            if low.tree.depth == 0 or any(low.tree == high.tree for high in above):
                return low.scores
        return None

    def note(self, depth: int, price: float | None, done: Fit, scores: Any) -> None:
        """Store a fit, if the search has proved that its tree is the first of the best ones."""
        if done.model is None and done.proved and done.fewest_leaves and done.fewest_columns:
            self._known.append(_Known(depth, price, done.tree, scores))


@lru_cache(PATHS)
def path_of(key: str) -> PricePath:
    """Return the path of this name, as this process knows it."""
    return PricePath()


def price_of(spec: ModelSpec) -> float | None:
    """Return λ of a setting; None if it names none, or one that is not a number."""
    try:
        return float(spec.params[PRICE])
    except (KeyError, TypeError, ValueError):
        return None


def beside_price(spec: ModelSpec) -> list:
    """Return the fields that the settings of one path have in common."""
    fields = {name: getattr(spec, name) for name in spec.__dataclass_fields__ if name not in ("depth", "params")}
    known = price_of(spec) is not None
    params = {name: value for name, value in spec.params.items() if not (known and name == PRICE)}
    return [fields, params, known]


def turns(specs: Iterable[ModelSpec]) -> dict[tuple[int, float | None], int]:
    """Return the order in which (depth, λ) are best fitted: the greatest depth first, and both ends of λ before the
    middle."""
    specs = list(specs)
    depths = sorted({spec.depth for spec in specs}, reverse=True)
    prices = sorted({price for spec in specs if (price := price_of(spec)) is not None})
    order = [None, *(prices[at] for at in _ends_first(len(prices)))]
    return {one: turn for turn, one in enumerate((depth, price) for depth in depths for price in order)}


def _ends_first(n: int) -> list[int]:
    """Return 0 … n - 1: both ends, then the middle of each gap that is left."""
    found, gaps = [0, n - 1][:n], [(0, n - 1)]
    for low, high in gaps:
        if high - low > 1:
            found.append((low + high) // 2)
            gaps += [(low, found[-1]), (found[-1], high)]
    return found
