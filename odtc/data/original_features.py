"""Features of the data file, reconstructed from the encoded columns: for models without one-hot columns.

An encoding splits on one level at a time, and drops splits with the same outcomes as another; `Encoded.stands_for`
still names those, so the level of each row is known. A numeric feature is the rank of its values among the thresholds
(odtc.data.threshold_scales).
"""

from functools import cached_property

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.encoding import Encoded
from odtc.data.splits import Missing, Oblique, Split, Subset
from odtc.data.threshold_scales import Scales
from odtc.errors import TreeError


@value_class
class Levels:
    """A feature of three levels or more. `level` is int64 of shape (rows,); level k is the value
    `values[k]`, or the missing cells (NaN), which come first: they are in no set of levels."""

    feature: int
    values: np.ndarray  # float64, (levels,)
    level: np.ndarray

    @property
    def n(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, encoded: Encoded) -> list["Levels"]:
        """Return the features with three or more levels that each have a split, in their order."""
        found = []
        for feature, told in splits_by_feature(encoded).items():
            ones = {_value(split): column for split, column in told if _value(split) is not None}
            if len(ones) > 2 and (np.sum([*ones.values()], axis=0) == 1).all():
                values = sorted(ones, key=lambda value: (value != "missing", value))
                codes = [np.nan if value == "missing" else value for value in values]
                found.append(cls(feature, np.array(codes, float), np.argmax([ones[value] for value in values], axis=0)))
        return found


@value_class
class Features:
    """Possible splits of one node: first the numeric features of several thresholds, then the splits without a choice,
    then the features of levels. Level 0 of these goes left, and only the others, `chosen`, are free, because the
    two sides of a split have no names."""

    encoded: Encoded
    scales: Scales
    numeric: np.ndarray  # int64: scales
    splits: np.ndarray  # int64: splits of the encoding
    levels: tuple[Levels, ...]

    @classmethod
    def of(cls, encoded: Encoded) -> "Features":
        scales, levels = Scales.of(encoded), tuple(Levels.of(encoded))
        by_level = {one.feature for one in levels}
        alone = [
            scales.size[scales.scale[j]] == 1 and (_value(split) is None or split.feature not in by_level)
            for j, split in enumerate(encoded.splits)
        ]
        return cls(encoded, scales, np.flatnonzero(scales.size > 1), np.flatnonzero(alone), levels)

    @property
    def n(self) -> int:
        return len(self.numeric) + len(self.splits) + len(self.levels)

    @property
    def size(self) -> np.ndarray:
        """int64 (numeric,): the number of thresholds."""
        return self.scales.size[self.numeric]

    @property
    def rank(self) -> np.ndarray:
        """Return int64 (rows, numeric): how many thresholds are below the number of the row."""
        return self.scales.rank[:, self.numeric]

    @cached_property
    def owner(self) -> np.ndarray:
        """int64 (chosen,): the feature of each level that is free."""
        first = self.n - len(self.levels)
        return np.repeat(first + np.arange(len(self.levels)), [one.n - 1 for one in self.levels])

    @property
    def fixed(self) -> np.ndarray:
        """bool (rows, features): the row goes left whatever is chosen, by a split or by its level 0."""
        level = [(one.level == 0)[:, None] for one in self.levels]
        return np.hstack([np.zeros(self.rank.shape, bool), ~self.encoded.X[:, self.splits], *level])

    @property
    def free(self) -> np.ndarray:
        """bool (rows, chosen): the row has this level."""
        return np.hstack([one.level[:, None] == np.arange(1, one.n) for one in self.levels])

    def ask(self, candidate: int, split: Split, column: np.ndarray):
        """Return (feature, threshold, levels, left) of a split of the encoding, or of this split with its column: the
        number of a threshold or -1, bool (chosen,) the levels that go left, bool (rows,) the rows that go left.
        Raises TreeError for a split that is none of these."""
        left_levels = np.zeros(len(self.owner), bool)
        if candidate < self.encoded.n_candidate_splits and candidate in self.splits:
            return len(self.numeric) + int(np.searchsorted(self.splits, candidate)), -1, left_levels, ~column
        if candidate < self.encoded.n_candidate_splits and (scale := self.scales.scale[candidate]) in self.numeric:
            return int(np.searchsorted(self.numeric, scale)), int(self.scales.place[candidate]), left_levels, ~column
        for feature, one in enumerate(self.levels, self.n - len(self.levels)):
            left = np.ones(one.n, bool)
            left[one.level[column]] = False
            if one.feature == getattr(split, "feature", None) and (left[one.level] != column).all():
                left = left == left[0]
                left_levels[self.owner == feature] = left[1:]
                return feature, -1, left_levels, left[one.level]
        raise TreeError(
            f"expected thresholds, splits of the encoding and sets of levels, got "
            f"{split.words(self.encoded.features)[0]!r}; "
            "a set of levels needs a feature of three levels or more that is encoded by level"
        )

    def split(self, feature: int, threshold: int, left_levels: np.ndarray) -> int | tuple[Split, np.ndarray]:
        """Return the split of the encoding at a node, or a set of levels and the rows with one of them (bool (rows,)):
        the levels that go right."""
        if feature < len(self.numeric):
            return int(self.scales.split(self.numeric[feature], threshold))
        if feature < self.n - len(self.levels):
            return int(self.splits[feature - len(self.numeric)])
        one = self.levels[feature - self.n + len(self.levels)]
        right = np.append(False, ~left_levels[self.owner == feature])
        return Subset(one.feature, tuple(one.values[right].tolist())), right[one.level]


def splits_by_feature(encoded: Encoded) -> dict[int, list[tuple[Split, np.ndarray]]]:
    """Return by feature the splits of the encoding on it, in the order of features, and their columns (bool (rows,));
    splits that were merged into another one are included."""
    found = {}
    for place, (split, same_as) in enumerate(zip(encoded.splits, encoded.stands_for)):
        for one, same in ((split, True), *same_as):
            if not isinstance(one, Oblique):  # it is not on one feature by itself
                found.setdefault(one.feature, []).append((one, encoded.X[:, place] == same))
    return {feature: found[feature] for feature in sorted(found)}


def _value(split: Split):
    """Return the level of this split, "missing" for missing cells, None for another kind of split."""
    if isinstance(split, Missing):
        return "missing"
    return split.values[0] if isinstance(split, Subset) and len(split.values) == 1 else None
