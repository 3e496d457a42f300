"""Boxes around rows: how far an adversary may move the cells of each column.

A text names columns with radii, as in CSV: "age:2,income:500,colour:free".

    NAME:NUMBER   the number of a row may be any of [x - r, x + r], with ends rounded to 12 digits (`box_ends`)
    NAME:10%      r is this part of the range of the numbers of the training rows
    NAME:free     any number; in a column with levels any known level, or, if it has missing cells, a missing one
    NUMBER, 10%   for every numeric column that is not named

A column without a radius does not change, and neither does a missing number. The points of a box are doubles.
"""

import csv
import io
import math

import numpy as np

from odtc.base.text import did_you_mean, first_few
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.binary_splits.column_splits import box_ends
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.splits import Missing, Split, Subset, Threshold
from odtc.errors import ChoiceError

FREE = "free"


@value_class
class Boxes:
    """`radius` is float64 (features,), 0 for a column that stays, infinite for any number; `free` bool (features,) for
    columns of which any level may come; `blank` bool (features,): of these, whether a cell may be missing, too."""

    features: tuple[Feature, ...]
    radius: np.ndarray
    free: np.ndarray
    blank: np.ndarray

    @classmethod
    def parse(cls, text: str, features: tuple[Feature, ...], X: np.ndarray) -> "Boxes":
        """Read the boxes of a text.

        Parameters
        ----------
        text : str
        features : tuple of Feature
        X : float64 (rows, features)
            The training rows, as in `Dataset.X`: parts of a range, and missing cells, refer to them.

        Returns
        -------
        Boxes

        Raises
        ------
        ChoiceError
            For a text that is not a radius, or a column that is unknown or takes no such radius.
        """
        places = {feature.name: place for place, feature in enumerate(features)}
        radius, free = np.zeros(len(features)), np.zeros(len(features), bool)
        named, everywhere = {}, None
        for part in next(csv.reader([text], skipinitialspace=True), []):
            name, colon, amount = (piece.strip() for piece in part.rpartition(":"))
            if not colon and amount not in places:
                if everywhere is not None:
                    raise ChoiceError(
                        f"robust: expected one radius for all columns, got a second one, {part.strip()!r}"
                    )
                everywhere = amount
                continue
            if name not in places:
                got = part.strip() if not colon else name
                hint = did_you_mean(got, list(places)) or f"; it has {first_few(places, 6)}"
                more = f", as in {got}:1" if got in places else hint
                raise ChoiceError(f"robust: expected COLUMN:RADIUS with a column of the data, got {got!r}{more}")
            if name in named:
                raise ChoiceError(f"robust: expected one radius of each column, got two of {name!r}")
            named[name] = amount
        if everywhere is None and not named:
            raise ChoiceError(f"robust: expected COLUMN:RADIUS, as age:2 or colour:free, or one number, got {text!r}")
        for name, amount in named.items():
            place = places[name]
            if features[place].kind == NUMERIC:
                radius[place] = math.inf if amount == FREE else _radius(amount, X[:, place], repr(name))
            elif amount == FREE:
                free[place] = True
            else:
                raise ChoiceError(
                    f"robust: column {name!r} has levels, no numbers: expected {name}:{FREE} (any level may come) or "
                    f"nothing, got {amount!r}"
                )
        for place, feature in enumerate(features) if everywhere is not None else ():
            if feature.kind == NUMERIC and feature.name not in named:
                radius[place] = _radius(everywhere, X[:, place], "every numeric column")
        return cls(features, radius, free, free & np.isnan(X).any(axis=0))

    @staticmethod
    def text_of(given) -> str:
        """Return the text of boxes given in Python.

        They are a number for every numeric column, a mapping {column: radius}, or a text, which is returned as it is.

        Parameters
        ----------
        given : number, mapping {str: number or str} or str

        Returns
        -------
        str
        """
        if not hasattr(given, "items"):
            return given if isinstance(given, str) else repr(float(given))
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([f"{name}:{amount}" for name, amount in given.items()])
        return line.getvalue()

    @property
    def moves(self) -> np.ndarray:
        """bool (features,): which columns an adversary may change."""
        return self.free | (self.radius > 0)

    def words(self) -> str:
        """Describe the boxes for a reader."""
        said = []
        for place in np.flatnonzero(self.moves).tolist():
            any_value = self.free[place] or math.isinf(self.radius[place])
            said.append(f"{self.features[place].name} {'any' if any_value else f'± {self.radius[place]:.10g}'}")
        return ", ".join(said) or "nothing moves"

    def expect(self, split: Split) -> None:
        """Raise ChoiceError for a split whose results within a box are not an interval of one column."""
        moved = [self.features[place].name for place in split.features if self.moves[place]]
        if moved and split.kind not in ("threshold", "subset", "missing"):
            raise ChoiceError(
                "robust: expected splits of one column where cells may move, got a hyperplane over "
                f"{', '.join(moved)}; leave these columns out, or use {option('encoding', 'auto')}"
            )
        if moved and isinstance(split, Subset) and len(split.values) > 1 and self.radius[split.feature]:
            raise ChoiceError(
                f"robust: expected thresholds of {moved[0]!r}, got a set of numbers; use {option('encoding', 'auto')}"
            )

    def sides(self, split: Split, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether some point in the box of each row goes left, and whether some goes right.

        Parameters
        ----------
        split : Split
        X : float64 (rows, features)

        Returns
        -------
        left, right : bool (rows,)

        Raises
        ------
        ChoiceError
            As in `expect`.
        """
        self.expect(split)
        place = split.features[0]
        r, v = self.radius[place], X[:, place]
        if not any(self.moves[at] for at in split.features):
            left = split.left(X)
            return left, ~left
        low, high = box_ends(v, r)
        if isinstance(split, Threshold):  # a missing number is not below the threshold, so it goes right
            return low <= split.threshold, ~(high <= split.threshold)
        if self.free[place]:
            return self._free_sides(split, len(X))
        if isinstance(split, Missing):
            left = np.isnan(v)
            return left, ~left
        value = split.values[0]
        return (low <= value) & (value <= high), np.ones(len(X), bool)

    def _free_sides(self, split: Split, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for a column that may have any level."""
        place = split.features[0]
        levels = set(range(len(self.features[place].levels)))
        if isinstance(split, Missing):
            left, right = bool(self.blank[place]), bool(levels)
        else:
            left, right = bool(levels & set(split.values)), bool(levels - set(split.values) or self.blank[place])
        return np.full(n, left), np.full(n, right)


def _radius(amount: str, column: np.ndarray, whose: str) -> float:
    """Return a radius of a number or a part of a range; raises ChoiceError."""
    part = amount.endswith("%")
    try:
        found = float(amount.removesuffix("%"))
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise ChoiceError(f"robust: expected a radius of 0 or more for {whose}, as 2 or 5%, or {FREE}, got {amount!r}")
    if not part:
        return found
    known = column[np.isfinite(column)]
    return found / 100 * float(known.max() - known.min()) if len(known) else 0.0
