"""Discrimination of a tree against groups of rows, and its penalty in a model that knows the leaf of each row.

With P over the rows of data by weight and ŷ the predicted class (Aghaei, Azizi & Vayanos 2019):

    impact      Σ_k Σ_g |P(ŷ = k | g) - P(ŷ = k)|         over the groups g
    treatment   the same among the rows that are alike in all columns but the one of the groups, averaged over all rows

For disparate treatment, the paper weights rows that are near to each other; here near means alike.
"""

from fractions import Fraction
from math import gcd

import numpy as np

from odtc.base.text import count_of, did_you_mean
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import common_unit
from odtc.data.encoding import Encoded
from odtc.data.original_features import splits_by_feature
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.problem.roles import node_axis

Sums = tuple[int, list[int]]  # of some rows: their weight, and that of each class
ROUNDED = 1e-12  # a smaller difference between two shares is a rounding error


@value_class
class Contrast:
    """The pairs of a stratum (rows to compare) and a group: Σ_k |Σ_r coef_r ŷ_rk| times `share` sums to
    the index. `pair`, `row`, `coef` are entries of a sparse matrix (pairs, rows)."""

    share: np.ndarray  # float64 (pairs,): of the weight of all rows in the stratum
    pair: np.ndarray
    row: np.ndarray
    coef: np.ndarray
    stratum: np.ndarray  # int (rows,)
    group: np.ndarray  # int (rows,)

    @property
    def rows(self) -> np.ndarray:
        """Return the rows that are compared with others."""
        return np.unique(self.row)

    def gaps(self, predicted: np.ndarray) -> np.ndarray:
        """Return |P(ŷ = k | g) - P(ŷ = k)| within the stratum, (pairs, classes), for bool (rows, classes)."""
        sums = np.zeros((len(self.share), predicted.shape[1]))
        np.add.at(sums, self.pair, self.coef[:, None] * predicted[self.row])
        return np.where(np.abs(sums) < ROUNDED, 0.0, np.abs(sums))

    def unit(self, weight: np.ndarray, n_classes: int) -> Fraction:
        """Return a number of which the index is a whole multiple, for weights of the rows in whole numbers: with W of
        all rows, W_s of a stratum and W_g of a group in it, the index is

            Σ_k Σ_s Σ_g |W_gk W_s - W_sk W_g| / (W W_g)

        In a stratum of two groups both numerators are |W_1k W_2 - W_2k W_1|, and two classes have the same ones.
        """
        all_rows, found = sum(weight.tolist()), []
        for _, groups in self._sums(weight, np.ones((len(weight), 1), bool)):
            sizes = [size for size, _ in groups]
            total = sum(sizes)
            if len(sizes) == 2:
                found.append(Fraction(gcd(*sizes) * total, all_rows * sizes[0] * sizes[1]))
            elif len(sizes) > 2:
                found += [Fraction(gcd(total, size), all_rows * size) for size in sizes]
        return common_unit(found) * (2 if n_classes == 2 else 1)

    def index(self, weight: np.ndarray, predicted: np.ndarray) -> Fraction:
        """Return the index for weights in whole numbers and bool (rows, classes)."""
        total = Fraction(0)
        for stratum, groups in self._sums(weight, predicted):
            size, of_class = stratum
            for mine, counted in groups:
                apart = sum(abs(one * size - other * mine) for one, other in zip(counted, of_class))
                total += Fraction(apart, mine)
        return total / sum(weight.tolist())

    def _sums(self, weight: np.ndarray, predicted: np.ndarray) -> list[tuple[Sums, list[Sums]]]:
        """Return for each stratum (its sums, the sums of its groups): the weight, and the weight of each class."""
        counted = weight.astype(object)[:, None] * predicted
        found: dict[int, dict[int, Sums]] = {}
        for row in np.flatnonzero(weight != 0).tolist():
            groups, group = found.setdefault(int(self.stratum[row]), {}), int(self.group[row])
            size, sums = groups.get(group, (0, [0] * predicted.shape[1]))
            groups[group] = size + int(weight[row]), [a + int(b) for a, b in zip(sums, counted[row])]
        return [(_added(list(groups.values())), list(groups.values())) for groups in found.values()]

    @classmethod
    def of(cls, encoded: Encoded, first: np.ndarray, weight: np.ndarray, column: str, treatment: bool) -> "Contrast":
        """Return the contrast among rows `first` of the encoding with these weights. The groups are the levels of the
        column, or the intervals between its thresholds. Raises ChoiceError for a column that does not separate
        groups."""
        told = {
            encoded.features[feature].name: np.stack([X[first] for _, X in splits], axis=1)
            for feature, splits in splits_by_feature(encoded).items()
        }
        if column not in told:
            names = [feature.name for feature in encoded.features]
            why = (
                f"its {count_of(len(first), 'row', '')} are one group: no split of the encoding "
                f"{encoded.scheme!r} separates them"
                if column in names
                else f"the data has no such column{did_you_mean(column, names)}"
            )
            raise ChoiceError(
                f"expected group=COLUMN with a column whose values separate groups of rows, got {column!r}; {why}"
            )
        others = [X for name, X in told.items() if name != column] if treatment else []
        group = _code(told[column])
        stratum = _code(np.hstack(others)) if others else np.zeros(len(first), int)
        total = np.bincount(stratum, weight)
        keys, of = np.unique(np.stack([stratum, group], axis=1), axis=0, return_inverse=True)
        mine = np.bincount(of.reshape(-1), weight)
        keep = (0 < mine) & (mine < total[keys[:, 0]] * (1 - ROUNDED))
        keys, mine = keys[keep], mine[keep]
        pair, row = np.nonzero((keys[:, :1] == stratum) & (weight > 0))
        within = (group[row] == keys[pair, 1]) / mine[pair] - 1 / total[stratum[row]]
        return cls(total[keys[:, 0]] / weight.sum(), pair, row, within * weight[row], stratum, group)


def price(m: ModelBuilder, contrast: Contrast, rho: float, z: Block, c: Block, leaves: np.ndarray) -> None:
    """Add ρ times the index to a model with z (row in leaf) and c (label of leaf).

    y_rk ≥ z_rl + c_lk - 1; Σ_k y_rk = 1; gap_pk ≥ ± Σ_r coef_pr y_rk
    """
    (n, K), rows = (len(contrast.rows), c.shape[1]), contrast.rows
    case, klass, pair = Axis("case", n), Axis("class", K), Axis("pair", len(contrast.share))
    if not n:
        return
    y = m.columns("y", case, klass)
    gap = m.columns("gap", pair, klass, cost=rho * contrast.share[:, None])
    r, k, l = np.arange(n), np.arange(K), leaves
    said = m.rows("said", case, node_axis(l), klass, upper=1)
    m.add(said[r[:, None, None], l[:, None], k], z[rows[:, None, None], l[:, None]])
    m.add(said[r[:, None, None], l[:, None], k], c[l[:, None], k])
    m.add(said[r[:, None, None], l[:, None], k], y[r[:, None, None], k], -1)
    once = m.rows("once", case, lower=1, upper=1)
    m.add(once[r[:, None]], y[r[:, None], k])
    for name, sign in (("over", 1.0), ("under", -1.0)):
        differ = m.rows(name, pair, klass, upper=0)
        at = np.searchsorted(rows, contrast.row)
        m.add(differ[contrast.pair[:, None], k], y[at[:, None], k], sign * contrast.coef[:, None])
        m.add(differ[np.arange(pair.size)[:, None], k], gap[np.arange(pair.size)[:, None], k], -1)


def _added(groups: list[Sums]) -> Sums:
    return sum(size for size, _ in groups), [sum(part) for part in zip(*(sums for _, sums in groups))]


def _code(columns: np.ndarray) -> np.ndarray:
    """Return a number for each distinct row of outcomes: int64 (rows,)."""
    return np.unique(np.packbits(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def index(group: np.ndarray, others: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
    """Return Σ_k Σ_g |P(ŷ = k | g) - P(ŷ = k)| among rows that are alike in `others`, averaged over all rows; P by
    weight.

    Parameters
    ----------
    group : array (rows,)
        The group of each row.
    others : array (rows, columns)
        Columns in which rows must agree to be compared; no column for the index of impact.
    predicted : int (rows,)
    weight : float64 (rows,)

    Returns
    -------
    float
        0 without discrimination; at most 2 times the number of groups.
    """
    total = 0.0
    # Missing cells are alike; a row without weight is compared with none.
    told = [tuple(None if cell != cell else cell for cell in row) for row in others.tolist()]
    group = [None if g != g else g for g in group.tolist()]
    weighed = [r for r in range(len(group)) if weight[r] > 0]
    for alike in {told[r] for r in weighed}:
        here = [r for r in weighed if told[r] == alike]
        weight_here = sum(weight[r] for r in here)
        for g in {group[r] for r in here}:
            mine = [r for r in here if group[r] == g]
            for k in set(predicted):
                among = sum(weight[r] for r in mine if predicted[r] == k) / sum(weight[r] for r in mine)
                overall = sum(weight[r] for r in here if predicted[r] == k) / weight_here
                total += weight_here * abs(among - overall)
    return total / sum(weight)
