"""Estimates of a formulation's size before anything is built, for `--model auto` (odtc.workflow.posing)."""

from math import inf

from odtc.base.value_class import frozen_class
from odtc.data.encoding import Encoded


@frozen_class
class Sizes:
    """Known sizes of a problem before its formulation is chosen.

    Attributes
    ----------
    n_candidate_splits : int
        The splits of the encoding.
    depth : int
        The greatest depth of the tree.
    constraints : tuple of str
        The kinds of its constraints, by name.
    encoded : Encoded or None
        The rows; None if only the numbers above matter.
    fitting : bool
        Whether a tree is wanted, not a model file.
    """

    n_candidate_splits: int
    depth: int
    constraints: tuple[str, ...] = ()
    encoded: Encoded | None = None
    fitting: bool = False


@frozen_class
class Estimate:
    """Estimate of a formulation for a problem of these sizes.

    Attributes
    ----------
    fits : bool
        Whether it supports the problem, and its model can be built.
    words : str
        The reason, as a predicate of the formulation: "grows with the rows".
    sums : float
        About how many sums its proof takes; infinite if only a search can find out.
    """

    fits: bool
    words: str
    sums: float = inf


def rough(number: float) -> str:
    """Return two digits of a number, in a form that people read: 780, 24,000, 3.1e+12."""
    return f"{float(f'{number:.2g}'):,.0f}" if number < 1e9 else f"{number:.2g}"
