"""Labels, numbers and weights of rows in one column, of any type that `fit` takes."""

import numpy as np
from sklearn.utils.validation import column_or_1d

from odtc.data.label_types import in_numpy


def one_column(y, warn: bool = False) -> np.ndarray:
    """Return labels or numbers as an array (rows,); with `warn` a frame of one column is a warning, as in scikit-learn.
    Raises ValueError for several columns."""
    return column_or_1d(in_numpy(y), warn=warn)


class ScoresOneColumn:
    """Mixin left of a mixin of scikit-learn, whose score then takes labels and weights of any type that `fit` takes."""

    def score(self, X, y, sample_weight=None) -> float:
        """Return the accuracy of a classifier, or R² of a regressor, as in scikit-learn.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        y : array (rows,)
            Labels or numbers.
        sample_weight : float (rows,) or None

        Returns
        -------
        float
        """
        return super().score(X, one_column(y), in_numpy(sample_weight))  # type: ignore[misc]
