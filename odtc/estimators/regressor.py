"""`OptimalTreeRegressor`: the regression tree of least error with the interface of scikit-learn, with its proof."""

from dataclasses import replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from odtc.data.dataset import Dataset
from odtc.data.tasks import linear, median, regression
from odtc.errors import DataWarning
from odtc.estimators import parameters
from odtc.estimators.leaf_sums import LeafSumsEstimator
from odtc.estimators.monotone import best_rising, directions, rises
from odtc.estimators.one_column import ScoresOneColumn, one_column
from odtc.estimators.parameters import warn_caller
from odtc.estimators.units import ONE, Units, divided
from odtc.model.solution import is_proved
from odtc.trees.tree import Branch, Node
from odtc.workflow.specification import RunSpec

CRITERIA = {"squared_error": regression, "absolute_error": median}


@parameters.document
class OptimalTreeRegressor(ScoresOneColumn, RegressorMixin, LeafSumsEstimator):
    """The regression tree of a depth with the least (weighted) error on the training rows, proved: squared error, whose
    leaves answer means, or with criterion="absolute_error" absolute error, whose leaves answer medians. With
    leaf="linear" each leaf answers a line in one column.

    {parameters}

    A missing value goes right at a threshold, and a node may split on whether a value is missing; a category that was
    not seen in `fit` is in no set.

    Attributes
    ----------
    tree_ : odtc.Tree, whose leaves have the sums of their rows (odtc.data.tasks.regression, odtc.data.tasks.median)
    objective_, bound_, gap_ : float, in units of the error; status_, is_optimal_, claim_ : as of OptimalTreeClassifier
    leaf_values_ : float64 (leaves,), the mean or median of each leaf; leaf_rows_ : int64 (leaves,), its training rows
    feature_importances_ : float64 (features,), the share of each in the decrease of the error at the splits
    n_features_in_, feature_names_in_, features_
    """

    __init__ = parameters.constructor(criterion="squared_error", leaf="constant", ridge=0.0, monotonic_cst=None)

    def _run(self, spec: RunSpec, dataset: Dataset, units: Units = ONE):
        """Return the result of TreeEstimator's; with `monotonic_cst` the best tree whose numbers rise, as far as it
        can be proved."""
        orders = directions(self.monotonic_cst, self._names())
        problem, tree, solution, smallest = super()._run(spec, dataset, units)
        if not orders or rises(tree, orders):
            return problem, tree, solution, smallest
        self._certified = False  # of the tree without orders
        tree, solution = best_rising(problem, tree, solution, orders, self.time_limit)
        if not is_proved(solution.objective, solution.bound):
            warn_caller(
                "monotonic_cst is satisfied for all inputs, but the tree is not proved to be the best of such trees, "
                "whose error is at least bound_; fewer thresholds (encoding='auto:bins=8') or a lower max_depth may "
                "prove it",
                ConvergenceWarning,
            )
        return problem, tree, solution, (False, False)

    @property
    def TASK(self):
        return linear if self.leaf == linear.NAME else CRITERIA[self.criterion]

    @property
    def feature_importances_(self) -> np.ndarray:
        """float64 (features,): how much of the error around one answer goes at the splits of each feature, as shares of
        all that goes, as in scikit-learn; 0 without a split."""
        check_is_fitted(self)
        gone = np.zeros(self.n_features_in_)
        for node, _ in self.tree_.walk():
            if isinstance(node, Branch):
                lost = self._error(node) - self._error(node.left) - self._error(node.right)
                asked = sorted(node.split.features)
                gone[asked] += max(0.0, lost) / len(asked)
        return gone / gone.sum() if gone.sum() > 0 else gone

    def _error(self, node: Node) -> float:
        """Return the error of the rows of a node around their single best answer."""
        if self.TASK is not median:
            return float(regression.leaf_costs(np.array(node.sums)))
        return float(median.losses(np.array(node.counts), self.tree_.classes).min())

    def _figures(self, every: dict, said: np.ndarray, X, y) -> dict:
        if y is None:
            return {"mean_squared_error": None, "mean_absolute_error": None}
        apart = said - np.asarray(one_column(y), float)[:, None]
        return {"mean_squared_error": (apart**2).mean(axis=0), "mean_absolute_error": np.abs(apart).mean(axis=0)}

    def _targets(self, y, n_rows: int) -> np.ndarray:
        self._expect_lines()
        y = one_column(y, warn=True)
        if len(y) != n_rows:
            raise ValueError(f"expected one number for each row, got {len(y)} numbers and {n_rows} rows")
        assert_all_finite(y, input_name="y")
        return np.asarray(y, dtype=float)[:, None]

    def _expect_lines(self) -> None:
        """Raise ValueError for parameters that do not go with the parameter `leaf`."""
        if self.TASK is not linear and self.ridge:
            raise ValueError(f'ridge needs leaf="linear", got ridge={self.ridge!r} with leaf={self.leaf!r}')
        if self.TASK is linear and self.criterion != "squared_error":
            raise ValueError('leaf="linear" needs criterion="squared_error", got criterion="absolute_error"')
        if self.TASK is linear and self.monotonic_cst is not None:
            raise ValueError('leaf="linear" knows no monotonic_cst; leave one of them out')

    @property
    def _power(self) -> int:
        return 1 if self.TASK is median else 2

    def _in_units(self, targets: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
        spread = float(targets.max() / 2 - targets.min() / 2) * 2
        return divided(targets, self._unit(spread, self._power, weight), spread)

    def _sums(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.TASK.sums_of(targets[:, 0], weight)

    def _measured(self, rows: Dataset, targets: np.ndarray) -> Dataset:
        if self.TASK is linear and np.isnan(rows.X).any():
            from odtc.data.notes import notes_on_lines  # it loads polars

            for note in notes_on_lines(rows.X, rows.features):
                self.notes_ += (note.text,)
                warn_caller(note.text, DataWarning)
        return self.TASK.measured(replace(rows, source=self._source), targets[:, 0], self._target)

    @property
    def _source(self) -> dict:
        return {"ridge": float(self.ridge)} if self.TASK is linear else {}

    def _of_one_leaf(self, rows: Dataset, targets: np.ndarray) -> Dataset:
        if self.TASK is median:
            return median.as_classes(rows, targets[:, 0])
        return super()._of_one_leaf(replace(rows, source=self._source), targets)
