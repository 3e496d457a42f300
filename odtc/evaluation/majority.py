"""The most frequent class, fold by fold: the baseline that a useful tree must exceed."""

from collections.abc import Sequence
from fractions import Fraction
from statistics import mean, stdev

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.evaluation.cross_validation import Result

SURE = 2.0  # standard errors, from the means of the folds
DENOMINATOR = 10**7  # rows: two shares of at most so many rows differ by 1e-14, more than a double rounds


@value_class
class Majority:
    """Scores of the most frequent class of the other folds.

    Attributes
    ----------
    label : str
        The most frequent class of all rows.
    score : str
        "accuracy", "balanced_accuracy" or "robust_accuracy", as in a Fold.
    scores : tuple of float
        The score of each fold, in the order in which they are dealt out.
    n_folds : int
        Folds each time that they are dealt out.
    """

    label: str
    score: str
    scores: tuple[float, ...]
    n_folds: int

    @classmethod
    def of(cls, dataset: Dataset, dealt: Sequence[np.ndarray], score: str) -> "Majority":
        """Return the scores on a data set; `dealt` are the folds of the rows, int64 (rows,), once for each time that
        they are dealt out."""
        scores = []
        for fold in dealt:
            for k in range(int(fold.max()) + 1):
                label, truth = _most_frequent(dataset, fold != k), dataset.y[fold == k]
                of_class = [float(label == each) for each in np.unique(truth)]
                by_rows = score != "balanced_accuracy"  # moved rows are answered alike
                scores.append(float((truth == label).mean()) if by_rows else float(np.mean(of_class)))
        most = _most_frequent(dataset, np.ones(dataset.n_rows, bool))
        return cls(dataset.classes[most], score, tuple(scores), int(dealt[0].max()) + 1)

    @property
    def mean(self) -> float:
        """The mean score over all folds."""
        return float(np.mean(self.scores))

    def lead(self, result: Result) -> tuple[float, float] | None:
        """Return (mean, standard error) of the lead of a setting over it in the same folds; None if a fold has no
        tree. The error is corrected because folds share training rows (Nadeau & Bengio 2003)."""
        scores = [getattr(fit, self.score) for fit in sorted(result.folds, key=lambda fit: fit.fold)]
        if None in scores:
            return None
        ahead = [_share(own) - _share(usual) for own, usual in zip(scores, self.scores, strict=True)]
        error = float(stdev(ahead)) * (1 / len(ahead) + 1 / (self.n_folds - 1)) ** 0.5
        return float(mean(ahead)), error

    def is_surely_beaten(self, result: Result) -> bool:
        """Return whether a setting is ahead of it by more than SURE standard errors, or this is not known."""
        lead = self.lead(result)
        return lead is None or lead[0] > SURE * lead[1]

    def to_json(self) -> dict:
        """Return it as an object of JSON."""
        return {"class": self.label, "score": self.mean, "scores": list(self.scores)}


def _share(score: float) -> Fraction:
    """Return the share of rows that a score states, exactly, so that differences that cancel out leave 0."""
    return Fraction(score).limit_denominator(DENOMINATOR)


def _most_frequent(dataset: Dataset, rows: np.ndarray) -> int:
    """Return the class of most of the weight of some rows, bool (rows,)."""
    return int(np.bincount(dataset.y[rows], dataset.weight[rows], len(dataset.classes)).argmax())
