"""The number of splits that the columns of a certificate leave out equals a count over each side and each cut."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.verification.coverage import count_left_out
from odtc.verification.threshold_columns import ColumnRanks, distinct_columns


def counted(dataset: Dataset, ranks: ColumnRanks):
    """The same, side by side."""
    total, lacking = 0, {}
    for at, feature in enumerate(dataset.features):
        cells = dataset.X[:, at]
        known = ~np.isnan(cells)
        values = sorted(set(cells[known]))
        if feature.kind == NUMERIC:
            sides = [(cells <= value, feature.name in ranks.complete) for value in values[:-1]]
        else:
            levels = values[:-1] if len(values) == 2 and known.all() else values
            sides = [(cells == value, False) for value in levels if not (cells == value).all()]
        if known.any() and not known.all() and dataset.missing == "separate":
            sides.append((~known, False))
        cuts = [rank <= cut for rank in ranks.rank.T for cut in set(rank)]
        cuts += [~cut for cut in cuts] + [np.ones(len(cells), bool), np.zeros(len(cells), bool)]
        absent = sum(not complete and not any((side == cut).all() for cut in cuts) for side, complete in sides)
        total += len(sides)
        if absent:
            lacking[feature.name] = absent, len(sides)
    return total, lacking


@pytest.mark.parametrize("seed", range(60))
def test_the_splits_that_are_left_out_are_those_that_no_cut_makes(seed):
    rng = np.random.default_rng(seed)
    rows, width = rng.integers(1, 9), rng.integers(1, 5)
    X = rng.integers(0, rng.integers(1, 5), (rows, width)).astype(float)
    X[rng.random((rows, width)) < rng.choice([0, 0.2])] = np.nan
    features = [Feature(f"c{at}", kind) for at, kind in enumerate(rng.choice([NUMERIC, "categorical"], width))]
    features = [feature if feature.kind == NUMERIC else replace(feature, levels=tuple("abcd")) for feature in features]
    missing = str(rng.choice(["separate", "drop"]))
    labels = np.zeros(rows, np.int32)
    dataset = Dataset("drawn", X, labels, tuple(features), ("no", "yes"), np.ones(rows), missing=missing)
    full = np.where(np.isnan(X), 9, X)
    ranks = [rng.permutation(full[:, at]) if rng.random() < 0.3 else full[:, at] for at in rng.integers(0, width, 3)]
    ranks.append(X[:, 0] == rng.integers(0, 4))
    complete = frozenset(feature.name for feature in features if rng.random() < 0.2)
    rank = np.stack([np.unique(some, return_inverse=True)[1] for some in ranks], axis=1)
    given = ColumnRanks(rank, rank.max(axis=0), complete)
    assert count_left_out(dataset, given) == counted(dataset, given)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("seed", range(20))
def test_columns_of_one_test_have_the_cuts_that_a_sort_finds(seed, dtype):
    """Most columns are one test, and are not sorted; one that sends all rows one way has no cut."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 12))
    drawn = [random.integers(0, random.integers(1, 5), n) + random.integers(0, 2) for _ in range(5)]
    rank = np.array([*drawn, np.zeros(n, int), np.ones(n, int)], dtype).T
    found = distinct_columns(rank)
    assert [values.tolist() for values in found.values] == [sorted(set(column)) for column in rank.T.tolist()]
    for place, order in enumerate(found.order):
        assert (np.diff(found.rank[order, place]) >= 0).all() and sorted(order) == list(range(n))
    for given, place in enumerate(found.place.tolist()):
        sides = {tuple(rank[:, given] <= value) for value in found.values[given][:-1].tolist()}
        assert (place < 0) == (not sides)
        if place >= 0:
            kept = {tuple(found.rank[:, place] <= cut) for cut in range(int(found.rank[:, place].max()))}
            turned = {tuple(not one for one in side) for side in kept}
            assert sides == (turned if found.mirrored[given] else kept)
