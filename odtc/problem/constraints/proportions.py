"""Shares of rows, as a constraint compares them: Σ_j coef_j · (share of the rows `among` that are `counted`) ≤ upper.

The value of a constraint on a sample of rows is an estimate. For each share, a sample gives bounds that hold with a
chosen probability (odtc.workflow.constrained.assurance), and so for sums of shares. A share that is in several sums is
one object.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.encoding import Encoded
from odtc.problem.constraints.groups import groups


@dataclass(frozen=True, eq=False)
class Share:
    """The share of the rows `among`, bool (rows,), that are `counted`, bool (rows,), times `coef`; `of` names these
    rows in words, as after "row"."""

    coef: float
    among: np.ndarray
    counted: np.ndarray
    of: str

    @property
    def value(self) -> float:
        """The share; 0 among no rows."""
        return float((self.among & self.counted).sum() / max(1, self.among.sum()))


@value_class
class ShareSum:
    """Σ of some shares ≤ upper."""

    shares: tuple[Share, ...]
    upper: float


def at_least(among: np.ndarray, counted: np.ndarray, least: Fraction, of: str) -> ShareSum:
    """Return one share that is at least a number."""
    return ShareSum((Share(-1.0, among, counted, of),), -float(least))


def at_most(among: np.ndarray, counted: np.ndarray, most: Fraction, of: str) -> ShareSum:
    """Return one share that is at most a number."""
    return ShareSum((Share(1.0, among, counted, of),), float(most))


def members_of(encoded: Encoded, text: str) -> dict[str, np.ndarray]:
    """Return {name: bool (rows,)} of the groups of a text, for an encoding whose rows are rows of the data."""
    found = groups(encoded, text)
    return {f"of {name}": weight > 0 for name, weight in zip(found.names, found.weight.T)}


def gaps(
    encoded: Encoded, text: str, among: dict[str, np.ndarray], counted: np.ndarray, most: Fraction
) -> list[ShareSum]:
    """Return the differences of the shares of every two groups, among each of these sets of rows, bool (rows,), by
    their descriptions."""
    found = []
    for words, which in among.items():
        masks = {f"{name}{words}": group & which for name, group in members_of(encoded, text).items()}
        above, below = ([Share(sign, mask, counted, of) for of, mask in masks.items()] for sign in (1.0, -1.0))
        found += [ShareSum((above[g], below[h]), float(most)) for g, h in permutations(range(len(masks)), 2)]
    return found
