"""The columns of a certificate over thresholds, and the cut of a column that corresponds to each split of a search."""

from typing import Any

import numpy as np

from odtc.algorithms.equal_rows import distinct_values
from odtc.data.encoding import Encoded
from odtc.data.splits import Splits, Threshold
from odtc.data.threshold_scales import Scales


def threshold_column(encoded: Encoded, feature: int, cuts: np.ndarray) -> tuple[dict, np.ndarray]:
    """Return (a column with all given thresholds of a feature, the numbers by which its cuts are counted). If there is
    a threshold between all neighbouring numbers, these are all numbers of the feature except for the largest."""
    cells = encoded.dataset.X[:, feature]
    values, given = distinct_values(cells[~np.isnan(cells)])[:-1], distinct_values(cuts)
    complete = len(distinct_values(np.searchsorted(values, given, side="right"))) == len(values)
    column = {"kind": "threshold", "feature": encoded.features[feature].name}
    return (column, values) if complete else (column | {"thresholds": given.tolist()}, given)


def columns_by_feature(encoded: Encoded, merged: bool) -> tuple[list[dict], np.ndarray]:
    """Return the columns of all splits of an encoding, one feature after the other.

    Parameters
    ----------
    encoded : Encoded
    merged : bool
        Whether splits that are merged into others are written, too.

    Returns
    -------
    (columns, int64 (cuts,), the split of the encoding that each cut is, or is merged into)
    """
    given = list(enumerate(encoded.splits))
    if merged:
        given += [(at, split) for at, others in enumerate(encoded.stands_for) for split, _ in others]
    columns, source = [], []
    for feature in sorted({split.features[0] for _, split in given}):
        own = [(at, split) for at, split in given if split.features[0] == feature]
        thresholds = sorted((split.threshold, at) for at, split in own if isinstance(split, Threshold))
        if thresholds:
            column, numbers = threshold_column(encoded, feature, np.array([cut for cut, _ in thresholds]))
            places = np.searchsorted(numbers, [cut for cut, _ in thresholds], side="right")
            columns.append(column)
            source += [thresholds[at][1] for at in np.unique(places, return_index=True)[1].tolist()]
        others = [(at, split) for at, split in own if not isinstance(split, Threshold)]
        columns += [split.to_json(encoded.features) for _, split in others]
        source += [at for at, _ in others]
    return columns, np.array(source, np.int64)


class CertificateColumns:
    """The splits of an encoding as columns. All thresholds of a feature form one column, single-cut splits in the same
    ordered feature of the search form one column, and every other split is a separate column.

    Parameters
    ----------
    encoded : Encoded
    scales : Scales, its ordered features
    searched : int (columns of the search,), the ordered feature that each of them is
    """

    def __init__(self, encoded: Encoded, scales: Scales, searched: np.ndarray):
        self.encoded, self.scales, self.searched, self.facts = encoded, scales, searched, []
        self._cuts: dict[int, np.ndarray] = {}  # by feature, the thresholds or values that its cuts are counted by
        self._number: dict = {}  # of a column: by the feature of thresholds, by the split of others
        self._places: dict[int, list[tuple[int, int, bool]]] = {}  # by column of the search, of each rank
        self._splits = Splits.of(encoded.splits)
        merged = [other for others in encoded.stands_for for other, _ in others]
        chains = self._chains()
        thresholds: dict[int, np.ndarray] = {}
        columns: dict[int, Any] = {at: ("nested", scale) for at, scale in chains.items()}  # by the position of a split
        begin = 0
        for splits in (self._splits, Splits.of(merged)):
            feature_of = splits.feature.copy()
            feature_of[[at - begin for at in chains if begin <= at < begin + len(splits)]] = -1
            for feature in distinct_values(feature_of[feature_of >= 0]).tolist():
                own = feature_of == feature
                if feature not in thresholds:
                    columns[begin + int(own.argmax())] = feature
                thresholds[feature] = np.append(thresholds.get(feature, []), splits.cut[own])
            columns |= {begin + at: split for at, split in splits.others.items() if begin + at not in chains}
            begin += len(splits)
        # In the order of their first splits, because of equal cuts the check uses the cut of the first column.
        for key in dict.fromkeys(columns[at] for at in sorted(columns)):
            self._number[key] = len(self.facts)
            self.facts.append(
                self._thresholds(key, thresholds[key])
                if key in thresholds
                else self._nested(key[1])
                if isinstance(key, tuple)
                else key.to_json(encoded.features)
            )

    def _chains(self) -> dict[int, int]:
        """Return {split: ordered feature} for ordered features of several splits that are not thresholds of one
        feature."""
        scales, feature = self.scales, self._splits.feature
        found: dict[int, int] = {}
        for scale in np.flatnonzero(scales.size > 1).tolist():
            own = scales.split(scale, np.arange(scales.size[scale]))
            kinds = feature[own]
            if (kinds < 0).any() or (kinds != kinds[0]).any():
                found |= dict.fromkeys(own.tolist(), scale)
        return found

    def _nested(self, scale: int) -> dict:
        """Return the column of the splits of an ordered feature."""
        encoded, scales = self.encoded, self.scales
        own = scales.split(scale, np.arange(scales.size[scale])).tolist()
        return {
            "kind": "nested",
            "splits": [encoded.splits[at].to_json(encoded.features) for at in own],
            "turned": [int(encoded.ones_left[at]) for at in own],
        }

    def _thresholds(self, feature: int, cuts: np.ndarray) -> dict:
        """Return the column of all given thresholds of a feature."""
        column, self._cuts[feature] = threshold_column(self.encoded, feature, cuts)
        return column

    def place(self, column: int, rank: int) -> tuple[int, int, bool]:
        """Return (column, cut, whether its left side is the search's right one) of a split of the search."""
        if column not in self._places:
            self._places[column] = self._of_column(column)
        return self._places[column][rank]

    def _of_column(self, column):
        scales, encoded = self.scales, self.encoded
        scale, found = int(self.searched[column]), []
        if (key := ("nested", scale)) in self._number:
            return [(self._number[key], cut, False) for cut in range(int(scales.size[scale]))]
        numbers = scales.split(scale, distinct_values(scales.rank[:, scale])[:-1])
        splits, ones_left = self._splits, encoded.ones_left[numbers].tolist()
        cuts = np.empty(len(numbers), np.int64)
        for feature in distinct_values(splits.feature[numbers]).tolist():
            own = splits.feature[numbers] == feature
            cuts[own] = 0 if feature < 0 else self._cuts[feature].searchsorted(splits.cut[numbers[own]], "right") - 1
        for split, cut, turned in zip(numbers.tolist(), cuts.tolist(), ones_left):
            feature = int(splits.feature[split])
            found.append((self._number[feature if feature >= 0 else splits.others[split]], cut, turned))
        return found

    def entry(self, lower: int, free: bool, points: list) -> str:
        """Return a state in the format of a certificate (odtc.verification.interval_bound)."""
        words = [f"{'f' if free else ''}{lower}"]
        for column, rank, left, right in points:
            if column < 0:
                words.append(f"{len(self.facts)},0,0,{right}")
                continue
            at, cut, turned = self.place(column, rank)
            words.append(f"{at},{cut},{right},{left}" if turned else f"{at},{cut},{left},{right}")
        return ",".join(words)
