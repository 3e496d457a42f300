"""`OptimalPolicyTree`: the tree that chooses an action, from known costs or from observations."""

from dataclasses import replace

import numpy as np
from sklearn.utils.multiclass import unique_labels

from odtc.base.text import count_of, show_number
from odtc.data.dataset import Dataset
from odtc.data.label_types import in_numpy
from odtc.data.reading_spec import GOALS, SCORES
from odtc.data.tasks import policy
from odtc.data.tasks.policy.causal_scores import design, expect_enough, scores_of
from odtc.data.tasks.policy.chances import OF_ESTIMATOR, told_of_propensity
from odtc.errors import DataWarning
from odtc.estimators import parameters
from odtc.estimators.one_column import one_column
from odtc.estimators.parameters import warn_caller
from odtc.estimators.tree_estimator import TreeEstimator
from odtc.estimators.units import divided, in_doubles, rounding_of_quotients
from odtc.model.feasibility import Check, is_close
from odtc.workflow.specification import RunSpec


@parameters.document
class OptimalPolicyTree(TreeEstimator):
    """The tree of a depth whose actions cost least on the training rows, proved.

    `fit(X, costs)` takes the cost of each action on each row; `fit(X, treatment, outcome)` estimates these costs from
    the action that each row received and its outcome (odtc.data.tasks.policy.causal_scores).

    {parameters}

    Attributes
    ----------
    tree_ : odtc.Tree
    actions_ : array (actions,), the columns of a data frame of costs, their places, or the treatments
    costs_ : float64 (rows, actions), the costs of the actions on the training rows, known or estimated
    cost_ : float, the cost of the tree on the training rows
    objective_, bound_, gap_ : float, as of `odtc fit`: `cost_` is `objective_` plus the same number for all trees
    status_, is_optimal_, claim_, n_features_in_, feature_names_in_, features_
    """

    __init__ = parameters.constructor(scores=SCORES[0], goal=None)

    @in_doubles()
    def fit(self, X, y, outcome=None, propensity=None, sample_weight=None):
        """Find the best policy for these rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        y : float (rows, actions) or array (rows,)
            The cost of each action on each row; or with `outcome` the action that each row received.
        outcome : float (rows,) or None
            The outcome of the action; more is better, unless goal="min".
        propensity : float (rows,) or (rows, actions), or None
            The probability of the action received, or of each; None if it is to be estimated.
        sample_weight : float (rows,) or None

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
        if self.scores not in SCORES or self.goal not in (None, *GOALS):
            raise ValueError(
                f"expected scores of {', '.join(SCORES)} and goal of {', '.join(GOALS)} or None, got {self.scores!r} "
                f"and {self.goal!r}"
            )
        X, self.features_ = self._learnt(X)
        weight = self._weights(X, sample_weight)
        rows, self.costs_, self.actions_, digits = self._priced_rows(X, y, outcome, propensity, weight)
        names = _names(self.actions_)
        rows, given = _weighing(rows, self.costs_)
        costs, unit = self._in_units(given, rows.weight)
        units = self._units(unit, float(weight.sum()))
        if self._is_alone(rows.X, _are_equal(costs)):
            self.model_ = None
            votes = policy.cast(rows, names, costs, "the costs", digits)
            tree, solution = self._alone(votes, float(rows.weight.sum()) / unit)
        else:
            dataset = policy.voting(rows, names, costs, "the costs", digits)
            problem, tree, solution, _ = self._run(self._run_spec(rows.weight, unit), dataset, units)
            self.model_ = problem.formulation
        self._note_quotients(
            rounding_of_quotients(given, costs, unit, float(rows.weight.sum()), solution.objective * unit)
        )
        self._ended(tree, solution, units)
        self.cost_ = self._paid(tree.predict(X), self.costs_, weight)
        self._stop_if_interrupted()
        return self

    def verify(self, X, y, outcome=None, propensity=None, sample_weight=None) -> list[Check]:
        """Check the results of `fit` by computing them again from the training rows.

        Parameters
        ----------
        X, y, outcome, propensity, sample_weight
            The training rows of `fit`.

        Returns
        -------
        list of odtc.model.feasibility.Check
            `name`, `passed` and `text`: the votes in the leaves, each row by itself, the constraints, the objective,
            the bound, and the cost of the policy.

        Raises
        ------
        NotFittedError, ValueError
            If the rows do not fit the tree.
        """
        X = self._coded(X)
        weight = self._weights(X, sample_weight)
        rows, costs, actions, digits = self._priced_rows(X, y, outcome, propensity, weight)
        if actions.tolist() != self.actions_.tolist():
            raise ValueError(f"expected the actions of fit, {self.actions_.tolist()}, got {actions.tolist()}")
        paid = self._paid(self.tree_.predict(X), costs, weight)
        text = f"the policy costs {paid:.10g}, claimed {self.cost_:.10g}"
        cost = Check("policy cost", is_close(paid, self.cost_), text)
        rows, costs = _weighing(rows, costs)
        weight = rows.weight
        costs, unit = self._in_units(costs, weight)
        units = self._units(unit, float(weight.sum()))
        if self.model_ is None:
            votes = policy.cast(rows, _names(actions), costs, "the costs", digits)
            only, in_costs = self._is_alone(rows.X, _are_equal(costs)), float(weight.sum()) / unit
            return [*self._checks_alone(only, lambda: self._alone(votes, in_costs), units), cost]
        dataset = policy.voting(rows, _names(actions), costs, "the costs", digits)
        return [*self._checks(RunSpec(model=self._asked_model(weight, unit)), dataset, units), cost]

    def _in_units(self, costs: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the costs, of rows of these weights, in a unit of their own, and that unit."""
        spread = float((costs.max(axis=1) / 2 - costs.min(axis=1) / 2).max() * 2)
        return divided(costs, self._unit(spread, 1, weight), spread)

    def predict(self, X) -> np.ndarray:
        """Return the action for each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        array (rows,)
            Of `actions_`.
        """
        X = self._coded(X)
        return self.actions_[self.tree_.predict(X)]

    def value(self, X, costs, sample_weight=None, *, outcome=None, propensity=None) -> tuple[float, float]:
        """Return the mean cost of the policy on a row, and the standard error of this mean.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        costs : float (rows, actions) or array (rows,)
            In the order of `actions_`; or with `outcome` the action that each row received, whose costs are estimated
            on these rows as by `fit`.
        sample_weight : float (rows,) or None
        outcome : float (rows,) or None
        propensity : float (rows,) or (rows, actions), or None
            As for `fit`.

        Returns
        -------
        (float, float)

        Raises
        ------
        ValueError
            For costs of another shape.
        """
        X = self._coded(X)
        if outcome is None:
            table, _ = _table(costs, len(X))  # before the weights, which outcomes without a name are taken for
        weight = self._weights(X, sample_weight)
        if outcome is not None:
            table, actions = self._estimated(self._rows(X, weight), costs, outcome, propensity)
            if actions.tolist() != self.actions_.tolist():
                raise ValueError(f"expected the actions of fit, {self.actions_.tolist()}, got {actions.tolist()}")
        if table.shape[1] != len(self.actions_):
            raise ValueError(f"expected costs of {len(self.actions_)} actions, got {table.shape[1]}")
        sums = policy.sums_of(table, weight)
        told = policy.figures(sums, self.tree_.predict(X), self.tree_.classes)
        return told["mean_cost"], told["standard_error"]

    def score(self, X, costs, sample_weight=None) -> float:
        """Return the negative mean cost of the policy on a row: more is better.

        Parameters
        ----------
        X, costs, sample_weight
            As for `value`.

        Returns
        -------
        float
        """
        return -self.value(X, costs, sample_weight)[0]

    def _figures(self, every: dict, said: np.ndarray, X, y) -> dict:
        if y is None:
            return {"mean_cost": None, "standard_error": None}
        table, weight = _table(y, len(said))[0], np.ones(len(said))
        if table.shape[1] != len(self.actions_):
            raise ValueError(f"expected costs of {len(self.actions_)} actions, got {table.shape[1]}")
        places = {action: place for place, action in enumerate(self.actions_.tolist())}
        if strange := [one for one in np.unique(said).tolist() if one not in places]:
            raise ValueError(f"expected estimators that predict the actions {list(places)}, got {strange[0]!r}")
        taken = np.vectorize(places.get, otypes=[int])(said)
        sums, names = policy.sums_of(table, weight), self.tree_.classes
        told = [policy.figures(sums, column, names) for column in taken.T]
        return {name: np.array([one[name] for one in told], float) for name in ("mean_cost", "standard_error")}

    def _priced_rows(self, X, y, outcome, propensity, weight) -> tuple[Dataset, np.ndarray, np.ndarray, int | None]:
        """Return (rows in the codes of the features, the cost of each action on each row, the actions, digits of
        estimated costs)."""
        rows = self._rows(X, weight)
        if self.goal == "max" or (outcome is not None and self.goal is None):
            rows = replace(rows, source={"goal": "max"})  # leaves show the gains of actions
        if outcome is not None:
            return rows, *self._estimated(rows, y, outcome, propensity), policy.ESTIMATED
        costs, actions = _table(y, len(X))
        return rows, -costs if self.goal == "max" else costs, actions, None

    def _rows(self, X, weight) -> Dataset:
        """Return rows in the codes of the features, without a target."""
        return Dataset(
            "X", X + 0.0, np.zeros(len(X), np.int32), self.features_, (), weight, "action", "separate", task="policy"
        )

    def _estimated(self, rows: Dataset, treatment, outcome, propensity) -> tuple[np.ndarray, np.ndarray]:
        """Return (the cost of each action on each row, the actions)."""
        treatment, outcome = one_column(treatment), np.asarray(one_column(outcome), float)
        if not len(treatment) == len(outcome) == rows.n_rows:
            raise ValueError(
                f"expected a treatment and an outcome for each of {rows.n_rows} rows, got {len(treatment)} and "
                f"{len(outcome)}"
            )
        actions = unique_labels(treatment)
        taken = np.searchsorted(actions, treatment)
        if len(actions) < 2:
            raise ValueError(f"expected two treatments or more, got {_names(actions)[0]!r} in all {rows.n_rows} rows")
        if not (finite := np.isfinite(outcome)).all():
            row = int(finite.argmin())
            raise ValueError(
                f"expected finite outcomes, got {outcome[row]} in row {row}"
                + (f" and in {count_of((~finite).sum() - 1, 'row', '')} more" if (~finite).sum() > 1 else "")
                + "; leave these rows out, or fill them in"
            )
        known = None if propensity is None else np.asarray(in_numpy(propensity), float)
        if self.scores != "ips" or known is None:
            expect_enough(taken, rows.weight, _names(actions), "the treatments")
        shapes = (rows.n_rows,), (rows.n_rows, len(actions))
        if known is not None and (known.shape not in shapes or not ((known > 0) & (known <= 1)).all()):
            raise ValueError("expected propensities above 0 and at most 1, one for each row or for each row and action")
        for _, text in told_of_propensity(rows, known, "propensity", _names(actions), taken, OF_ESTIMATOR):
            warn_caller(text, DataWarning)
        scores = scores_of(design(rows), taken, outcome, rows.weight, self.scores, known)
        return (scores if self.goal == "min" else -scores), actions

    @staticmethod
    def _paid(label: np.ndarray, costs: np.ndarray, weight: np.ndarray) -> float:
        return float((weight * costs[np.arange(len(costs)), label]).sum())


def _weighing(rows: Dataset, costs: np.ndarray) -> tuple[Dataset, np.ndarray]:
    """Return the rows that weigh something, of which the weights have one or more, and their costs."""
    held = rows.weight > 0
    return rows.taken(held), costs[held]


def _are_equal(costs: np.ndarray) -> bool:
    """Return whether all actions cost the same on each row, float64 (rows, actions)."""
    return bool((costs == costs[:, :1]).all())


def _names(actions: np.ndarray) -> tuple[str, ...]:
    """Return the actions as they are written."""
    return tuple(show_number(one) if isinstance(one, float) else str(one) for one in actions.tolist())


def _table(costs, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (costs float64 (rows, actions), the names of the actions). Raises ValueError for another shape."""
    names = np.array([str(name) for name in costs.columns]) if hasattr(costs, "columns") else None
    try:
        table = np.asarray(in_numpy(costs), float)
    except (TypeError, ValueError):
        raise ValueError(
            f"expected costs of shape ({n_rows}, actions), numbers, got {str(np.asarray(costs).ravel()[0])!r}; give "
            "outcome=…, too, if these are treatments"
        ) from None
    if table.ndim == 2 and not np.isfinite(table).all():
        row, action = np.argwhere(~np.isfinite(table))[0].tolist()
        raise ValueError(f"expected finite costs, got {table[row, action]} in row {row} of the action {action}")
    if table.ndim != 2 or table.shape[0] != n_rows or table.shape[1] < 2:
        raise ValueError(
            f"expected costs of shape ({n_rows}, actions) with two actions or more, got shape {table.shape}; "
            "give outcome=…, too, if these are treatments"
        )
    return table, np.arange(table.shape[1]) if names is None else names
