"""`OptimalTreeRegressor`: the regression tree of least squared error in the manners of scikit-learn, with its proof."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from odtc.data.dataset import Dataset
from odtc.data.tasks import regression
from odtc.estimators import parameters
from odtc.estimators.leaf_sums import LeafSumsEstimator


@parameters.document
class OptimalTreeRegressor(RegressorMixin, LeafSumsEstimator):
    """The regression tree of a depth with the least (weighted) squared error on the training rows, proved.

    {parameters}

    A missing value goes right at a threshold, and may be asked for by itself; a category that was not seen in `fit` is
    in no set.

    Attributes
    ----------
    tree_ : odtc.Tree, whose leaves hold the sums of their rows (odtc.data.tasks.regression)
    objective_, bound_, gap_ : float, in units of squared error; status_, is_optimal_ : as of OptimalTreeClassifier
    leaf_values_ : float64 (leaves,), the mean of each leaf; leaf_rows_ : int64 (leaves,), its training rows
    n_features_in_, feature_names_in_, features_
    """

    TASK = regression

    def _targets(self, y, n_rows: int) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        if len(y) != n_rows:
            raise ValueError(f"expected one number for each row, got {len(y)} numbers and {n_rows} rows")
        assert_all_finite(y, input_name="y")
        return np.asarray(y, dtype=float)[:, None]

    def _sums(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return regression.sums_of(targets[:, 0], weight)

    def _measured(self, rows: Dataset, targets: np.ndarray) -> Dataset:
        return regression.measured(rows, targets[:, 0], "y")
