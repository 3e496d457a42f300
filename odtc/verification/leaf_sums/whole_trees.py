"""Limits on all splits of a tree together: at most N different splits, or all columns of a group or none of them.

    "splits": N, "together": [["a", "b"], …]

A certificate under one of them lists no tried cuts: the check tries all trees, of at most `MOST_TESTS` different splits
(odtc.verification.leaf_sums.sets_of_splits) or of at most `LEVELS` levels (odtc.verification.leaf_sums.all_or_none).
"""

from fractions import Fraction
from math import comb
from typing import NamedTuple

from odtc.base.text import count_of
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.all_or_none import MOST_NEEDED, AllOrNone
from odtc.verification.leaf_sums.sets_of_splits import SetsOfSplits
from odtc.verification.threshold_columns import features_of

MOST_TESTS = 5  # maximum number N of different splits of a tree, which have 3^N states
MOST_SETS = 50_000  # maximum number of sets of N - 1 splits, each of which takes about a millisecond
LEVELS = 3


class WholeTrees(NamedTuple):
    """Limits on all splits of a tree: a maximum number of different splits, None for any number; and groups of columns
    of which a tree uses all or none."""

    splits: int | None = None
    together: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, facts: dict) -> "WholeTrees":
        """Return the limits of a certificate. Raises ValueError for limits that are not valid."""
        found = cls(facts.get("splits"), tuple(map(tuple, facts.get("together", ()))))
        if found.splits is not None and found.splits < 0:
            raise ValueError(f"its trees have {count_of(found.splits, 'split', '')}")
        if any(len(set(group)) < 2 for group in found.together):
            raise ValueError("its trees split on fewer than two columns together")
        return found

    @property
    def nothing(self) -> bool:
        """Return whether there are no limits, so that all trees satisfy them."""
        return self == WholeTrees()

    @property
    def words(self) -> list[str]:
        """The same as constraints are written."""
        few = [] if self.splits is None else [f"splits <= {self.splits}"]
        return few + [f"together[{','.join(map(_quoted, group))}]" for group in self.together]

    def why_not(self, depth: int, leaves: int, n_candidate_splits: int) -> str:
        """Return why no certificate supports the limits, for trees of a depth with at most this many leaves (0 for any
        number) over this many splits; "" if one does."""
        if self.splits is not None and self.together:
            return "no certificate supports `splits <= N` together with `together`"
        if self.splits is not None:
            most = min(self.splits, n_candidate_splits)
            if most > MOST_TESTS or comb(n_candidate_splits, max(0, most - 1)) > MOST_SETS:
                return (
                    f"a certificate of `splits <= N` tries all sets of N - 1 splits, at most {MOST_SETS:,} of them, "
                    f"and N is at most {MOST_TESTS}"
                )
        if self.together:
            if depth > LEVELS or leaves:
                return (
                    "a certificate of `together` tries all trees of at most "
                    f"{count_of(LEVELS, 'level', '')}, of any number of leaves"
                )
            if len({name for group in self.together for name in group}) > MOST_NEEDED:
                return f"a certificate of `together` supports at most {count_of(MOST_NEEDED, 'column', '')}"
        return ""

    def features(self, columns: list[dict]) -> list[str] | None:
        """Return the data column of each column of a certificate, if the limits distinguish them; None if not."""
        return features_of(columns) if self.together else None

    def expect_kept(self, splits: list[dict]) -> None:
        """Raise CertificateError if a tree of these splits does not satisfy the limits."""
        asked = {split.get("feature") for split in splits}
        kept = self.splits is None or len(set(map(str, splits))) <= self.splits
        if not kept or any(asked & set(group) not in (set(), set(group)) for group in self.together):
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
        if refused := self.why_not(depth, limit.leaves, int(bound.cuts.sum())):
            raise ValueError(f"its limits are not supported: {refused}")
        if self.splits is not None:
            return SetsOfSplits(bound, limit).least(self.splits, depth, need)
        if any("feature" not in column for column in columns):
            raise ValueError(
                "a column of it holds splits of several columns of the data, which `together` distinguishes"
            )
        return AllOrNone(bound, [column["feature"] for column in columns], limit.rows).least(self.together, depth, need)


def _quoted(name: str) -> str:
    """Return a name in the form of an argument of a constraint."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') or name != name.strip() else name
