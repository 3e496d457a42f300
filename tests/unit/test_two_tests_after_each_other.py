"""The checks of depth 2 of a certificate, in numpy and as loops that are not compiled, against trying every tree."""

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification import pair_bound, pair_kernel
from odtc.verification.node_cuts import Rows
from odtc.verification.pair_bound import require_pair
from odtc.verification.pair_kernel import PAUSED, least_pair, tables_of
from odtc.verification.threshold_columns import distinct_columns


def drawn(seed: int, labels: int, least: int = 1) -> tuple[Rows, np.ndarray, np.ndarray]:
    """(rows, the members of a state, their cells): a cell is at random one of few or of many numbers."""
    rng = np.random.default_rng(seed)
    n, many = int(rng.integers(12, 90)), rng.choice([2, 9, 25, 60], 3)
    cells = np.stack([rng.integers(0, most, n) for most in many], axis=1)
    answer = (cells[:, 0] > many[0] // 2) ^ (cells[:, 1] > many[1] // 3)
    wanted = np.where(rng.random(n) < rng.choice([0.6, 0.9]), answer.astype(int), rng.integers(0, labels, n))
    loss = np.ones((n, labels)) * rng.integers(1, 1 + rng.choice([1, 9]), n)[:, None]
    if labels > 2 and seed % 2:
        loss = rng.integers(1, 6, (n, labels)).astype(float)
    loss[np.arange(n), wanted] = 0
    price, count = float(rng.choice([0, 0, 1, 4])), rng.integers(1, 3, n) if least > 1 else np.ones(n, np.int64)
    members = np.flatnonzero(rng.random(n) < rng.choice([0.6, 1.0, 1.0]))
    return Rows(distinct_columns(cells), loss, count.astype(np.int64), price, least), members, cells[members]


def cheapest(rows: Rows, members: np.ndarray, cells: np.ndarray) -> float:
    """What the best tree with a test at its root and at most one below each answer costs, by trying all."""
    loss, count = rows.loss[members], rows.count[members]

    def one_split(here):
        """The least cost of a label for some rows, or of a test of a column and two labels."""
        costs = [loss[here].sum(axis=0).min() if count[here].sum() >= rows.least else np.inf]
        for column in cells[here].T:
            order = np.argsort(column, kind="stable")
            left, held = loss[here][order].cumsum(axis=0)[:-1], count[here][order].cumsum()[:-1]
            fits = (np.diff(column[order]) > 0) & (held >= rows.least) & (count[here].sum() - held >= rows.least)
            paid = left.min(axis=1) + (loss[here].sum(axis=0) - left).min(axis=1) + rows.price
            costs += paid[fits].tolist()
        return min(costs)

    roots = [column <= value for column in cells.T for value in np.unique(column)[:-1]]
    return min((rows.price + one_split(left) + one_split(~left) for left in roots), default=np.inf)


def least(
    rows: Rows, members: np.ndarray, target: int, known: tuple[tuple[np.ndarray, ...], np.ndarray] | None = None
) -> int:
    """What the loops find, which pause after few steps and go on where they were; `known`: from the state before."""
    tables, row = known or tables_of(rows)
    inside = np.zeros(len(rows.count), np.uint8)
    inside[members] = 1
    found = PAUSED
    while found == PAUSED:
        found = least_pair(inside[row], int(rows.price), target, 3 + len(members), *tables)
    return int(found)


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_the_loops_find_a_tree_below_the_target_or_there_is_none(seed, labels):
    rows, members, cells = drawn(seed, labels)
    best = int(cheapest(rows, members, cells))
    assert least(rows, members, best) == best
    assert least(rows, members, best + 1) == best
    assert best <= least(rows, members, best + 7) < best + 7


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("noted", [pair_kernel.NOTED, 2])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_the_state_before_refuse_and_accept_the_same(seed, noted, labels, monkeypatch):
    """States of more and more rows, of fewer rows, and of other rows, one after another; some are refused."""
    monkeypatch.setattr(pair_kernel, "NOTED", noted)
    rows, _, _ = drawn(seed, labels)
    cells, rng = rows.columns.rank, np.random.default_rng(seed)
    order, known = rng.permutation(len(cells)), tables_of(rows)
    sizes = [len(cells) * share // 8 for share in (2, 3, 4, 5, 6, 8, 7, 3, 4, 8)]
    for size in sizes:
        members = np.sort(order[:size] if rng.random() < 0.9 else order[-size:])
        best = cheapest(rows, members, cells[members])
        if np.isfinite(best):
            for more in rng.permutation([0, 0, 1, 5]):
                found = least(rows, members, int(best + more), known)
                assert found == best if more < 2 else best <= found < best + more


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(40))
def test_of_few_rows_and_values_each_cut_counts(seed, labels):
    """Tests of columns of two or three values, the first and the last cut of a column, sides of a row or two."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    cells = np.stack([rng.integers(0, most, n) for most in rng.integers(2, 5, 3)], axis=1)
    loss = rng.integers(0, 6, (n, labels)).astype(float)
    loss -= loss.min(axis=1, keepdims=True)
    loss[np.arange(n), rng.integers(0, labels, n)] += loss.max(axis=1) == 0  # rows of no cost are dropped before
    rows = Rows(distinct_columns(cells), loss, np.ones(n, np.int64), float(seed % 3), 1)
    members = np.flatnonzero(rng.random(n) < (0.7, 1.0)[seed % 2])
    best = cheapest(rows, members, cells[members])
    if not np.isfinite(best):
        return
    assert least(rows, members, int(best)) == best and least(rows, members, int(best) + 1) == best
    require_pair(rows, members, best)
    with pytest.raises(CertificateError):
        require_pair(rows, members, best + 1)


@pytest.mark.parametrize(("labels", "least"), [(2, 1), (3, 1), (2, 4), (3, 2)])
@pytest.mark.parametrize("cells", [200, pair_bound.KERNEL_STEPS])
@pytest.mark.parametrize("seed", [9, 42, 47, *range(100, 106)])
def test_a_target_above_the_best_tree_is_refused_and_no_other(seed, labels, least, cells, monkeypatch):
    monkeypatch.setattr(pair_bound, "KERNEL_STEPS", cells)
    rows, members, known = drawn(seed, labels, least)
    best = cheapest(rows, members, known)
    require_pair(rows, members, best if np.isfinite(best) else 1e6)
    if np.isfinite(best):
        with pytest.raises(CertificateError, match=f"a tree of two splits after each other costs {best:.0f} there"):
            require_pair(rows, members, best + 1)


def test_each_first_column_begins_with_no_cut_evaluated(monkeypatch):
    """As many cuts are held as intervals are halved, of however many columns."""
    monkeypatch.setattr(pair_kernel, "SLOTS", 7)  # two ends, and eleven cuts halved four times
    rng = np.random.default_rng(0)
    cells = np.stack([rng.permutation(12) for _ in range(9)], axis=1)
    loss = np.eye(2)[rng.integers(0, 2, 12)] * rng.integers(1, 9, (12, 1))
    rows, members = Rows(distinct_columns(cells), loss, np.ones(12, np.int64), 0.0, 1), np.arange(12)
    best = int(cheapest(rows, members, cells))
    assert least(rows, members, best) == best and least(rows, members, best + 1) == best
