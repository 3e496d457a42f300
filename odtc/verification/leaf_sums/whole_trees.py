"""Limits on all splits of a tree together: at most N different splits, or columns; all columns of a group or none of
them; at most one of them.

    "splits": N, "features": N, "together": [["a", "b"], …], "apart": [["a", "b"], …]

A certificate under one of them lists no tried cuts: the check tries all trees, of at most `MOST_TESTS` different splits
(odtc.verification.leaf_sums.whole_trees) or of at most `LEVELS` levels (odtc.verification.leaf_sums.whole_trees).
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain, combinations, product
from math import comb, prod
from typing import NamedTuple

import numpy as np

from odtc.base import deadline
from odtc.base.text import count_of
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.limits import Limit
from odtc.verification.threshold_columns import features_of

MOST_TESTS = 5  # maximum number N of different splits of a tree, which have 3^N states
MOST_SETS = 50_000  # maximum number of sets of N - 1 splits, each of which takes about a millisecond
LEVELS = 3
MOST_CHOICES = 1_000  # maximum number of sets of columns, over each of which all trees are tried


MOST_NEEDED = 6  # maximum number of needed columns, which are distributed to two sides in all ways
NONE: frozenset[str] = frozenset()


FREE = 2


class WholeTrees(NamedTuple):
    """Limits on all splits of a tree: a maximum number of different splits and of columns, None for any number; groups
    of columns of which a tree uses all or none, and of which it uses at most one."""

    splits: int | None = None
    together: tuple[tuple[str, ...], ...] = ()
    columns: int | None = None
    apart: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, facts: dict) -> "WholeTrees":
        """Return the limits of a certificate. Raises ValueError for limits that are not valid."""
        together, apart = (tuple(map(tuple, facts.get(key, ()))) for key in ("together", "apart"))
        found = cls(facts.get("splits"), together, facts.get("features"), apart)
        for most, word in ((found.splits, "split"), (found.columns, "column")):
            if most is not None and most < 0:
                raise ValueError(f"its trees have {count_of(most, word, '')}")
        if any(len(set(group)) < 2 for group in together + apart):
            raise ValueError("its trees split on fewer than two columns together")
        return found

    @property
    def of_columns(self) -> bool:
        """Return whether the limits distinguish columns."""
        return self != WholeTrees(self.splits)

    @property
    def nothing(self) -> bool:
        """Return whether there are no limits, so that all trees satisfy them."""
        return self == WholeTrees()

    @property
    def words(self) -> list[str]:
        """The same as constraints are written."""
        counts = ("splits", self.splits), ("features", self.columns)
        groups = ("together", self.together), ("never_together", self.apart)
        return [f"{name} <= {most}" for name, most in counts if most is not None] + [
            f"{name}[{','.join(map(_quoted, group))}]" for name, found in groups for group in found
        ]

    def why_not(self, depth: int, leaves: int, n_candidate_splits: int, n_columns: int = 0) -> str:
        """Return why no certificate supports the limits, for trees of a depth with at most this many leaves (0 for any
        number) over this many splits of this many columns; "" if one does."""
        if self.splits is not None and self.of_columns:
            return "no certificate supports `splits <= N` together with limits on columns"
        if self.splits is not None:
            most = min(self.splits, n_candidate_splits)
            if most > MOST_TESTS or comb(n_candidate_splits, max(0, most - 1)) > MOST_SETS:
                return (
                    f"a certificate of `splits <= N` tries all sets of N - 1 splits, at most {MOST_SETS:,} of them, "
                    f"and N is at most {MOST_TESTS}"
                )
        if self.of_columns:
            if depth > LEVELS or leaves:
                return (
                    f"a certificate of {' and '.join(self.words)} tries all trees of at most "
                    f"{count_of(LEVELS, 'level', '')}, of any number of leaves"
                )
            most = n_columns if self.columns is None else min(self.columns, n_columns)
            if 2 ** len(self.together) * prod(map(len, self.apart)) * comb(n_columns, most) > MOST_CHOICES:
                return (
                    f"a certificate of {' and '.join(self.words)} tries all trees over each set of columns, and these "
                    f"sets are more than {MOST_CHOICES:,}"
                )
            if len({name for group in self.together for name in group}) > MOST_NEEDED:
                return f"a certificate of `together` supports at most {count_of(MOST_NEEDED, 'column', '')}"
        return ""

    def features(self, columns: list[dict]) -> list[str] | None:
        """Return the data column of each column of a certificate, if the limits distinguish them; None if not."""
        return features_of(columns) if self.of_columns else None

    def expect_kept(self, splits: list[dict]) -> None:
        """Raise CertificateError if a tree of these splits does not satisfy the limits."""
        asked = {split.get("feature") for split in splits}
        kept = self.splits is None or len(set(map(str, splits))) <= self.splits
        kept &= self.columns is None or len(asked) <= self.columns
        kept &= all(asked & set(group) in (set(), set(group)) for group in self.together)
        if not kept or any(len(asked & set(group)) > 1 for group in self.apart):
            raise CertificateError(f"the tree of the certificate does not satisfy {' and '.join(self.words)}")

    def least(self, bound, columns: list[dict], depth: int, limit, need: Fraction) -> Fraction:
        """Return a lower bound on the cost of any tree of this depth that satisfies the limits, with leaves within a
        limit.

        Parameters
        ----------
        bound : odtc.verification.leaf_sums.bound.LeafSumsBound
        columns : list of dict, of the certificate
        depth : int
        limit : odtc.verification.leaf_sums.limits.Limit
        need : Fraction, the bound to reach
        """
        if self.of_columns and any("feature" not in column for column in columns):
            raise ValueError("a column of it holds splits of several columns of the data, which its limits distinguish")
        names = [column["feature"] for column in columns] if self.of_columns else []
        if refused := self.why_not(depth, limit.leaves, int(bound.cuts.sum()), len(set(names))):
            raise ValueError(f"its limits are not supported: {refused}")
        if self.splits is not None:
            return SetsOfSplits(bound, limit).least(self.splits, depth, need)
        return AllOrNone(bound, names, limit.rows).least(self.choices(names), depth, need)

    def choices(self, names: list[str]) -> set[tuple[frozenset[str], frozenset[str]]]:
        """Return sets of columns that a tree may use and that it must use; each tree within the limits satisfies one of
        them, and no other tree does."""
        found = set()
        for asked in product((False, True), repeat=len(self.together)):
            needed = frozenset(chain.from_iterable(group for group, some in zip(self.together, asked) if some))
            barred = {name for group, some in zip(self.together, asked) if not some for name in group}
            for kept in product(*self.apart):
                others = {name for group, one in zip(self.apart, kept) for name in group if name != one}
                free = set(names) - barred - others
                most = len(free) if self.columns is None else min(self.columns, len(free))
                used = map(frozenset, combinations(sorted(free), most))
                found |= {(own, needed) for own in used if needed <= own}
        return found


def _quoted(name: str) -> str:
    """Return a name in the form of an argument of a constraint."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') or name != name.strip() else name


# Lower bounds for trees over some of the columns that must use others of them, by trying all trees.
#
# The check tries each choice of the columns that a tree may use and of those that it needs: the tree splits on a needed
# column at the root, or on one of the sides of the root, to which the needed columns are distributed in all ways.
# LeafSumsBound bounds trees of two levels without needed columns. A root is left out if the best trees on its sides
# already cost too much without needed columns. Costs are rounded; decisive costs are computed again in whole numbers.
# Nothing of the search is used.


class AllOrNone:
    """The trees over some columns.

    Parameters
    ----------
    bound : odtc.verification.leaf_sums.bound.LeafSumsBound
    columns : list of str, the column of the data of each column of splits
    least : int, rows of a leaf
    """

    def __init__(self, bound, columns: list[str], least: int):
        self.bound, self.names, self.limit = bound, np.array(columns, object), Limit(least)
        self._parts: dict = {}  # the bound over some of the columns
        self._known: dict = {}  # rounded costs

    def least(self, choices: Iterable[tuple[frozenset[str], frozenset[str]]], depth: int, need: Fraction) -> Fraction:
        """Return a lower bound on the cost of any tree of this depth over one of the sets of columns that uses the
        columns needed with it; a bound that just misses `need` is counted in whole numbers."""
        every = np.arange(len(self.bound.rank))
        floor, lowest = self.bound.floor(every), np.inf
        for own, needed in choices:
            used = tuple(at for at, name in enumerate(self.names) if name in own)
            found = self._best(every, depth, used, needed)
            if need - self.bound.slack <= found < need and floor < need:
                found = self._exact(every, depth, used, needed)
            lowest = min(lowest, found)
        return max(floor, Fraction(lowest))

    def _best(self, rows: np.ndarray, depth: int, used: tuple[int, ...], needed: frozenset[str]) -> float:
        """Return a rounded lower bound on the cost of the best tree over some columns that uses all needed ones."""
        if used and not needed and depth <= 2:
            return self._over(used)._rounded(rows, depth, self.limit)
        key = rows.tobytes(), depth, used, needed
        if key not in self._known:
            leaf = np.inf if needed else self.bound._leaf(rows, False)
            self._known[key] = min([leaf, *(cost for cost, *_ in self._roots(rows, depth, used, needed))])
        return self._known[key]

    def _exact(self, rows: np.ndarray, depth: int, used: tuple[int, ...], needed: frozenset[str]) -> Fraction | float:
        """Return the cost of that tree, in whole numbers."""
        if used and not needed and depth <= 2:
            return self._over(used).best(rows, depth, None, self.limit)
        found = np.inf if needed else self.bound._leaf(rows)
        for cost, column, cut in sorted(self._roots(rows, depth, used, needed)):
            if cost >= found:
                break
            left = self.bound.rank[rows, column] <= cut
            for one, two in _dealt(needed - {self.names[column]}):
                below = (
                    self._exact(rows[left], depth - 1, used, one),
                    self._exact(rows[~left], depth - 1, used, two),
                )
                found = min(found, self.bound.price + sum(below))
        return found

    def _roots(self, rows: np.ndarray, depth: int, used: tuple[int, ...], needed: frozenset[str]) -> list[tuple]:
        """Return (rounded lower bound on the cost, column, cut) of trees by their roots; those that are left out cost
        more than the best of these."""
        deadline.check()
        if len(needed) >= 2**depth or not depth:
            return []
        if depth == 1:
            own = tuple(at for at in used if not needed or self.names[at] in needed)
            columns, cuts, costs = self._over(own)._roots(rows, 1, self.limit) if own else ((), (), np.zeros(0))
            return [(cost, own[at], cut) for cost, at, cut in zip((costs - self.bound.near).tolist(), columns, cuts)]
        found, lowest = [], np.inf
        for column in used:
            rank, name = self.bound.rank[rows, column], self.names[column]
            for cut in np.unique(rank)[:-1].tolist():
                left = rank <= cut
                sides = rows[left], rows[~left]
                if min(map(len, sides)) < self.limit.rows:
                    continue
                if self._both(sides, depth, used, (NONE, NONE)) > lowest + self.bound.slack:
                    continue
                cost = min(self._both(sides, depth, used, parts) for parts in _dealt(needed - {name}))
                found.append((cost, column, cut))
                lowest = min(lowest, cost)
        return found

    def _both(self, sides: tuple, depth: int, used: tuple[int, ...], needed: tuple) -> float:
        """Return the bound of a root with these sides, each with its needed columns."""
        return float(self.bound.price) + sum(self._best(rows, depth - 1, used, own) for rows, own in zip(sides, needed))

    def _over(self, used: tuple[int, ...]):
        """Return the bound over some of the columns."""
        if used not in self._parts:
            self._parts[used] = self.bound.over(list(used))
        return self._parts[used]


def _dealt(needed: frozenset[str]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return all ways to distribute the needed columns to the left and the right side."""
    parts = chain.from_iterable(combinations(sorted(needed), size) for size in range(len(needed) + 1))
    return [(frozenset(some), needed - frozenset(some)) for some in parts]


# Lower bounds on the costs of trees of at most N different splits, by trying all sets of N splits.
#
# N splits divide the rows into cells. A node is described by a state: each split has the result 0, the result 1, or is
# still free. The sums of all states of N - 1 splits with each last split are computed at once, and the best tree below
# a state is the leaf, or a free split with the best trees on its two sides. Sums are rounded; for decisive sets they
# are computed again in whole numbers. Nothing of the search is used.


class SetsOfSplits:
    """The sets of splits of some rows.

    Parameters
    ----------
    bound : odtc.verification.leaf_sums.bound.LeafSumsBound
    limit : odtc.verification.leaf_sums.limits.Limit
    """

    def __init__(self, bound, limit):
        self.bound, self.limit = bound, limit
        measure, rank = bound.measure, bound.rank
        self.told = np.vstack([measure.rounded, np.ones(len(rank))])
        left = [column <= cut for column in rank.T for cut in np.unique(column)[:-1]]
        apart = np.array(left, bool).reshape(-1, len(rank))
        apart = apart != apart[:, :1]  # splits with exchanged sides count as equal
        first = np.unique(np.packbits(apart, axis=1), axis=0, return_index=True)[1]
        self.answers = apart[np.sort(first)].astype(np.int64)  # (splits, rows)

    def least(self, most: int, depth: int, need: Fraction) -> Fraction:
        """Return a lower bound on the cost of any tree of at most this many different splits and levels; a bound that
        just misses `need` is counted in whole numbers."""
        bound, every = self.bound, np.arange(len(self.bound.rank))
        floor, most = bound.floor(every), min(most, len(self.answers))
        if not most:
            return bound._leaf(every)
        missed, lowest, above = [], np.inf, np.nextafter(float(need), np.inf)
        for held, first, costs in self._costs(most, depth):
            costs -= bound.near
            lowest = min(lowest, float(costs.min()))
            missed += [(*held, first + at) for at in np.flatnonzero(costs < above).tolist()]
        if lowest >= need - bound.slack and floor < need:
            lowest = min([need, *(self._exact(splits, depth) for splits in missed)])
        return max(floor, Fraction(lowest))

    def _costs(self, most: int, depth: int) -> Iterator[tuple[tuple[int, ...], int, np.ndarray]]:
        """Yield (fixed splits, the first of the last splits, float64 (last splits,): the cost of the best tree)."""
        measure, answers = self.bound.measure, self.answers
        for held in combinations(range(len(answers) - 1), most - 1):
            deadline.check()
            first = held[-1] + 1 if held else 0
            cell = (1 << np.arange(len(held))[::-1]) @ answers[list(held)] if held else np.zeros(answers.shape[1], int)
            apart = np.zeros((len(self.told), 2 ** len(held), answers.shape[1]))
            apart[:, cell, np.arange(answers.shape[1])] = self.told
            ones = apart.reshape(-1, answers.shape[1]) @ answers[first:].T.astype(float)
            ones = ones.reshape(*apart.shape[:2], -1)
            sums = np.stack([apart.sum(axis=2)[:, :, None] - ones, ones], axis=2)
            sums = sums.reshape(len(self.told), *[2] * most, -1)
            for axis in range(1, most + 1):
                sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
            w, s, q, rows = sums
            leaf = np.where(rows >= self.limit.rows, measure.costs(w, s, q), np.inf)
            yield held, first, self._below(most, depth, leaf.__getitem__, np.minimum, float(self.bound.price))

    def _exact(self, splits: tuple[int, ...], depth: int) -> Fraction | float:
        """Return the cost of the best tree over these splits, in whole numbers."""
        deadline.check()
        answers = self.answers[list(splits)]

        def leaf(state: tuple[int, ...]) -> Fraction | float:
            rows = np.flatnonzero(
                np.all([one == answer for one, answer in zip(answers, state) if answer != FREE], axis=0)
                if set(state) != {FREE}
                else np.ones(answers.shape[1], bool)
            )
            return self.bound._leaf(rows) if len(rows) >= self.limit.rows else np.inf

        return self._below(len(splits), depth, leaf, min, self.bound.price)

    def _below(self, most: int, depth: int, leaf: Callable, least: Callable, price):
        """Return the cost of the best tree, from the costs of leaves at the states."""
        known: dict = {}

        def best(state: tuple[int, ...], height: int, limit):
            limit, height = limit.at(min(height, state.count(FREE)))
            if (state, height, limit) in known:
                return known[state, height, limit]
            found = leaf(state)
            for axis in range(most) if height else ():
                if state[axis] != FREE:
                    continue
                below = [(*state[:axis], answer, *state[axis + 1 :]) for answer in (0, 1)]
                for share in limit.shares(height):
                    one, two = map(best, below, (height - 1, height - 1), limit.of_sides(share))
                    found = least(found, price + one + two)
            known[state, height, limit] = found
            return found

        return best((FREE,) * most, depth, self.limit)
