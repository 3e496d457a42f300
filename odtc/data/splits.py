"""Splits, which send a row left or right, in the units of the data file.

Every split determines where a missing cell and an unseen level go: right, except for `Missing`, which sends the
missing ones left. A new kind of split is one more class in `KINDS`. All have

    features   the features that the split uses, in its own order
    measured   the features that it uses as numbers, so that it has no result if one of them is missing
    scale, cut only Threshold and Oblique: splits of one scale are nested, in the order of their cuts

An encoding may have millions of thresholds, so they are stored as arrays (`Splits`, `SplitList`), and the object of a
threshold is created when it is needed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from odtc.base.json_schema import NUMBER, TEXT, SchemaError, explain_error, validate
from odtc.base.text import in_list, show_number
from odtc.data.dataset import NUMERIC, Feature
from odtc.errors import TreeError

THRESHOLDS_AT_ONCE = 65_536  # threshold objects that are created at once


@dataclass(frozen=True)
class Threshold:
    """Left iff x[feature] <= threshold (double arithmetic); NaN goes right."""

    feature: int
    threshold: float

    kind = "threshold"
    features = measured = property(lambda self: (self.feature,))
    scale, cut = property(lambda self: self.feature), property(lambda self: self.threshold)

    def left(self, X: np.ndarray) -> np.ndarray:
        """Return bool (rows,): whether each row of X (rows, features) goes left."""
        return X[:, self.feature] <= self.threshold

    def words(self, features: tuple[Feature, ...]) -> tuple[str, str]:
        """Return the conditions of the left and of the right side, for a reader."""
        name, value = features[self.feature].name, features[self.feature].show_threshold(self.threshold)
        return f"{name} ≤ {value}", f"{name} > {value}"

    def to_json(self, features) -> dict:
        """Return the split as in a tree's JSON, with the feature by name."""
        return {"kind": self.kind, "feature": features[self.feature].name, "threshold": self.threshold}

    @classmethod
    def from_json(cls, facts, features) -> "Threshold":
        """Return the split of its JSON form."""
        return cls(_place(facts["feature"], features), float(facts["threshold"]))


@dataclass(frozen=True)
class Subset:
    """Left iff x[feature] is one of `values` (codes of levels, or numbers); all others go right."""

    feature: int
    values: tuple[float, ...]

    kind = "subset"
    features, measured = property(lambda self: (self.feature,)), ()

    def left(self, X: np.ndarray) -> np.ndarray:
        """Return bool (rows,): whether each row of X (rows, features) goes left."""
        return np.isin(X[:, self.feature], self.values)

    def words(self, features) -> tuple[str, str]:
        """Return the conditions of the left and of the right side, for a reader."""
        feature = features[self.feature]
        shown = [feature.show(value) for value in self.values]
        if feature.ordered and len(shown) > 1 and self.values == tuple(range(len(shown))):
            return f"{feature.name} ≤ {shown[-1]}", f"{feature.name} > {shown[-1]}"
        if len(shown) == 1:
            return f"{feature.name} = {shown[0]}", f"{feature.name} ≠ {shown[0]}"
        listed = "{" + ", ".join(map(in_list, shown)) + "}"
        return f"{feature.name} in {listed}", f"{feature.name} not in {listed}"

    def to_json(self, features) -> dict:
        """Return the split as in a tree's JSON, with feature and levels by name."""
        feature = features[self.feature]
        named = [v if feature.kind == NUMERIC else feature.levels[int(v)] for v in self.values]
        return {"kind": self.kind, "feature": feature.name, "values": named}

    @classmethod
    def from_json(cls, facts, features) -> "Subset":
        """Return the split of its JSON form."""
        place = _place(facts["feature"], features)
        feature = features[place]
        if feature.kind == NUMERIC:
            return cls(place, tuple(float(v) for v in facts["values"]))
        codes = {level: float(code) for code, level in enumerate(feature.levels)}
        return cls(place, tuple(codes[v] for v in facts["values"]))


@dataclass(frozen=True)
class Missing:
    """Left iff the cell x[feature] is missing."""

    feature: int

    kind = "missing"
    features, measured = property(lambda self: (self.feature,)), ()

    def left(self, X: np.ndarray) -> np.ndarray:
        """Return bool (rows,): whether each row of X (rows, features) goes left."""
        return np.isnan(X[:, self.feature])

    def words(self, features) -> tuple[str, str]:
        """Return the conditions of the left and of the right side, for a reader."""
        name = features[self.feature].name
        return f"{name} is missing", f"{name} is known"

    def to_json(self, features) -> dict:
        """Return the split as in a tree's JSON, with the feature by name."""
        return {"kind": self.kind, "feature": features[self.feature].name}

    @classmethod
    def from_json(cls, facts, features) -> "Missing":
        """Return the split of its JSON form."""
        return cls(_place(facts["feature"], features))


@dataclass(frozen=True)
class Term:
    """A term weight · x[feature]; or only the weight, if x[feature] is `level`, the code of a level."""

    feature: int
    weight: float
    level: float | None = None

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return float64 (rows,): the value of the term for each row of X (rows, features)."""
        column = X[:, self.feature]
        return self.weight * (column if self.level is None else (column == self.level).astype(float))


@dataclass(frozen=True)
class Oblique:
    """Left iff the sum of the terms <= bound, added in their order in double arithmetic. A missing number makes the sum
    NaN, which goes right; a missing or unseen level adds nothing."""

    terms: tuple[Term, ...]
    bound: float

    kind = "oblique"
    scale, cut = property(lambda self: self.terms), property(lambda self: self.bound)

    @property
    def features(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(term.feature for term in self.terms))

    @property
    def measured(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(term.feature for term in self.terms if term.level is None))

    def left(self, X: np.ndarray) -> np.ndarray:
        """Return bool (rows,): whether each row of X (rows, features) goes left."""
        total = np.zeros(len(X))
        with np.errstate(over="ignore", invalid="ignore"):
            for term in self.terms:
                total = total + term.of(X)
        return total <= self.bound

    def words(self, features) -> tuple[str, str]:
        """Return the conditions of the left and of the right side, for a reader."""
        text = ""
        for place, term in enumerate(self.terms):
            feature, weight = features[term.feature], show_number(abs(term.weight))
            name = feature.name if term.level is None else f"[{feature.name} = {feature.show(term.level)}]"
            minus = term.weight < 0
            text += (" - " if minus else " + ") if place else ("-" if minus else "")
            text += name if weight == "1" else f"{weight}·{name}"
        return f"{text or '0'} ≤ {show_number(self.bound)}", f"{text or '0'} > {show_number(self.bound)}"

    def to_json(self, features) -> dict:
        """Return the split as in a tree's JSON, with features and levels by name."""

        def fact(term):
            feature = features[term.feature]
            level = (
                {}
                if term.level is None
                else {"level": term.level if feature.kind == NUMERIC else feature.levels[int(term.level)]}
            )
            return {"feature": feature.name, **level, "weight": term.weight}

        return {"kind": self.kind, "terms": [fact(term) for term in self.terms], "bound": self.bound}

    @classmethod
    def from_json(cls, facts, features) -> "Oblique":
        """Return the split of its JSON form; raises ValueError for a category without a level."""

        def term(fact):
            place = _place(fact["feature"], features)
            level, feature = fact.get("level"), features[place]
            if level is None and feature.kind != NUMERIC:
                raise ValueError(f"{feature.name!r} is not a number, so it needs a level")
            if level is not None:
                level = float(level) if feature.kind == NUMERIC else float(feature.levels.index(level))
            return Term(place, float(fact["weight"]), level)

        return cls(tuple(map(term, facts["terms"])), float(facts["bound"]))


Split = Threshold | Subset | Missing | Oblique
KINDS = {split.kind: split for split in (Threshold, Subset, Missing, Oblique)}


def split_shape(value, place: str) -> dict:
    """Return the shape of a split in JSON, by its kind (odtc.base.json_schema)."""
    shapes = {
        "threshold": {"feature": TEXT, "threshold": NUMBER},
        "subset": {"feature": TEXT, "values": [(NUMBER, TEXT)]},
        "missing": {"feature": TEXT},
        "oblique": {"terms": [{"feature": TEXT, "level?": (NUMBER, TEXT, None), "weight": NUMBER}], "bound": NUMBER},
    }
    kind = value.get("kind") if isinstance(value, dict) else None
    return {"kind": tuple(KINDS)} | (shapes[kind] if isinstance(kind, str) and kind in shapes else {})


def split_from_json(facts: dict, features: tuple[Feature, ...]) -> Split:
    """Return a split from its JSON form; raises TreeError if a kind, feature or level is unknown."""
    try:
        validate(facts, split_shape)
        return KINDS[facts["kind"]].from_json(facts, features)
    except (SchemaError, KeyError, TypeError, ValueError) as problem:
        raise TreeError(
            f"expected a split of kind {', '.join(KINDS)} with known feature and values, "
            f"got {str(facts)[:200]} ({explain_error(problem)})"
        ) from None


def _place(name: str, features) -> int:
    for place, feature in enumerate(features):
        if feature.name == name:
            return place
    raise KeyError(name)


class Splits(Sequence):
    """A sequence of splits that stores thresholds as numbers.

    Parameters
    ----------
    feature : int64 (splits,), the feature of a threshold; -1 for any other split
    cut : float64 (splits,), the threshold
    others : the other splits by their positions
    """

    def __init__(self, feature: np.ndarray, cut: np.ndarray, others: dict[int, Split]):
        self.feature, self.cut, self.others = feature, cut, others
        for array in (feature, cut):
            array.setflags(write=False)

    @classmethod
    def of(cls, splits: Iterable[Split]) -> "Splits":
        """Return these splits, unchanged if they are already stored in this form."""
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
        for begin in range(0, len(self), THRESHOLDS_AT_ONCE):
            here = slice(begin, begin + THRESHOLDS_AT_ONCE)
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
        """Return the splits at these positions, in rising order."""
        number = {old: new for new, old in enumerate(places.tolist()) if old in self.others} if self.others else {}
        others = {new: self.others[old] for old, new in number.items()}
        return Splits(self.feature[places], self.cut[places], others)

    @property
    def first_feature(self) -> np.ndarray:
        """Return int64 (splits,): the feature of each split; of several features, the first."""
        found = self.feature.copy()
        for place, split in self.others.items():
            found[place] = split.features[0]
        return found

    @property
    def features(self) -> list[tuple[int, ...]]:
        """Return the `features` of each split."""
        own = [(feature,) for feature in range(int(self.feature.max(initial=-1)) + 1)]
        each = self.feature.tolist()
        return [own[feature] if feature >= 0 else self.others[place].features for place, feature in enumerate(each)]

    def per_threshold(self, features: int) -> np.ndarray:
        """Return int64 (features,): the number of thresholds of each feature."""
        return np.bincount(self.feature[self.feature >= 0], minlength=features)

    def per_feature(self, features: int) -> np.ndarray:
        """Return int64 (features,): the number of splits on each feature; a split on several features counts for
        each of them."""
        found = self.per_threshold(features)
        for split in self.others.values():
            found[list(split.features)] += 1
        return found


class SplitList(Sequence):
    """A sequence of (split, ones_left), as in an encoding.

    Parameters
    ----------
    splits : Splits
    ones_left : bool (splits,)
    """

    __test__ = False  # so that pytest does not collect this class

    def __init__(self, splits: Splits, ones_left: np.ndarray):
        self.splits, self.ones_left = splits, ones_left

    @classmethod
    def of(cls, splits: Iterable[tuple[Split, bool]]) -> "SplitList":
        """Return these splits, unchanged if they are already stored in this form."""
        if isinstance(splits, SplitList):
            return splits
        given = list(splits)
        return cls(Splits.of([split for split, _ in given]), np.array([left for _, left in given], bool))

    @classmethod
    def thresholds(cls, feature: int, cuts: np.ndarray) -> "SplitList":
        """Return the thresholds of a feature."""
        splits = Splits(np.full(len(cuts), feature, np.int64), np.array(cuts, float), {})
        return cls(splits, np.zeros(len(cuts), bool))

    @classmethod
    def joined(cls, parts: Iterable[Iterable[tuple[Split, bool]]]) -> "SplitList":
        """Return all splits of these lists, one after the other."""
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
        two = SplitList.of(other)
        return self.splits == two.splits and np.array_equal(self.ones_left, two.ones_left)

    __hash__ = None  # type: ignore[assignment]

    @property
    def scales(self) -> np.ndarray:
        """Return int32 (splits,): the scale of each split, numbered by first occurrence. The thresholds of a feature
        are one scale; any other split is a scale by itself."""
        feature = self.splits.feature
        alone = (feature < 0) | self.ones_left
        first = alone.copy()  # whether a split is the first of its scale
        first_of = np.full(int(feature.max(initial=0)) + 1, len(feature))
        for at in range(0, len(feature), THRESHOLDS_AT_ONCE):
            here = np.flatnonzero(~alone[at : at + THRESHOLDS_AT_ONCE]) + at
            np.minimum.at(first_of, feature[here], here)
        first[first_of[first_of < len(feature)]] = True
        number = np.cumsum(first, dtype=np.int32)
        number -= 1
        if not alone.all():
            of_feature = number[np.minimum(first_of, len(feature) - 1)]
            np.copyto(number, of_feature[feature], where=~alone)
        return number
