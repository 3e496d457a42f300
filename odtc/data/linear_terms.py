"""Terms of hyperplanes (numbers scaled to [0, 1], and indicators of levels), and hyperplanes in original units.

A model finds h·z <= g over scaled columns z. `LinearTerms.split` converts it to a split in the units of the data, with
as few digits as the rows allow: a coefficient is rounded, or left out, only if each relevant row stays on its side and
half of the gap between the sides remains. The bound is the shortest number in the middle of the gap. So the tree uses
exactly the numbers that are displayed.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from odtc.algorithms.robust_lp import solve_lp
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import whole_numbers
from odtc.base.wording import option
from odtc.data.binary_splits.column_splits import midpoints
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.encoding import Encoded
from odtc.data.splits import Oblique, Split, Subset, Term, Threshold
from odtc.errors import ChoiceError, DataError

MAX_CELLS = 300_000  # of the rows of the linear program for a sparse hyperplane
FAR = 1e9  # `by_quantiles` clips cells to ± this, so that sums stay finite


@value_class
class LinearTerms:
    """Scaled terms: column j of `Z` (float64, (rows, terms)) is `terms[j]` with weight 1, minus low[j], divided by
    span[j]. It is in [0, 1] unless `by_quantiles` scaled it."""

    Z: np.ndarray
    terms: tuple[Term, ...]
    low: np.ndarray
    span: np.ndarray
    features: tuple[Feature, ...]
    values: np.ndarray  # the rows as in Dataset.X
    is_scaled: bool = True  # whether Z is in [0, 1]; otherwise it is in the units of the data

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        features: tuple[Feature, ...],
        only: tuple[int, ...] | None = None,
        refuse_missing: bool = False,
        gaps: bool = False,
    ) -> "LinearTerms":
        """Return the terms of all numeric columns that vary, and of all levels that occur (of two levels, only the
        second). `only` are the positions of the features to use. A numeric column with missing cells is left out, or,
        with `refuse_missing`, raises ChoiceError, because a row without the number is on neither side. With `gaps` it
        is used, and missing cells of Z are the middle of the column; the caller must handle such rows, because a split
        that weighs the column sends them right."""
        terms, columns, missed = [], [], []
        for place, feature in enumerate(features):
            if only is not None and place not in only:
                continue
            column = values[:, place]
            known = np.unique(column[~np.isnan(column)])
            if feature.kind == NUMERIC:
                if len(known) < 2:
                    continue
                if np.isnan(column).any() and not gaps:
                    missed.append(feature.name)
                    continue
                terms.append(Term(place, 1.0))
                columns.append(_filled(column))
            else:
                levels = known[1:] if len(known) == 2 and not np.isnan(column).any() else known
                for level in levels if len(known) > 1 or np.isnan(column).any() else ():
                    terms.append(Term(place, 1.0, float(level)))
                    columns.append((column == level).astype(float))
        if missed and refuse_missing:
            raise ChoiceError(
                f"a hyperplane cannot weigh the missing cells of {', '.join(map(repr, missed))}: leave out their rows "
                f"({option('missing', 'drop')}) or the columns ({option('auxiliary', missed)}), or take "
                f"{option('model', 'dpflow')} with {option('encoding', 'oblique')}, which splits on such columns "
                f"separately, or {option('model', 'oblique_search')}, whose hyperplanes send rows without a number "
                "right"
            )
        raw = np.array(columns).T if columns else np.zeros((len(values), 0))
        low = raw.min(axis=0) if raw.size else np.zeros(0)
        with np.errstate(over="ignore"):
            span = raw.max(axis=0) - low if raw.size else np.zeros(0)
        if not np.isfinite(span).all():
            name = features[terms[int(np.argmin(np.isfinite(span)))].feature].name
            raise DataError(f"expected numbers whose range is a double to weigh them, got a wider one in {name!r}")
        return cls((raw - low) / span, tuple(terms), low, span, features, values)

    @classmethod
    def encoded(cls, encoded: Encoded, **how) -> "LinearTerms":
        return cls.of(raw_values(encoded), encoded.features, **how)

    @property
    def n(self) -> int:
        return len(self.terms)

    def unscaled(self) -> "LinearTerms":
        """Return the same terms in the units of the data: no column is shifted or divided by its range."""
        raw = self.Z * self.span + self.low
        for j, term in enumerate(self.terms):  # from the original cells, because scaling may have rounded them
            raw[:, j] = _filled(term.of(self.values))
        return replace(self, Z=raw, low=np.zeros(self.n), span=np.ones(self.n), is_scaled=False)

    @cached_property
    def missing(self) -> np.ndarray:
        """bool (rows, terms): the cells that are missing."""
        return np.column_stack([np.isnan(term.of(self.values)) for term in self.terms] or [np.zeros((len(self.Z), 0))])

    @cached_property
    def distinct(self) -> np.ndarray:
        """The different rows of Z, sorted."""
        return np.unique(self.Z, axis=0)

    @cached_property
    def _whole(self) -> tuple[np.ndarray, list[int]]:
        """The cells of each term minus the least one, as whole numbers (objects, (rows, terms)), and for each term the
        whole number that is 1 in Z."""
        cells, ones = np.zeros(self.Z.shape, object), []
        for j, term in enumerate(self.terms):
            whole, unit = whole_numbers(_filled(term.of(self.values)))
            cells[:, j] = whole.astype(object) - int(whole.min())
            ones.append(int(cells[:, j].max()) if self.is_scaled else 1 / unit)
        return cells, ones

    def exact_sums(self, h: np.ndarray) -> tuple[np.ndarray, list[Fraction]]:
        """Return the sums h·z in exact numbers, for the cells as written in the data file.

        Parameters
        ----------
        h : float64 (terms,)

        Returns
        -------
        sums : whole numbers, objects (rows,)
            c h'·z + b for one c > 0, one b, and weights h' that differ from h by rounding.
        sizes : list of Fraction
            c |h'_j| for each term.
        """
        cells, ones = self._whole
        weights, _ = whole_numbers(np.array([float(Fraction(float(one)) / span) for one, span in zip(h, ones)]))
        return cells @ weights.astype(object), [abs(int(w)) * span for w, span in zip(weights, ones)]

    def by_quantiles(self, share: float = 0.05) -> "LinearTerms":
        """Return the same terms, scaled so that [0, 1] contains all but this share of a column at either end. Then a
        few outliers do not press the other numbers together. If the two quantiles of a column are equal, the column
        keeps its scale."""
        if not self.n:
            return self
        # From the original cells, because if one of them is 1e300, all others are 0 on the scale of [0, 1].
        raw = np.column_stack([_filled(term.of(self.values)) for term in self.terms])
        low, high = np.quantile(raw, [share, 1 - share], axis=0)
        kept = high > low
        low, span = np.where(kept, low, self.low), np.where(kept, high - low, self.span)
        with np.errstate(over="ignore"):
            Z = np.clip((raw - low) / span, -FAR, FAR)
        return replace(self, Z=Z, low=low, span=span)

    def squeezed(self, least: float) -> list[str]:
        """Return the names of numeric columns with outliers: all rows, except for a twentieth at either end, are within
        less than the share `least` of the range. Hyperplanes with a margin can hardly distinguish these rows."""
        share = self.by_quantiles().span / self.span
        return [self.features[term.feature].name for term, part in zip(self.terms, share) if part < least]

    def same_plane(self, other: "LinearTerms", h: np.ndarray, g: float) -> tuple[np.ndarray, float]:
        """Convert a hyperplane (h, g) from the scale of `other`, which has the same terms, to the scale of this one."""
        # Σ_j h_j (x_j - low'_j) / span'_j <= g   with x_j = low_j + span_j z_j
        by = h / other.span
        return by * self.span, g - float(by @ (self.low - other.low))

    def split(self, h: np.ndarray, rows: np.ndarray, left: np.ndarray, g: float | None = None) -> Split | None:
        """Return a split in original units, with a normal vector close to h (terms,), that sends exactly those of the
        rows `rows` (indices) left that are marked in `left` (bool).

        None if no such split exists, or if a side is empty. With `g` the split is close to h·z <= g for other rows,
        too: coefficients keep three digits or more, and the bound is near g.
        """
        return self.splits(h, rows, [left], g)[0]

    def splits(
        self, h: np.ndarray, rows: np.ndarray, lefts: list[np.ndarray], g: float | None = None
    ) -> list[Split | None]:
        """Return parallel splits, which have the same coefficients; the parameters are as in `split`."""
        X, size = self.values[rows], np.abs(h)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            weight = np.where(size > 1e-9 * size.max(initial=0.0), h / self.span, 0.0)
            largest = np.abs(weight).max(initial=0.0)
            weight = weight / largest
            at = None if g is None else (g + float(h @ (self.low / self.span))) / largest
        if not np.isfinite(weight).all() or not weight.any():
            return [None] * len(lefts)
        exact = [self._cut(weight, X, left, at) for left in lefts]
        wanted = [place for place, cut in enumerate(exact) if cut is not None]
        for digits in (1, 2, 3, 4, 6, 8, 12)[0 if at is None else 2 :] if wanted else ():
            rounded = _rounded(weight, digits) * (size > 10.0 ** -(digits + 1) * size.max())
            found = {place: self._cut(rounded, X, lefts[place], at) for place in wanted}
            if all(cut is not None and cut[1] >= 0.5 * exact[place][1] for place, cut in found.items()):
                exact = [found.get(place) for place in range(len(lefts))]
                break
        return [cut and self._simple(cut[0], X, left) for cut, left in zip(exact, lefts)]

    def _cut(
        self, weight: np.ndarray, X: np.ndarray, left: np.ndarray, at: float | None = None
    ) -> tuple[Oblique, float] | None:
        """Return (split, gap) with these weights and a bound near `at`, by default in the middle of the gap; None if
        the weights do not separate the rows in this way. The gap is relative to the spread of the sums."""
        if left.all() or not left.any():
            return None
        terms = tuple(Term(term.feature, float(w), term.level) for term, w in zip(self.terms, weight) if w)
        total = np.zeros(len(X))
        for term in terms:
            total = total + term.of(X)
        known = ~np.isnan(total)  # rows with a missing cell go right
        if not terms or (left & ~known).any() or not (known & ~left).any():
            return None
        low, high = float(total[left].max()), float(total[known & ~left].min())
        if not low < high:
            return None
        return Oblique(terms, shortest_between(low, high, at)), (high - low) / float(np.ptp(total[known]))

    def _simple(self, split: Oblique, X: np.ndarray, left: np.ndarray) -> Split:
        """Return the split as a threshold if it weighs only one number, or as a set of levels if only one category."""
        if len(split.features) > 1:
            return split
        place = split.features[0]
        column = X[:, place]
        if split.terms[0].level is not None:
            return Subset(place, tuple(np.unique(column[left]).tolist())) if not np.isnan(column).any() else split
        if split.terms[0].weight < 0:
            return split
        return Threshold(place, float(midpoints(np.array([column[left].max(), np.nanmin(column[~left])]))[0]))


def _filled(column: np.ndarray) -> np.ndarray:
    """Return the column with its middle in place of missing cells."""
    missing = np.isnan(column)
    return np.where(missing, np.median(column[~missing]), column) if missing.any() else column


def raw_values(encoded: Encoded) -> np.ndarray:
    """Return float64 (rows, features): the cells of each encoded row, as in Dataset.X. Raises ChoiceError if data rows
    with different cells were merged into one."""
    found = encoded.values
    if found is None:
        raise ChoiceError(
            f"a model of hyperplanes needs the numbers of each row, but the encoding {encoded.scheme!r} merges rows of "
            f"{encoded.name!r} with different numbers; use {option('encoding', 'auto')}, without bins"
        )
    return found


def shortest_between(low: float, high: float, at: float | None = None) -> float:
    """Return the double b with the fewest digits that satisfies low <= b < high, from the middle half if possible. If
    `at` is between low and high, b is within (high - low) / 50 of it."""
    width = high - low
    middle, off = float(midpoints(np.array([low, high]))[0]), width / 4
    if at is not None and low <= at < high:
        middle, off = at, width / 50
    for digits in range(1, 17):
        b = float(f"{middle:.{digits}g}")
        if abs(b - middle) <= off and low <= b < high:
            return b
    return middle


def sparsest_hyperplane(Z: np.ndarray, left: np.ndarray) -> np.ndarray | None:
    """Return float64 (terms,): h of a hyperplane h·z <= g that separates the rows in this way, with the least |h|_1 for
    a gap of 2, and so with few terms. None if no hyperplane does, or if Z has more than MAX_CELLS cells.

        min Σ_j |h_j|   s.t.   g - h·z_i >= 1  (i left),   h·z_i - g >= 1  (i right)
    """
    n, d = Z.shape
    seconds = deadline.time_share(5.0)
    if n * d > MAX_CELLS or not seconds:
        return None
    side = np.where(left, 1.0, -1.0)[:, None]
    rows = np.unique(np.hstack([side * Z, -side * Z, -side]), axis=0)
    found = solve_lp(
        np.append(np.ones(2 * d), 0.0), rows, -np.ones(len(rows)), [(0, None)] * (2 * d) + [(None, None)], seconds
    )
    return None if found is None else found[:d] - found[d : 2 * d]


def _rounded(weight: np.ndarray, digits: int) -> np.ndarray:
    """Return the values rounded to this many digits after the first digit of the largest value."""
    return np.array([float(f"{w:.{digits}g}") for w in weight.tolist()])
