"""`OptimalSurvivalTree`: the survival tree of greatest likelihood with the interface of scikit-survival, with its
proof.

scikit-survival need not be installed.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odtc.data.dataset import Dataset
from odtc.data.tasks import survival
from odtc.data.tasks.survival.curves import concordance
from odtc.estimators import parameters
from odtc.estimators.leaf_sums import LeafSumsEstimator


class StepFunction:
    """Function that is constant until the next step, as in scikit-survival.

    Attributes
    ----------
    x, y : float64 (steps,), the times in rising order, and the value from each on
    before : float, the value before the first step
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, before: float):
        self.x, self.y, self.before = x, y, before

    @property
    def domain(self) -> tuple[float, float]:
        """The times that rows were seen in."""
        return 0.0, float(self.x[-1])

    def __call__(self, x):
        """Return the values at these times.

        Parameters
        ----------
        x : float or array

        Returns
        -------
        float or float64 array

        Raises
        ------
        ValueError
            For a time after the last row, or below 0: nothing is known about it.
        """
        asked = np.asarray(x, float)
        if not ((asked >= 0) & (asked <= self.x[-1])).all():
            raise ValueError(f"expected times from 0 to {self.x[-1]:.10g}, the last one of the training rows, got {x}")
        found = np.append(self.before, self.y)[np.searchsorted(self.x, asked, side="right")]
        return float(found) if asked.ndim == 0 else found

    def __repr__(self) -> str:
        return f"StepFunction({len(self.x)} steps, from {self.x[0]:.6g} to {self.x[-1]:.6g})"


@parameters.document
class OptimalSurvivalTree(LeafSumsEstimator):
    """The survival tree of a depth with the greatest likelihood (LeBlanc & Crowley) on the training rows, proved.

    {parameters}

    A missing value goes right at a threshold, and a node may split on whether a value is missing; a category that was
    not seen in `fit` is in no set.

    Attributes
    ----------
    tree_ : odtc.Tree, whose leaves have sums and the Kaplan-Meier curve of their rows (odtc.data.tasks.survival)
    objective_, bound_, gap_ : float, D - D log(D/H) of the leaves
    status_, is_optimal_, claim_ : as of OptimalTreeClassifier
    leaf_values_ : float64 (leaves,), the risk of each leaf; leaf_rows_ : int64 (leaves,), its training rows
    unique_times_ : float64 (times,), the times of the training rows
    n_features_in_, feature_names_in_, features_
    """

    TASK = survival

    def fit(self, X, y, sample_weight=None):
        """Find the best tree for these rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
            Numbers, text or categories; NaN, None or pandas.NA if missing.
        y : structured array (rows,)
            The first field states if there was an event (bool), the second is the time (float).
        sample_weight : float (rows,) or None
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If data or parameters do not fit, or if no row has an event.
        KeyboardInterrupt
            After Ctrl-C; the attributes of the best tree so far are set, if there is one.
        """
        if y is not None:
            survival.expect_event(self._targets(y, len(y))[:, 1], "y")
            self.unique_times_ = np.unique(self._targets(y, len(y))[:, 0])
        return super().fit(X, y, sample_weight)

    def predict_survival_function(self, X, return_array=False) -> np.ndarray:
        """Return the Kaplan-Meier curve of each row's leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        return_array : bool

        Returns
        -------
        array (rows,) of StepFunction, or float64 (rows, times)
            At `unique_times_`.
        """
        return self._functions(X, return_array, [left for left, _ in self._curves()], 1.0)

    def predict_cumulative_hazard_function(self, X, return_array=False) -> np.ndarray:
        """Return the Nelson-Aalen curve of each row's leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        return_array : bool

        Returns
        -------
        array (rows,) of StepFunction, or float64 (rows, times)
            At `unique_times_`.
        """
        return self._functions(X, return_array, [hazard for _, hazard in self._curves()], 0.0)

    def score(self, X, y, sample_weight=None) -> float:
        """Harrell's concordance index.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        y : structured array (rows,)
        sample_weight : float (rows,) or None

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If the order of no two rows is known.
        """
        risk = self.predict(X)
        targets, weight = self._targets(y, len(risk)), self._weights(X, sample_weight)
        found = concordance(*targets.T, risk, weight)
        if found is None:
            raise ValueError("expected two rows of which one surely had its event first, got none")
        return found

    def _curves(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Return (survival, cumulative hazard) of each leaf at `unique_times_`."""
        check_is_fitted(self)
        for leaf in self.tree_.leaves():
            at, left = np.array(leaf.curve).T
            before = np.append(1.0, left[:-1])
            lost = np.where(before > 0, 1 - left / np.where(before > 0, before, 1.0), 0.0)
            place = np.searchsorted(at, self.unique_times_, side="right")
            yield np.append(1.0, left)[place], np.append(0.0, np.cumsum(lost))[place]

    def _functions(self, X, return_array: bool, curves: list[np.ndarray], before: float) -> np.ndarray:
        leaf = self._leaves(X)
        if return_array:
            return np.stack(curves)[leaf]
        functions = np.empty(len(curves), dtype=object)
        functions[:] = [StepFunction(self.unique_times_, curve, before) for curve in curves]
        return functions[leaf]

    def _targets(self, y, n_rows: int) -> np.ndarray:
        """Return (time, event) of each row."""
        names = getattr(getattr(y, "dtype", None), "names", None)
        if names is None or len(names) != 2 or np.ndim(y) != 1:
            raise ValueError(
                "expected y as a structured array of two fields, whether there was an event and the time, got "
                f"{type(y).__name__}; sksurv.util.Surv makes it, and so does np.array(list(zip(event, time)), "
                'dtype=[("event", bool), ("time", float)])'
            )
        event, time = np.asarray(y[names[0]]), np.asarray(y[names[1]], float)
        if event.dtype != bool and not np.isin(event, (0, 1)).all():
            raise ValueError(f"expected the first field of y to be a boolean, got {names[0]!r} of type {event.dtype}")
        if len(time) != n_rows:
            raise ValueError(f"expected a time for each row, got {len(time)} times and {n_rows} rows")
        if not np.isfinite(time).all() or (time < 0).any():
            raise ValueError(f"expected finite times of at least 0 in the field {names[1]!r} of y")
        return np.column_stack([time, event.astype(float)])

    def _weighed(self, rows: Dataset) -> tuple[Dataset, float]:
        unit = self._unit(float(rows.weight.max()), 1, rows.weight)
        return replace(rows, weight=rows.weight / unit), unit

    def _sums(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return survival.sums_of(*targets.T, weight, "y")

    def _measured(self, rows: Dataset, targets: np.ndarray) -> Dataset:
        return survival.timed(rows, *targets.T, "y")
