"""Coverage of a certificate: how many of the possible splits of the data (thresholds and single levels) it includes.

A proof is valid only for the splits of its certificate. This module counts from the raw data whether these are all
possible splits. Two splits that divide the rows in the same way count as one, however they are written.
"""

from collections.abc import Callable, Sequence

import numpy as np

from odtc.base.text import first_few
from odtc.data.dataset import Dataset
from odtc.verification.claim import claim_of
from odtc.verification.threshold_columns import ColumnRanks, cut_groups, dense_ranks, distinct_numbers


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
    asked, names, n_splits = [], [], {}  # splits as columns of ranks, with the feature of each
    for at, feature in enumerate(dataset.features):
        columns = _columns(dataset.X[:, at], feature.has_order, dataset.missing == "separate")
        n_splits[feature.name] = sum(int(column.max(initial=0)) for column in columns)
        complete = feature.has_order and feature.name in ranks.complete
        asked += columns[complete:]
        names += [feature.name] * (len(columns) - complete)
    left_out = dict.fromkeys(n_splits, 0)
    for name in (None,) if of is None else n_splits:
        mine = [at for at, one in enumerate(names) if name in (None, one)]
        cut_by = ranks.rank if of is None else ranks.rank[:, [at for at, one in enumerate(of) if one == name]]
        for at, lacking in zip(mine, _absent([asked[at] for at in mine], cut_by, check)):
            left_out[names[at]] += lacking
    lacking = {name: (count, n_splits[name]) for name, count in left_out.items() if count}
    return sum(n_splits.values()), lacking


def _columns(cells: np.ndarray, ordered: bool, separate: bool) -> list[np.ndarray]:
    """Return the splits of a feature as columns of dense ranks, int (rows,): all of its thresholds (cuts of its levels
    if they have an order) are one column, the first, and each single level, and the missing cells if `separate`, is one
    of its own."""
    known = ~np.isnan(cells)
    values = distinct_numbers(cells[known])
    if ordered:
        found = [np.searchsorted(values[:-1], cells)]  # a missing cell comes last
    else:  # two levels give the same split twice, unless missing cells are on the other side of both
        found = [cells != value for value in values[: 1 if len(values) == 2 and known.all() else None]]
    return [*found, known] if separate and known.any() and not known.all() else found


def _absent(asked: list[np.ndarray], rank: np.ndarray, check: Callable[[], None]) -> list[int]:
    """Return for each column of dense ranks how many of its cuts separate the rows as no cut of `rank` does."""
    if not asked:
        return []
    table = np.empty((rank.shape[1] + len(asked), len(rank)), np.int32)
    for own, column in zip(table, [*rank.T, *asked]):
        check()
        own[:] = dense_ranks(column.astype(np.int32))[1]
    groups = cut_groups(table.T)
    last = int(table[: rank.shape[1]].max(axis=1, initial=0).sum())  # the group of the last cut of `rank`
    return [int(np.count_nonzero((own > 0) | (own < -last))) for own in groups[rank.shape[1] :]]


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
        f"{missing:,} of the {total:,} thresholds between neighbouring values and single levels {was} not considered "
        f"({named}); a tree that uses {them} might cost less"
    )
