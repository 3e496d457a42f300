"""A split asks one question of a row and sends it left or right, in the units of the data file.

Every split says itself where a missing cell and an unseen level go: right, except that
`Missing` asks just for the missing ones. A new kind of split is one more class in `KINDS`.
"""

from dataclasses import dataclass

import numpy as np

from odtc.dataset import NUMERIC, Feature, show_number
from odtc.errors import TreeError


@dataclass(frozen=True)
class Threshold:
    """Left iff x[feature] <= threshold (double arithmetic); NaN goes right."""

    feature: int
    threshold: float

    kind = "threshold"

    def left(self, X: np.ndarray) -> np.ndarray:
        """bool of shape (rows,) for X of shape (rows, features)."""
        return X[:, self.feature] <= self.threshold

    def words(self, features: tuple[Feature, ...]) -> tuple[str, str]:
        """The question answered on the left and on the right, for a reader."""
        name, value = features[self.feature].name, show_number(self.threshold)
        return f"{name} ≤ {value}", f"{name} > {value}"

    def to_json(self, features) -> dict:
        return {"kind": self.kind, "feature": features[self.feature].name, "threshold": self.threshold}

    @classmethod
    def from_json(cls, facts, features) -> "Threshold":
        return cls(_place(facts["feature"], features), float(facts["threshold"]))


@dataclass(frozen=True)
class Subset:
    """Left iff x[feature] is one of `values` (codes of levels, or numbers); all others go right."""

    feature: int
    values: tuple[float, ...]

    kind = "subset"

    def left(self, X: np.ndarray) -> np.ndarray:
        return np.isin(X[:, self.feature], self.values)

    def words(self, features) -> tuple[str, str]:
        feature = features[self.feature]
        shown = [feature.show(value) for value in self.values]
        if len(shown) == 1:
            return f"{feature.name} = {shown[0]}", f"{feature.name} ≠ {shown[0]}"
        listed = "{" + ", ".join(shown) + "}"
        return f"{feature.name} in {listed}", f"{feature.name} not in {listed}"

    def to_json(self, features) -> dict:
        feature = features[self.feature]
        named = [v if feature.kind == NUMERIC else feature.levels[int(v)] for v in self.values]
        return {"kind": self.kind, "feature": feature.name, "values": named}

    @classmethod
    def from_json(cls, facts, features) -> "Subset":
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

    def left(self, X: np.ndarray) -> np.ndarray:
        return np.isnan(X[:, self.feature])

    def words(self, features) -> tuple[str, str]:
        name = features[self.feature].name
        return f"{name} is missing", f"{name} is known"

    def to_json(self, features) -> dict:
        return {"kind": self.kind, "feature": features[self.feature].name}

    @classmethod
    def from_json(cls, facts, features) -> "Missing":
        return cls(_place(facts["feature"], features))


Split = Threshold | Subset | Missing
KINDS = {split.kind: split for split in (Threshold, Subset, Missing)}


def split_from_json(facts: dict, features: tuple[Feature, ...]) -> Split:
    """A split from its JSON form; raises TreeError where a kind, feature or level is unknown."""
    try:
        return KINDS[facts["kind"]].from_json(facts, features)
    except (KeyError, TypeError, ValueError) as problem:
        raise TreeError(
            f"expected a split of kind {', '.join(KINDS)} with known feature and values, "
            f"got {facts!r} ({type(problem).__name__}: {problem})"
        ) from None


def _place(name: str, features) -> int:
    for place, feature in enumerate(features):
        if feature.name == name:
            return place
    raise KeyError(name)
