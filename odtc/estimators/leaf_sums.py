"""Common base of estimators of tasks whose leaves answer numbers from sums over their rows (odtc.data.task)."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from odtc.data.dataset import Dataset
from odtc.estimators import parameters
from odtc.estimators.tree_estimator import TreeEstimator, name_of
from odtc.estimators.units import in_doubles, rounding_of_quotients
from odtc.model.feasibility import Check
from odtc.workflow.specification import RunSpec


class LeafSumsEstimator(TreeEstimator):
    """An estimator of a task with MOMENTS."""

    TASK: Any  # its module

    __init__ = parameters.constructor()

    _power = 1  # of the targets, that a cost is

    def _in_units(self, targets: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the targets, of rows of these weights, in a unit of their own, and that unit."""
        return targets, 1.0

    def _weighed(self, rows: Dataset) -> tuple[Dataset, float]:
        """Return the rows with their weights in a unit of their own, and that unit."""
        return rows, 1.0

    @abstractmethod
    def _targets(self, y, n_rows: int) -> np.ndarray:
        """Return float64 (rows, columns), the target of each row; raises ValueError for targets that do not fit."""

    @abstractmethod
    def _sums(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return float64 (rows, sums) of the task, for rows of positive weight."""

    @abstractmethod
    def _measured(self, rows: Dataset, targets: np.ndarray) -> Dataset:
        """Return the data set of the rows with their targets."""

    @in_doubles()
    def fit(self, X, y, sample_weight=None):
        """Find the best tree for these rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
            Numbers, text or categories; NaN, None or pandas.NA if missing.
        y : array (rows,)
            Numbers; of survival a structured array of events (bool) and times, in this order.
        sample_weight : float (rows,) or None
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If data or parameters do not fit.
        KeyboardInterrupt
            After Ctrl-C; the attributes of the best tree so far are set, if there is one.
        """
        parameters.expect(self)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X, self.features_ = self._learnt(X)
        self._target = name_of(y, self._names())
        rows, given = self._rows(X, y, sample_weight)
        targets, unit = self._in_units(given, rows.weight)
        weight, (rows, mass) = rows.weight, self._weighed(rows)
        in_costs, units = unit**self._power * mass, self._units(unit * mass, float(weight.sum()), self._power)
        if self._is_alone(rows.X, _are_equal(targets)):
            self.model_ = None
            tree, solution = self._alone(self._of_one_leaf(rows, targets), float(weight.sum()) / in_costs)
        else:
            spec = self._run_spec(weight, in_costs)
            problem, tree, solution, _ = self._run(spec, self._measured(rows, targets), units)
            self.model_ = problem.formulation
        cost = solution.objective * unit**self._power
        self._note_quotients(rounding_of_quotients(given, targets, unit, float(weight.sum()), cost, self._power))
        self._ended(tree, solution, units)
        self.leaf_values_ = np.array([self.tree_.answer(leaf) for leaf in self.tree_.leaves()], dtype=float)
        self.leaf_rows_ = np.array([sum(leaf.rows) for leaf in self.tree_.leaves()], dtype=np.int64)
        self._stop_if_interrupted()
        return self

    def predict(self, X) -> np.ndarray:
        """Return the answer of each row's leaf.

        It is a mean for regression. For survival it is the risk: 1 is the risk of all rows, and more is an earlier
        event.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        float64 (rows,)
        """
        X = self._coded(X)
        return self.tree_.answers(X)

    def verify(self, X, y, sample_weight=None) -> list[Check]:
        """Check the results of `fit` by computing them again from the training rows.

        Parameters
        ----------
        X, y, sample_weight
            The training rows of `fit`.

        Returns
        -------
        list of odtc.model.feasibility.Check
        """
        rows, targets = self._rows(self._coded(X), y, sample_weight)
        targets, unit = self._in_units(targets, rows.weight)
        weight, (rows, mass) = rows.weight, self._weighed(rows)
        in_costs, units = unit**self._power * mass, self._units(unit * mass, float(weight.sum()), self._power)
        if self.model_ is None:
            rows = self._of_one_leaf(rows, targets)
            only = self._is_alone(rows.X, _are_equal(targets))
            return self._checks_alone(only, lambda: self._alone(rows, float(weight.sum()) / in_costs), units)
        spec = RunSpec(model=self._asked_model(weight, in_costs))
        return self._checks(spec, self._measured(rows, targets), units)

    def _figures(self, every: dict, said: np.ndarray, X, y) -> dict:
        return {"score": None if y is None else np.array([one.score(X, y) for one in every.values()])}

    def _rows(self, X, y, sample_weight) -> tuple[Dataset, np.ndarray]:
        """Return the rows of positive weight and their targets, float64 (rows, columns), in an order of their own."""
        targets, weight = self._targets(y, len(X)), self._weights(X, sample_weight)
        kept = np.flatnonzero(weight > 0)
        if not len(kept):
            raise ValueError("expected a sample weight above 0, got only zero-weight rows")
        kept = kept[np.lexsort((*targets[kept].T, *X[kept].T[::-1]))]
        rows = Dataset(
            "X",
            np.ascontiguousarray(X[kept]) + 0.0,
            np.zeros(len(kept), np.int32),
            self.features_,
            (),
            weight[kept],
            self._target,
            missing="separate",
            task=self.TASK.NAME,
        )
        return rows, targets[kept]

    def _of_one_leaf(self, rows: Dataset, targets: np.ndarray) -> Dataset:
        """Return the data set of the rows with their targets, which may all be the same."""
        return replace(rows, classes=(self.TASK.LABEL,), sums=self._sums(targets, rows.weight))


def _are_equal(targets: np.ndarray) -> bool:
    """Return whether all rows have the same target, float64 (rows, columns)."""
    return bool((targets == targets[0]).all())
