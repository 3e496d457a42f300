"""Coverage of a certificate: which of all thresholds between neighbouring values, and of all single levels, its splits
are.

A proof is one over its splits. Whether it is one over all possible splits of the data is counted here from the raw
data, by how each split divides the rows: two splits that divide them in the same way count as one, however they are
written.
"""

from collections.abc import Callable, Sequence

import numpy as np

from odtc.base.text import first_few
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.verification.claim import claim_of
from odtc.verification.threshold_columns import ColumnRanks, distinct_numbers, row_tokens


def terms_over(
    dataset: Dataset,
    ranks: ColumnRanks,
    depth: int,
    constraints: Sequence[str] = (),
    of: Sequence[str] | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[dict, int, dict[str, tuple[int, int]]]:
    """Return (the terms of a claim about all trees of a depth over the splits of some columns, and what
    `count_left_out` returns, whose parameters are the others)."""
    total, absent = count_left_out(dataset, ranks, check, of)
    return claim_of(dataset, depth, int(ranks.size.sum()), not absent, constraints), total, absent


def count_left_out(
    dataset: Dataset, ranks: ColumnRanks, check: Callable[[], None] = lambda: None, of: Sequence[str] | None = None
) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return how many splits there are, and how many of them no column has.

    Parameters
    ----------
    dataset : Dataset
    ranks : ColumnRanks
    check : called for each column; may raise to end it
    of : the feature of each column, if only columns of the same feature count, because constraints on features
        distinguish equal splits of different features

    Returns
    -------
    (splits by a midpoint, a level or a missing cell, each counted once for its feature;
    {feature: (left out, splits)} of the features for which some are left out)
    """
    of_features = [
        _sides(dataset.X[:, at], feature.has_order, dataset.missing == "separate")
        for at, feature in enumerate(dataset.features)
    ]
    asked = {
        feature.name: [some for some in sides if not (some.nested and feature.name in ranks.complete)]
        for feature, sides in zip(dataset.features, of_features, strict=True)
    }
    if of is None:
        cut = iter(_are_cuts([some for sides in asked.values() for some in sides], ranks.rank, check))
    else:
        own = {name: [at for at, one in enumerate(of) if one == name] for name in asked}
        cut = (one for name, sides in asked.items() for one in _are_cuts(sides, ranks.rank[:, own[name]], check))
    total, lacking = 0, {}
    for feature, sides in zip(dataset.features, of_features, strict=True):
        total += (n_splits := sum(len(some.values) for some in sides))
        left_out = sum(int(np.count_nonzero(~next(cut))) for _ in asked[feature.name])
        if left_out:
            lacking[feature.name] = left_out, n_splits
    return total, lacking


@value_class
class _Sides:
    """Sides of splits of the rows by one feature: of each value the rows that have it, or if they are nested those at
    most as great.

    Attributes
    ----------
    cells : (rows,)
    values : (sides,), rising
    nested : bool
    """

    cells: np.ndarray
    values: np.ndarray
    nested: bool

    def rows(self, side: int) -> np.ndarray:
        """Return the rows of a side, bool (rows,)."""
        value = self.values[side]
        return self.cells <= value if self.nested else self.cells == value

    def keys(self, token: np.ndarray) -> np.ndarray:
        """Return for each side the exclusive or of the tokens of its rows."""
        if self.nested and len(self.values) == 1:
            return np.bitwise_xor.reduce(token[self.rows(0)])[None]
        order = np.argsort(self.cells, kind="stable")
        cells = self.cells[order]
        first, last = (np.searchsorted(cells, self.values, side=side) for side in ("left", "right"))
        sums = np.concatenate([[np.uint64(0)], np.bitwise_xor.accumulate(token[order])])
        return sums[last] if self.nested else sums[last] ^ sums[first]


def _sides(cells: np.ndarray, ordered: bool, separate: bool) -> list[_Sides]:
    """Return the sides of the splits of a feature: by its thresholds or levels (cuts of these if they have an order),
    and by the missing cells if `separate`."""
    known = ~np.isnan(cells)
    values = distinct_numbers(cells[known])
    if ordered:
        found = [_Sides(cells, values[:-1], True)]
    elif known.all():  # of two levels one implies the other, unless missing cells are on the other side of both
        found = [_Sides(cells, values[: 1 if len(values) == 2 else len(values) * (len(values) > 1)], False)]
    else:
        found = [_Sides(cells, values, False)]
    asks = separate and known.any() and not known.all()
    return [*found, _Sides(known.astype(float), np.zeros(1), False)] if asks else found


def _are_cuts(asked: list[_Sides], rank: np.ndarray, check: Callable[[], None]) -> list[np.ndarray]:
    """Return for each side whether some cut of a column separates the rows in this way, bool (sides,) each.

    Sides with equal keys are compared row by row. A key is the exclusive or of random numbers of the rows, taken to be
    the same for a side and its complement: equal sides have equal keys, so none is missed.
    """
    found = [np.zeros(len(some.values), bool) for some in asked]
    if not any(map(len, found)):
        return found
    token = row_tokens(len(rank))
    whole = np.bitwise_xor.reduce(token)
    keys = [some.keys(token) for some in asked]
    places = [(which, side) for which, some in enumerate(keys) for side in range(len(some))]
    wanted = np.concatenate(keys)
    wanted = np.minimum(wanted, wanted ^ whole)
    order = np.argsort(wanted, kind="stable")
    wanted = wanted[order]
    for place in order[: np.searchsorted(wanted, 0, side="right")]:  # all rows on one side: nothing to separate
        which, side = places[place]
        rows = asked[which].rows(side)
        found[which][side] = rows.all() or not rows.any()
    for column in rank.T:
        check()
        cuts = _Sides(column, distinct_numbers(column)[:-1], True)
        of_cuts = cuts.keys(token)
        of_cuts = np.minimum(of_cuts, of_cuts ^ whole)
        first, last = (np.searchsorted(wanted, of_cuts, side=side) for side in ("left", "right"))
        for cut in np.flatnonzero(first < last):
            for which, side in (places[place] for place in order[first[cut] : last[cut]]):
                if not found[which][side]:
                    same = asked[which].rows(side) == cuts.rows(cut)
                    found[which][side] = same.all() or not same.any()
    return found


def words(total: int, lacking: dict[str, tuple[int, int]]) -> str:
    """Describe the splits of a proof in words."""
    if not lacking:
        return (
            f"these include all {total:,} thresholds between neighbouring values and single levels; of "
            "several that divide the rows in the same way, one is enough"
        )
    missing = sum(absent for absent, _ in lacking.values())
    most = sorted(lacking.items(), key=lambda item: -item[1][0])
    named = first_few([f"{name}: {absent:,} of {each:,}" for name, (absent, each) in most], 3)
    was, them = ("was", "it") if missing == 1 else ("were", "them")
    return (
        f"{missing:,} of the {total:,} possible splits {was} not considered ({named}); a tree that uses {them} might "
        "cost less"
    )
