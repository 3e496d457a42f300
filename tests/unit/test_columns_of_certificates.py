"""Columns of a certificate: ranks of rows, copies of columns, and the cuts that count, by definition."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.errors import CertificateError
from odtc.verification import threshold_columns
from odtc.verification.coverage import count_left_out
from odtc.verification.threshold_columns import (
    ColumnRanks,
    _order,
    cells_of,
    cut_groups,
    distinct_columns,
    left_of,
    rank_columns,
)


def drawn(seed: int, separate: bool) -> Dataset:
    """Numbers and levels, of which some lack."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    X = np.stack([rng.integers(0, most, n) for most in (5, 4, 3)], axis=1).astype(float)
    X[rng.random(X.shape) < 0.2 * (seed % 2)] = np.nan
    X[0] = 0
    features = Feature("a", "numeric"), Feature("b", "numeric"), Feature("c", "categorical", ("u", "v", "w"))
    missing = "separate" if separate else "drop"
    return Dataset("d", X, np.zeros(n, np.int32), features, ("p", "q"), np.ones(n), missing=missing)


@pytest.mark.parametrize("seed", range(20))
def test_the_rank_of_a_row_is_how_many_tests_of_a_column_send_it_right(seed):
    data, rng = drawn(seed, True), np.random.default_rng(seed)
    some = sorted(rng.choice(np.arange(-1, 6) + 0.5, int(rng.integers(0, 4)), replace=False).tolist())
    level = {"kind": "subset", "feature": "c", "values": ["v"]}
    lacks = {"kind": "missing", "feature": "b"}
    numbers = [{"kind": "threshold", "feature": "a", "threshold": cut} for cut in (0.5, 1.5, 2.5)]
    nested = {"kind": "nested", "splits": numbers, "turned": [0, 0, 0]}
    turned = {"kind": "nested", "splits": numbers[::-1], "turned": [1, 1, 1]}
    columns = [{"kind": "threshold", "feature": "a"}, {"kind": "threshold", "feature": "b", "thresholds": some}]
    columns += [level, lacks, nested, turned]
    found = rank_columns(columns, data, left_of)
    cells = data.X[:, 0]
    own = sorted(set(cells[~np.isnan(cells)].tolist()))[:-1]
    for row in range(data.n_rows):
        a, b, c = data.X[row]
        right = [sum(not a <= cut for cut in own), sum(not b <= cut for cut in some), int(c != 1), int(not np.isnan(b))]
        right += [sum(not a <= cut for cut in (0.5, 1.5, 2.5)), sum(a <= cut for cut in (0.5, 1.5, 2.5))]
        assert found.rank[row].tolist() == right
    assert found.size.tolist() == [len(own), len(some), 1, 1, 3, 3] and found.complete == {"a"}
    # Ranks of few cuts are stored in a byte each, as long as all of them can be.
    for cuts, dtype in ((127, np.int8), (128, np.int32)):
        values = np.arange(data.n_rows, dtype=float)
        wide = Dataset("d", values[:, None], data.y, data.features[:1], ("p",), data.weight)
        many = [{"kind": "threshold", "feature": "a", "thresholds": (np.arange(cuts) - cuts - 0.5).tolist()}]
        ranks = rank_columns(many, wide, left_of).rank
        assert ranks.dtype == dtype and (ranks == cuts).all()
    assert cells_of("b", data).tolist() == pytest.approx(data.X[:, 1], nan_ok=True)


def test_the_features_of_a_wide_table_are_not_walked_for_each_column():
    """Of 10,000 columns that took as long as all else."""

    class Walked(tuple):
        walks = 0

        def __iter__(self):
            Walked.walks += 1
            return super().__iter__()

    data = drawn(0, True)
    names = [replace(data.features[0], name=f"n{at}") for at in range(50)]
    wide = Dataset("d", np.repeat(data.X[:, :1], 50, axis=1), data.y, Walked(names), ("p",), data.weight)
    columns = [{"kind": "threshold", "feature": one.name} for one in names]
    columns += [{"kind": "threshold", "feature": one.name, "thresholds": [0.5]} for one in names]
    columns += [{"kind": "missing", "feature": one.name} for one in names]
    assert rank_columns(columns, wide, left_of).rank.shape == (data.n_rows, 150) and Walked.walks <= 1


def test_a_test_sends_those_rows_left_that_have_one_of_its_values():
    """Numbers as they are, levels by their names; cells that lack are in no such test."""
    data = replace(drawn(0, True), X=np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 3, np.nan], [np.nan, 1, 0]]))
    for values, left in (
        ("u", [0, 4]),
        ("uv", [0, 1, 4]),
        ("wv", [1, 2]),
        ("uvw", [0, 1, 2, 4]),
        ("x", []),
        ("xw", [2]),
    ):
        test = {"kind": "subset", "feature": "c", "values": list(values)}
        assert np.flatnonzero(left_of(test, data)).tolist() == left, values
    for values, left in (([0], [0, 3]), ([2, 1], [1, 2]), ([0, 1, 2], [0, 1, 2, 3]), ([7], [])):
        test = {"kind": "subset", "feature": "a", "values": values}
        assert np.flatnonzero(left_of(test, data)).tolist() == left, values
    for test, left in (({"kind": "threshold", "threshold": 1}, [0, 1, 4]), ({"kind": "missing"}, [])):
        assert np.flatnonzero(left_of(test | {"feature": "b"}, data)).tolist() == left
    assert np.flatnonzero(left_of({"kind": "missing", "feature": "c"}, data)).tolist() == [3]


def test_columns_that_are_none_are_refused():
    data = drawn(0, True)
    two = [{"kind": "threshold", "feature": "a", "threshold": cut} for cut in (0.5, 1.5)]
    assert rank_columns([{"kind": "nested", "splits": two, "turned": [0, 0]}], data, left_of)
    other = Dataset("d", np.arange(4.0)[:, None], np.zeros(4, np.int32), data.features[:1], ("p",), np.ones(4))
    for tests, turned in ((two[::-1], [0, 0]), (two, [1, 1]), (two, [0, 1])):
        with pytest.raises(ValueError, match="splits that are not nested"):
            rank_columns([{"kind": "nested", "splits": tests, "turned": turned}], other, left_of)
    for tests, turned in ((two, [0]), (two[:1], [0, 0]), (two, [])):
        with pytest.raises(ValueError, match="zip"):
            rank_columns([{"kind": "nested", "splits": tests, "turned": turned}], other, left_of)
    for wrong in ([1.0, 1.0], [2.0, 1.0], [0.0, 2.0, 1.0], [1.0, np.inf], [-np.inf, 1.0], [np.nan], [1.0, 2.0, 2.0]):
        with pytest.raises(ValueError, match="not finite numbers in rising order"):
            rank_columns([{"kind": "threshold", "feature": "a", "thresholds": wrong}], other, left_of)
    with pytest.raises(ValueError, match="no columns of splits"):
        rank_columns([], other, left_of)
    with pytest.raises(CertificateError, match="splits on the column 'z'"):
        rank_columns([{"kind": "threshold", "feature": "z"}], other, left_of)


def sides_of(data: Dataset, at: int) -> list[np.ndarray]:
    """One side of each split by a feature, each split once."""
    cells, feature = data.X[:, at], data.features[at]
    known, lacking = sorted(set(cells[~np.isnan(cells)].tolist())), np.isnan(cells)
    if feature.has_order:
        found = [cells <= value for value in known[:-1]]
    elif lacking.any():
        found = [cells == value for value in known]
    else:
        found = [cells == value for value in known[: len(known) - (len(known) <= 2)]]
    separates = lacking.any() and not lacking.all()
    return found + ([lacking] if separates and data.missing == "separate" else [])


@pytest.fixture(params=[False, True], ids=["", "one key for all"])
def alike(request, monkeypatch):
    """Keys narrow what is compared: where all are the same, everything is."""
    if request.param:
        monkeypatch.setattr(threshold_columns, "row_tokens", lambda n: np.zeros(n, np.uint64))


@pytest.mark.parametrize("by_feature", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_what_is_left_out_is_what_no_cut_of_a_column_separates(seed, by_feature, alike):
    """With the features of the columns, those of other features do not count."""
    data, rng = drawn(seed, bool(seed // 2 % 2)), np.random.default_rng(seed)
    if seed % 5 == 3:  # a column without a cell
        data = replace(data, X=np.where(np.arange(3) == 1, np.nan, data.X))
    filled = np.where(np.isnan(data.X), 9, data.X)
    names = [feature.name for feature in data.features]
    of = rng.choice(3, 4)
    ranks = [filled[:, at] if rng.random() < 0.7 else rng.permutation(filled[:, at]) for at in of]
    rank = np.stack([np.unique(own, return_inverse=True)[1] for own in ranks], axis=1)
    shown = [names[int(rng.integers(3))] if rng.random() < 0.3 else names[at] for at in of]
    complete = frozenset(name for name in ("a", "b") if rng.random() < 0.2)
    total, lacking = 0, {}
    for at, feature in enumerate(data.features):
        own = rank[:, [name == feature.name for name in shown]] if by_feature else rank
        cuts = [column <= cut for column in own.T for cut in range(int(column.max()) + 1)]
        cuts += [~cut for cut in cuts] + [np.ones(data.n_rows, bool), np.zeros(data.n_rows, bool)]
        sides = sides_of(data, at)
        nested = feature.has_order and feature.name in complete
        asked = [side for side in sides if not (nested and not np.isnan(data.X[side, at]).any())]
        out = sum(not any((side == cut).all() for cut in cuts) for side in asked)
        total += len(sides)
        if out:
            lacking[feature.name] = out, len(sides)
    given = ColumnRanks(rank, rank.max(axis=0), complete)
    assert count_left_out(data, given, of=shown if by_feature else None) == (total, lacking)


def ranks(seed: int) -> np.ndarray:
    """int (rows, columns): some columns are others mirrored, with gaps, coarser or constant."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    first, second = rng.integers(0, 4, n), rng.integers(0, 3, n)
    every = [first, 3 - first, 2 * first + 5, np.minimum(first, 1), second, np.full(n, 4), first > 1, 2 - second]
    return np.stack([every[at] for at in rng.permutation(len(every))[:6]], axis=1).astype(int)


@pytest.mark.parametrize("seed", range(40))
def test_a_cut_of_a_given_column_is_one_of_those_that_are_kept(seed):
    rank = ranks(seed)
    found, kept = distinct_columns(rank), {}
    assert found.rank.shape[1] == len(found.order) and found.rank.flags.c_contiguous
    ways = [frozenset([tuple(c), tuple(c.max() - c)]) for c in found.rank.T]
    assert len(set(ways)) == len(ways)  # none is there twice, nor mirrored
    for column, k in product(range(rank.shape[1]), range(-1, 12)):
        left = rank[:, column] <= k
        if left.all() or not left.any():
            with pytest.raises(ValueError, match="separates no rows"):
                found.cut(column, k)
            continue
        at, cut, turned = found.cut(column, k)
        assert at == found.place[column] and ((found.rank[:, at] <= cut) == (left != turned)).all()
        assert turned == found.mirrored[column]
    copies, at = found.copy.tolist(), 0
    for column in found.rank.T:
        for cut in range(int(column.max()) + 1):
            left = column <= cut
            way = frozenset([left.tobytes(), (~left).tobytes()])
            assert copies[at] == (way in kept and not left.all()), (at, cut)
            kept.setdefault(way, at)
            at += 1
    assert at == len(copies)


@pytest.mark.parametrize("most", [3, 2**16 - 1, 2**16, 3 * 2**16])
def test_rows_are_put_in_the_order_of_their_ranks_however_many_there_are(most):
    rank = np.arange(most, -1, -1, dtype=np.int32)
    assert _order(rank).tolist() == list(range(most, -1, -1))
    assert _order(np.append(rank, rank)).tolist()[:4] == [most, 2 * most + 1, most - 1, 2 * most]


@pytest.mark.parametrize("seed", range(40))
def test_cuts_that_separate_rows_alike_are_of_one_group(seed, alike):
    table = distinct_columns(ranks(seed)).rank
    if not table.shape[1]:
        return
    groups = cut_groups(table)
    first: dict = {}
    for column, own in zip(table.T, groups):
        assert len(own) == column.max() + 1 and own[-1] == 0
        for cut, group in enumerate(own[:-1].tolist()):
            left = column <= cut
            way = frozenset([left.tobytes(), (~left).tobytes()])
            assert (group > 0) == (way not in first)
            assert first.setdefault(way, group) == abs(group)
    assert len(set(first.values())) == len(first)


@pytest.mark.parametrize("rank", [np.full((3, 2), 4), np.zeros((0, 2), int), np.zeros((1, 3), int)], ids=str)
def test_of_columns_that_separate_nothing_none_is_kept(rank):
    found = distinct_columns(rank)
    assert cut_groups(found.rank) == []
    assert found.rank.shape == (len(rank), 0) and found.order.shape == (0, len(rank)) and not len(found.copy)
    for column in range(rank.shape[1]):
        with pytest.raises(ValueError, match="separates no rows"):
            found.cut(column, 0)
