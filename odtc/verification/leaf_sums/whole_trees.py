"""Limits on all splits of a tree together: at most N different splits, or columns; all columns of a group or none of
them; at most one of them.

    "splits": N, "features": N, "together": [["a", "b"], …], "apart": [["a", "b"], …]

A certificate under one of them lists no tried cuts: the check tries all trees, of at most `MOST_TESTS` different splits
(odtc.verification.leaf_sums.sets_of_splits) or of at most `LEVELS` levels (odtc.verification.leaf_sums.needed_columns).
"""

from fractions import Fraction
from itertools import chain, combinations, product
from math import comb, prod
from typing import NamedTuple

from odtc.base.spec_fields import quoted
from odtc.base.text import count_of
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.needed_columns import AllOrNone
from odtc.verification.leaf_sums.sets_of_splits import SetsOfSplits
from odtc.verification.threshold_columns import features_of

MOST_TESTS = 5  # maximum number N of different splits of a tree, which have 3^N states
MOST_SETS = 50_000  # maximum number of sets of N - 1 splits, each of which takes about a millisecond
LEVELS = 3  # maximum depth of trees that are all tried over each set of columns
MOST_CHOICES = 1_000  # maximum number of sets of columns, over each of which all trees are tried
MOST_NEEDED = 6  # maximum number of needed columns, which are distributed to two sides in all ways


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
            f"{name}[{','.join(map(quoted, group))}]" for name, found in groups for group in found
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
