"""Constraints of a certificate on the columns of a tree: their levels, positions, combinations and number.

A certificate's constraints on the columns that a tree uses are read from their text only, without the compiler. A
column that may be only at the levels a, …, b has a span (a, b); the root is at level 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Protocol

import numpy as np

from odtc.base.value_class import value_class
from odtc.errors import CertificateError


class Text(Protocol):
    """A constraint in its parts."""

    name: str
    args: list[str]
    bound: Fraction
    text: str


@value_class
class Places:
    """The limits of all constraints on the positions of splits.

    Attributes
    ----------
    span : dict of str to (int, float)
        The first and the last level at which a column may be used; others may be at any level.
    never_below : tuple of (str, str)
        No node that splits on the first is below one that splits on the second.
    apart, together : tuple of frozenset of str
        Columns of which a tree uses at most one; all or none.
    most_columns, most_splits : int or None
        How many columns, and different splits, a tree may use.
    """

    span: dict[str, tuple[int, float]]
    never_below: tuple[tuple[str, str], ...] = ()
    apart: tuple[frozenset[str], ...] = ()
    together: tuple[frozenset[str], ...] = ()
    most_columns: int | None = None
    most_splits: int | None = None

    @property
    def of_columns(self) -> bool:
        """Return whether there is any limit on columns."""
        named = self.span or self.never_below or self.apart or self.together
        return bool(named) or self.most_columns is not None

    @property
    def settled(self) -> bool:
        """Return whether nodes that separate no rows matter, so that every leaf must have a row."""
        return bool(self.together) or any(first > 1 for first, _ in self.span.values())

    def levels(self, columns: Sequence[str], depth: int) -> np.ndarray:
        """Return bool (depth, splits): the levels at which splits of these columns, one per split, may be."""
        first, last = np.array([self.span.get(name, (0, inf)) for name in columns], float).T
        level = np.arange(depth)[:, None]
        return (first <= level) & (level <= last)

    def below(self, columns: Sequence[str]) -> np.ndarray:
        """Return bool (splits, splits): [f, g] is whether g may be somewhere below f."""
        names = np.array(columns)
        if not self.never_below:
            return np.broadcast_to(True, (len(columns), len(columns)))
        may = np.ones((len(columns), len(columns)), bool)
        for low, high in self.never_below:
            may &= ~((names == high)[:, None] & (names == low)[None, :])
        return may

    def violated(self, path: Sequence[str]) -> str:
        """Describe the limit that a node violates with these columns from the root to it; "" for none."""
        first, last = self.span.get(path[-1], (0, inf))
        if not first <= len(path) - 1 <= last:
            node = "the root" if len(path) == 1 else f"a node of depth {len(path) - 1}"
            return f"{node} of the tree of the certificate splits on {path[-1]!r}, which its constraints bar"
        above = next((high for low, high in self.never_below if low == path[-1] and high in path[:-1]), None)
        return "" if above is None else f"the tree of the certificate splits on {path[-1]!r} below {above!r}"

    def violated_by_all(self, columns: set[str], n_candidate_splits: int) -> str:
        """Describe the limit that a tree violates that uses these columns, with this many different splits; "" for
        none."""
        if self.most_columns is not None and len(columns) > self.most_columns:
            return f"the tree of the certificate splits on {len(columns)} columns"
        if self.most_splits is not None and n_candidate_splits > self.most_splits:
            return f"the tree of the certificate has {n_candidate_splits} different splits"
        if any(len(columns & apart) > 1 for apart in self.apart):
            return "the tree of the certificate splits on columns that are never to be together"
        if any(columns & both and not both <= columns for both in self.together):
            return "the tree of the certificate splits on some of columns that are to be together, not all"
        return ""


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def with_place(places: Places, given: Text, names: Sequence[str]) -> Places:
    """Return the limits with one more constraint, on columns of the data with these names."""
    named = list(dict.fromkeys(given.args))
    if given.name in ("features", "splits"):
        limit = "most_columns" if given.name == "features" else "most_splits"
        return replace(places, **{limit: _least(getattr(places, limit), count_of(given))})
    if not named or not set(named) <= set(names):
        raise CertificateError(f"the certificate states {given.text!r}, which does not name a column of the data")
    if given.name == "not_below":
        if len(given.args) != 2:
            raise CertificateError(f"the certificate states {given.text!r}, which names two columns")
        return replace(places, never_below=(*places.never_below, (given.args[0], given.args[1])))
    if given.name in ("never_together", "together"):
        if len(named) < 2:
            raise CertificateError(f"the certificate states {given.text!r}, which names two columns or more")
        which = "apart" if given.name == "never_together" else "together"
        return replace(places, **{which: (*getattr(places, which), frozenset(named))})
    if given.name in ("deepest", "shallowest"):
        if len(given.args) != 1 or given.bound.denominator != 1 or given.bound < 0:
            raise CertificateError(f"the certificate states {given.text!r}, which is not a depth of one column")
        own = (0, float(given.bound)) if given.name == "deepest" else (int(given.bound), inf)
    else:
        own = (1, inf)
        named = [name for name in names if name not in named] if given.name == "require_root" else named
    span = dict(places.span)
    for name in named:
        first, last = span.get(name, (0, inf))
        span[name] = (max(first, own[0]), min(last, own[1]))
    return replace(places, span=span)


def count_of(given: Text) -> int:
    """Return the whole number of a constraint without arguments."""
    if given.bound.denominator != 1 or given.bound < 0 or given.args:
        raise CertificateError(f"the certificate states {given.text!r}, which counts no whole number")
    return int(given.bound)
