"""The tests of an encoding as arrays: a threshold is an object when it is asked for, so that millions of them take a
few bytes each."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from odtc.data.splits import Split, Threshold

BLOCK = 65_536  # thresholds that are made at once


class Splits(Sequence):
    """Splits, of which thresholds are held as numbers.

    Parameters
    ----------
    feature : int64 (splits,), the feature of a threshold; -1 for any other split
    cut : float64 (splits,), the threshold
    others : the other splits by their places
    """

    def __init__(self, feature: np.ndarray, cut: np.ndarray, others: dict[int, Split]):
        self.feature, self.cut, self.others = feature, cut, others
        for array in (feature, cut):
            array.setflags(write=False)

    @classmethod
    def of(cls, splits: Iterable[Split]) -> "Splits":
        """These splits; as they are if they are held so already."""
        if isinstance(splits, Splits):
            return splits
        given = list(splits)
        others = {at: split for at, split in enumerate(given) if not isinstance(split, Threshold)}
        feature = np.array([-1 if at in others else split.feature for at, split in enumerate(given)], np.int64)
        return cls(feature, np.array([getattr(split, "threshold", np.nan) for split in given], float), others)

    def __len__(self) -> int:
        return len(self.feature)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return tuple(self[place] for place in range(*at.indices(len(self))))
        place = range(len(self))[at]
        if self.feature[place] < 0:
            return self.others[place]
        return Threshold(int(self.feature[place]), float(self.cut[place]))

    def __iter__(self) -> Iterator[Split]:
        for begin in range(0, len(self), BLOCK):
            here = slice(begin, begin + BLOCK)
            for place, (feature, cut) in enumerate(zip(self.feature[here].tolist(), self.cut[here].tolist()), begin):
                yield self.others[place] if feature < 0 else Threshold(feature, cut)

    def __eq__(self, other) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        two = Splits.of(other)
        return (
            np.array_equal(self.feature, two.feature)
            and np.array_equal(self.cut[self.feature >= 0], two.cut[two.feature >= 0])
            and self.others == two.others
        )

    __hash__ = None  # type: ignore[assignment]

    def taken(self, places: np.ndarray) -> "Splits":
        """Those at these places, in rising order."""
        number = {old: new for new, old in enumerate(places.tolist()) if old in self.others} if self.others else {}
        others = {new: self.others[old] for old, new in number.items()}
        return Splits(self.feature[places], self.cut[places], others)

    def per_threshold(self, features: int) -> np.ndarray:
        """int64 (features,): how many thresholds each feature has."""
        return np.bincount(self.feature[self.feature >= 0], minlength=features)

    def per_feature(self, features: int) -> np.ndarray:
        """int64 (features,): how many splits ask each feature; one that asks several counts for each."""
        found = self.per_threshold(features)
        for split in self.others.values():
            found[list(split.features)] += 1
        return found


class TestList(Sequence):
    """Tests as an encoding gives them: (split, ones_left).

    Parameters
    ----------
    splits : Splits
    ones_left : bool (tests,)
    """

    __test__ = False  # for pytest it is none

    def __init__(self, splits: Splits, ones_left: np.ndarray):
        self.splits, self.ones_left = splits, ones_left

    @classmethod
    def of(cls, tests: Iterable[tuple[Split, bool]]) -> "TestList":
        """These tests; as they are if they are held so already."""
        if isinstance(tests, TestList):
            return tests
        given = list(tests)
        return cls(Splits.of([split for split, _ in given]), np.array([left for _, left in given], bool))

    @classmethod
    def thresholds(cls, feature: int, cuts: np.ndarray) -> "TestList":
        """The thresholds of a feature."""
        splits = Splits(np.full(len(cuts), feature, np.int64), np.array(cuts, float), {})
        return cls(splits, np.zeros(len(cuts), bool))

    @classmethod
    def joined(cls, parts: Iterable[Iterable[tuple[Split, bool]]]) -> "TestList":
        """All tests of these lists, one after the other."""
        lists = [cls.of(part) for part in parts]
        if not lists:
            return cls.of([])
        begins = np.cumsum([0, *map(len, lists)]).tolist()
        others = {begin + at: split for begin, one in zip(begins, lists) for at, split in one.splits.others.items()}
        feature, cut = (np.concatenate([getattr(one.splits, name) for one in lists]) for name in ("feature", "cut"))
        return cls(Splits(feature, cut, others), np.concatenate([one.ones_left for one in lists]))

    def __len__(self) -> int:
        return len(self.splits)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return list(zip(self.splits[at], self.ones_left[at].tolist()))
        return self.splits[at], bool(self.ones_left[at])

    def __iter__(self) -> Iterator[tuple[Split, bool]]:
        return zip(self.splits, self.ones_left.tolist())

    def __eq__(self, other) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        two = TestList.of(other)
        return self.splits == two.splits and np.array_equal(self.ones_left, two.ones_left)

    __hash__ = None  # type: ignore[assignment]

    @property
    def scales(self) -> np.ndarray:
        """int64 (tests,): the scale of each test, numbered as they are met: thresholds of a feature are on one, any
        other test is alone on its own."""
        feature = self.splits.feature
        alone = (feature < 0) | self.ones_left
        key = np.where(alone, feature.max(initial=0) + 1 + np.arange(len(feature)), feature)
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        place = np.empty_like(first)
        place[np.argsort(first)] = np.arange(len(first))
        return place[number.reshape(-1)]
