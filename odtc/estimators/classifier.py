"""`OptimalTreeClassifier`: the compiler with the interface of scikit-learn, and the proof of the tree."""

import math
from dataclasses import replace

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from odtc.base.text import show_number
from odtc.base.whole_numbers import whole_numbers
from odtc.data import label_types
from odtc.data.cost_matrix import cost_matrix, weight_of_classes
from odtc.data.dataset import Dataset, Feature
from odtc.errors import SaysNothingError, SearchOnlyError
from odtc.estimators import parameters
from odtc.estimators.cost_complexity import Corner, envelope
from odtc.estimators.least_weight import best_fitting, fits, least_rows
from odtc.estimators.monotone import constraint_text, directions
from odtc.estimators.one_column import ScoresOneColumn, one_column
from odtc.estimators.parameters import warn_caller
from odtc.estimators.tree_estimator import TreeEstimator, name_of
from odtc.estimators.units import IN_SOLVERS, ONE, Units, in_doubles
from odtc.model.solution import Solution, Termination, is_proved
from odtc.trees.attack import is_robust
from odtc.trees.boxes import Boxes
from odtc.trees.monotone_order import falling_pairs
from odtc.trees.tree import Leaf, Tree
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec

TINY = 1e-6  # of the dearest error: costs nearer than 1e-9 count as equal
PRICED_OUT = 2.0**16  # the penalty of a branch node in costs of a user: (1-λ) of a greater λ has lost too many digits
NO_NODE = 100.0  # of `ccp_alpha`, in the highest cost of an error: far more than any branch node saves


@parameters.document
class OptimalTreeClassifier(ScoresOneColumn, ClassifierMixin, TreeEstimator):
    """The classification tree of a depth with the fewest (weighted) training errors, proved by a solver.

    {parameters}

    A missing value (NaN, None, pandas.NA) goes right at a threshold, and a node may split on whether a value is
    missing; a category that was not seen in `fit` is in no set.

    Attributes
    ----------
    tree_ : Tree
        The tree, with counts and rows in its leaves.
    status_ : str
        "optimal", "time_limit", … (odtc.model.solution.Termination); "unknown" for CART, which proves nothing.
    objective_ : float
        The cost of the tree.
    bound_, gap_ : float or None
        A lower bound on the cost of all trees, and the gap to it; None if nothing is proved.
    is_optimal_ : bool
        Whether the bound proves that no tree costs less.
    claim_ : str
        "proved optimal", "proved optimal, certified" (a certificate of the proof was checked on the data) or "best
        found", as `odtc fit` prints it.
    message_ : str
        Further remarks on the tree, from a search or held-out rows; "" if there are none.
    notes_ : tuple of str
        Remarks on the training rows: columns that name rows, hold dates or marks of missing cells, or determine the
        class; a class of few rows.
    fewest_leaves_ : bool
        Whether it is proved that no tree of this objective has fewer leaves.
    fewest_columns_ : bool
        Whether it is proved that no such tree with as few leaves uses fewer columns.
    model_ : str or None
        The formulation that was used for `model`; None if a single leaf was the only tree.
    leaf_rows_ : int64 (leaves, classes)
        Training rows.
    leaf_weights_ : float64 (leaves, classes)
        The same weighted by sample and class.
    feature_importances_ : float64 (features,)
        Shares of the decrease of the Gini impurity.
    classes_ : array (classes,)
    n_classes_, n_features_in_ : int
    feature_names_in_ : array (features,)
        If the columns have names.
    boxes_ : odtc.trees.boxes.Boxes or None
        How far rows may be moved; None without `robust`.
    features_ : tuple of odtc.data.dataset.Feature
    """

    __init__ = parameters.constructor(
        class_weight=None, cost=None, cuts=None, start="auto", gap=0.0, monotonic_cst=None, robust=None
    )

    @in_doubles()
    def fit(self, X, y, sample_weight=None, auxiliary=None):
        """Find the best tree for these rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
            Numbers, text or categories; NaN, None or pandas.NA if missing.
        y : array (rows,)
            Labels.
        sample_weight : float (rows,) or None
            Weights >= 0; a row of weight 0 counts as absent.
        auxiliary : data frame (rows, columns), series or None
            Columns that no split uses and `predict` does not need, but constraints may name: the groups of
            `constraints="statistical_parity[group=sex,positive=yes] <= 0.1"`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If data or parameters do not fit.
        NoSolutionError
            If no tree satisfies the constraints.
        SolverError
            If the solver cannot run.
        KeyboardInterrupt
            After Ctrl-C; the attributes of the best tree so far are set, if there is one.
        """
        parameters.expect(self)
        solving = SolvingSpec(self.time_limit, self.threads, self._seed(), self.gap, self.solver)
        if y is None:
            raise ValueError("OptimalTreeClassifier requires y to be passed, but the target y is None")
        X, self.features_ = self._learnt(X)
        self._target = name_of(y, self._names())
        dataset = self._dataset(
            X, self._codes_of_labels(y, len(X)), self._weights(X, sample_weight), self._set_aside(X, auxiliary)
        )
        dataset, units = self._in_units(dataset)
        cost = self._cost(dataset)
        self.notes_ += self._remarks_on_classes(dataset)
        of_class = self._class_weights(dataset)
        problem, tree, solution, smallest = self._found(cost, dataset, solving, units, of_class)
        self.model_ = problem.formulation if problem is not None else None
        self._ended(tree, solution, units)
        tree = self.tree_
        self._warn_of_falling_pairs(tree)
        self.fewest_leaves_, self.fewest_columns_ = smallest
        self.boxes_ = None if problem is None else problem.module.boxes(problem)
        self._describe_leaves(tree, of_class)
        with np.errstate(over="ignore"):
            self._ranges = np.nan_to_num(np.fmax.reduce(dataset.X) - np.fmin.reduce(dataset.X))
        self._stop_if_interrupted()
        return self

    def _found(self, cost, dataset: Dataset, solving: SolvingSpec, units, of_class: np.ndarray):
        """Return the best tree whose leaves have the least weight: (problem or None, tree, solution, whether no best
        tree has fewer leaves and whether none has fewer columns)."""
        if self._is_alone(dataset.X, len(np.unique(dataset.y)) < 2):
            return None, *self._alone(dataset, self._weight_of_all(dataset), cost), (True, True)
        problem, tree, solution, smallest = self._searched(cost, dataset, solving, units)
        least = self.min_weight_fraction_leaf * self._weight_of_all(dataset)
        if least > 0 and not fits(tree, of_class, least):
            return problem, *self._of_least_weight(problem, tree, solution, of_class, cost, least), (False, False)
        return problem, tree, solution, smallest

    def _describe_leaves(self, tree, of_class: np.ndarray) -> None:
        """Set the attributes of the leaves; `of_class` is the weight of each class, float64 (classes,)."""
        self.leaf_rows_ = np.array([leaf.rows for leaf in tree.leaves()], dtype=np.int64)
        self.leaf_weights_ = np.array([leaf.counts for leaf in tree.leaves()]) * of_class

    def _codes_of_labels(self, y, n_rows: int) -> np.ndarray:
        """Return the position of each row's label in `classes_`, which it sets; raises ValueError for labels that do
        not fit."""
        y = one_column(y, warn=True)
        if len(y) != n_rows:
            raise ValueError(f"expected one label for each row, got {len(y)} labels and {n_rows} rows")
        expect_labels(y)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        if directions(self.monotonic_cst, self._names()) and self.n_classes_ > 2:
            raise ValueError(f"expected two classes for monotonic_cst, got {self.n_classes_}")
        return codes

    def _of_least_weight(self, problem, tree: Tree, solution: Solution, of_class, cost, least: float):
        """Return the best tree that is found whose leaves weigh at least `least`, and its solution, with a warning if
        it is not proved."""
        self._certified = False  # of the tree of the search
        tree, paid, breaks = best_fitting(problem, tree, of_class, cost, least, self.simplify)
        proved = is_proved(paid, solution.bound) and not breaks
        if not proved:
            warn_caller(
                f"min_weight_fraction_leaf={self.min_weight_fraction_leaf:g} is not proved to be satisfied at the "
                f"least cost, as the rows have different weights: the tree costs {paid:g}, and none costs less than "
                f"{solution.bound}; min_samples_leaf, which counts rows, is proved"
                + f"; no tree was found that keeps it with the constraints: {'; '.join(breaks)}"
                * bool(breaks),
                ConvergenceWarning,
            )
        ended = Termination.OPTIMAL if proved else Termination.UNKNOWN
        return tree, replace(solution, objective=paid, termination=ended)

    def _warn_of_falling_pairs(self, tree: Tree) -> None:
        """Warn of columns of `monotonic_cst` in which the tree falls for inputs that are not training rows."""
        for name, sign in directions(self.monotonic_cst, self._names()):
            if falling_pairs(tree.root, tree.features, self._names().index(name), 1 if sign > 0 else 0):
                warn_caller(
                    f"monotonic_cst holds for {name!r} among the training rows, but not for all inputs: "
                    "OptimalTreeClassifier(model='dpflow') keeps it for all (weights are then to be small fractions)",
                    UserWarning,
                )

    def cost_complexity_pruning_path(self, X, y, sample_weight=None, auxiliary=None):
        """Return the best trees for all values of `ccp_alpha`, with the exact values at which they change.

        Each tree is the best one for its values of `ccp_alpha`, while scikit-learn prunes one tree. A tree is fitted
        for each corner that is found and for each pair of neighbours.

        Parameters
        ----------
        X, y, sample_weight, auxiliary
            As of `fit`.

        Returns
        -------
        Bunch
            By rising `ccp_alpha`: `ccp_alphas`, float64 (trees,), the value from which on each tree is the best, 0 for
            the first; `impurities`, float64 (trees,), the share of the training weight that it misclassifies, or the
            cost of its errors per unit of weight; `n_leaves`, int64 (trees,).

        Raises
        ------
        ValueError, NoSolutionError, SolverError
            As `fit`.
        """

        def solve(alpha: float) -> Corner:
            fitted = clone(self).set_params(ccp_alpha=alpha).fit(X, y, sample_weight, auxiliary)
            dataset = fitted._training_rows(fitted._coded(X), y, sample_weight, auxiliary)
            weight = fitted._weight_of_all(dataset)
            cost = fitted._cost(dataset)
            lost = sum(float(np.dot(leaf.counts, cost[:, leaf.label])) for leaf in fitted.tree_.leaves())
            return Corner(fitted.tree_.n_leaves, lost / weight)

        prices = (
            self.cost.values() if hasattr(self.cost, "values") else np.ravel(0.0 if self.cost is None else self.cost)
        )
        found = envelope(solve, 2.0 + max(prices, default=0.0))  # no branch node saves more than all rows can cost
        return Bunch(
            ccp_alphas=np.array([alpha for alpha, _ in found]),
            impurities=np.array([corner.wrong for _, corner in found]),
            n_leaves=np.array([corner.leaves for _, corner in found]),
        )

    def predict(self, X):
        """Return the class of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        array (rows,)
            Labels, of the type of `classes_`.
        """
        X = self._coded(X)
        return self.classes_[self.tree_.predict(X)]

    def robust_score(self, X, y, sample_weight=None) -> float:
        """Return the share of the weight of the rows that are correct wherever they are moved within their boxes.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)
        y : array (rows,)
            Labels.
        sample_weight : float (rows,) or None

        Returns
        -------
        float
            The accuracy if no rows may be moved.

        Raises
        ------
        ValueError
            If the number of labels is not the number of rows.
        """
        X, y = self._coded(X), one_column(y)
        if len(y) != len(X):
            raise ValueError(f"expected one label for each row, got {len(y)} labels and {len(X)} rows")
        codes = np.searchsorted(self.classes_, y).clip(max=self.n_classes_ - 1)
        codes[self.classes_[codes] != y] = -1  # a class that was never seen is predicted for no row
        right = self.tree_.predict(X) == codes if self.boxes_ is None else is_robust(self.tree_, X, codes, self.boxes_)
        return float(np.average(right, weights=self._weights(X, sample_weight)))

    def predict_proba(self, X):
        """Return the share of each class in the training weight of each row's leaf.

        Weights of samples and classes are included, as in scikit-learn. `leaf_rows_` counts rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        float64 (rows, classes)
        """
        leaves = self._leaves(X)
        held = self.leaf_weights_.copy()
        empty = held.sum(axis=1) == 0
        held[empty] = np.eye(self.n_classes_)[[leaf.label for leaf in self.tree_.leaves()]][empty]
        return (held / held.sum(axis=1, keepdims=True))[leaves]

    def predict_log_proba(self, X):
        """Return the logarithm of `predict_proba`; -inf for a share of 0.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        float64 (rows, classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def feature_importances_(self) -> np.ndarray:
        """float64 (features,): how much of the Gini impurity of the training weight goes at the splits of each feature,
        as shares of all that goes, as in scikit-learn; 0 without a split. A hyperplane's part is shared out by how far
        each of its terms ranges over the training rows. The tree was chosen for its errors, not for impurity."""
        check_is_fitted(self)
        gone, leaves = np.zeros(self.n_features_in_), iter(self.leaf_weights_)

        def weighed(node) -> np.ndarray:
            if isinstance(node, Leaf):
                return next(leaves)
            left, right = weighed(node.left), weighed(node.right)
            lost = max(0.0, _impurity(left + right) - _impurity(left) - _impurity(right))
            share = np.zeros(len(gone))
            for term in getattr(node.split, "terms", ()):
                share[term.feature] += abs(term.weight) * (
                    1.0 if term.level is not None else self._ranges[term.feature]
                )
            if not share.any():
                share[list(node.split.features)] = 1.0
            gone[:] += lost * share / share.sum()
            return left + right

        weighed(self.tree_.root)
        return gone / gone.sum() if gone.sum() > 0 else np.zeros_like(gone)

    # What `fit` is made of.

    def _training_rows(self, X, y, sample_weight, auxiliary=None) -> Dataset:
        """Return rows in the codes of the fitted estimator as `fit` takes them; raises ValueError for other labels."""
        y = one_column(y)
        codes = np.searchsorted(self.classes_, y).clip(max=self.n_classes_ - 1)
        if len(y) != len(X) or (self.classes_[codes] != y).any():
            raise ValueError("expected the rows and labels that the estimator was fitted on, got other ones")
        return self._dataset(X, codes, self._weights(X, sample_weight), self._set_aside(X, auxiliary))

    def _set_aside(self, X, auxiliary) -> tuple[np.ndarray, tuple[Feature, ...]]:
        """Return (float64 (rows, columns), features) of columns that no split uses; ValueError if they do not fit."""
        if auxiliary is None:
            return np.zeros((len(X), 0)), ()
        from odtc.data import frames  # it loads polars

        table = auxiliary.to_frame() if hasattr(auxiliary, "to_frame") else auxiliary  # of a series
        if not hasattr(table, "columns"):
            raise ValueError(
                f"expected auxiliary as a data frame or a series with a name, got {type(auxiliary).__name__}"
            )
        frames.expect_names(table)
        names = [str(name) for name in table.columns]
        if len(table) != len(X):
            raise ValueError(
                f"expected a row of auxiliary columns for each row of X, got {len(table)} and {len(X)} rows"
            )
        if both := set(names) & set(self._names()):
            raise ValueError(
                f"expected auxiliary columns that are none of X, got {', '.join(sorted(map(repr, both)))} in both; "
                "drop them from X, so that no split uses them"
            )
        return frames.learn_features(frames.series_of(table), names, set())

    def _dataset(self, X, codes, weight, auxiliary) -> Dataset:
        """Return the rows of positive weight, in an order of their own, so that neither the order of the rows nor
        whether a row is repeated or has weight 2 makes any difference among trees that are equally good."""
        kept = np.flatnonzero(weight > 0)
        if not len(kept):
            raise ValueError("expected a sample weight above 0, got only zero-weight rows")
        cells, features = auxiliary
        kept = kept[np.lexsort((*cells[kept].T[::-1], codes[kept], *X[kept].T[::-1]))]
        return Dataset(
            "X",
            np.ascontiguousarray(X[kept]) + 0.0,
            codes[kept].astype(np.int32),
            self.features_,
            tuple(map(_label, self.classes_)),
            weight[kept],
            self._target,
            missing="separate",
            auxiliary=features,
            auxiliary_X=np.ascontiguousarray(cells[kept]) + 0.0,
            label_type=_label_type(self.classes_),
        )

    def _remarks_on_classes(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the columns that determine the class, and whether a tree can do without a class, unless costs or
        constraints require it."""
        from odtc.data.notes import notes_on_classes  # it loads polars

        asked = self.constraints or self.cost is not None or self.class_weight is not None
        return tuple(note.text for note in notes_on_classes(dataset) if not (asked and note.kind == "imbalance"))

    def _class_weights(self, dataset: Dataset) -> np.ndarray:
        """Return float64 (classes,): the factor of a unit of weight of each class."""
        K = len(dataset.classes)
        if self.class_weight is None or K < 2:
            return np.ones(K)
        return cost_matrix(dataset.classes, weight_of_classes(dataset), self._named_weights()).max(axis=1)

    def _named_weights(self):
        given = self.class_weight
        if isinstance(given, str) or given is None:
            return given
        known = {label: label for label in self.classes_.tolist()}  # True may be written as 1
        strange = [label for label in given if label not in known]
        # As in scikit-learn: if all classes have a weight, a fold may lack one.
        if strange and not set(known) <= set(given):
            raise ValueError(
                f"expected class_weight of the classes {', '.join(map(repr, self.classes_.tolist()))}, got one of "
                f"{strange[0]!r}"
            )
        return {_label(known[label]): value for label, value in dict(given).items() if label in known}

    def _cost(self, dataset: Dataset) -> np.ndarray:
        K = len(dataset.classes)
        given = self.cost
        if hasattr(given, "items"):
            known = {label: label for label in self.classes_.tolist()}
            given = {
                (_label(known.get(true, true)), _label(known.get(predicted, predicted))): price
                for (true, predicted), price in given.items()
            }
        return (
            cost_matrix(dataset.classes, weight_of_classes(dataset), self._named_weights(), given)
            if K > 1
            else np.zeros((1, 1))
        )

    def _in_units(self, dataset: Dataset) -> tuple[Dataset, Units]:
        """Return the rows, and the units of their weights. The weights have a unit of their own if they are so small
        that their costs count as rounding, or so large that only the penalty of a branch node counts; 1 under
        constraints, which may be on weights."""
        highest = float(self._cost(dataset).max())
        largest = float(dataset.weight.max()) * highest
        priced_out = float(self.ccp_alpha) * self._weight_of_all(dataset) > PRICED_OUT
        if self.constraints or not (0 < largest < TINY or (priced_out and self.ccp_alpha < NO_NODE * highest)):
            return dataset, ONE
        whole, exact = whole_numbers(dataset.weight)
        unit = float(exact)
        if not 0 < unit < math.inf or whole.dtype == object or whole.max() > IN_SOLVERS[1]:
            unit = self._unit(largest, 1, dataset.weight)
            whole = dataset.weight / unit
        units = self._units(unit, self._weight_of_all(dataset))
        return replace(dataset, weight=whole.astype(float)), units

    def _weight_of_all(self, dataset: Dataset) -> float:
        """Return the weight of all rows, including the weights of their classes."""
        return float(np.bincount(dataset.y, dataset.weight, self.n_classes_) @ self._class_weights(dataset))

    def _searched(self, cost: np.ndarray, dataset: Dataset, solving: SolvingSpec, units: Units):
        """Return the result of `_run`. Orders are required for all inputs, or among training rows if a model is
        solved; those that no training rows can break are then left out, with a warning."""
        kind, orders = "monotone_everywhere", directions(self.monotonic_cst, self._names())
        while True:
            self._orders = tuple(
                constraint_text(kind, name, dataset.classes[1 if sign > 0 else 0]) for name, sign in orders
            )
            spec = RunSpec(model=self._model_spec(cost, dataset), solving=solving, simplify=self.simplify)
            try:
                return self._run(spec, dataset, units)
            except SearchOnlyError:
                if not orders or kind == "monotone":
                    raise
                kind = "monotone"
            except SaysNothingError as nothing:
                orders = [(name, sign) for name, sign in orders if name != nothing.column]
                warn_caller(
                    f"monotonic_cst has no effect on {nothing.column!r} and is left out, because no two training rows "
                    f"differ only in this column, and model={self.model!r} compares training rows",
                    UserWarning,
                )

    def _model_spec(self, cost: np.ndarray, dataset: Dataset) -> ModelSpec:
        weight = dataset.weight * self._class_weights(dataset)[dataset.y]
        least = least_rows(weight, self.min_weight_fraction_leaf)
        given = self._limits(max(self._fewest(dataset.n_rows), least))
        given += getattr(self, "_orders", ())
        params = self._priced(self._weight_of_all(dataset))
        if self.robust is not None:
            params = {**(params or {}), "robust": Boxes.text_of(self.robust)}
        return ModelSpec(
            model=self.model,
            depth=int(self.max_depth),
            params=params,
            encoding=self.encoding,
            cuts=self.cuts,
            start=self.start,
            cost=cost,
            constraints=given,
        )


def expect_labels(y: np.ndarray) -> None:
    """Raise ValueError for a row without a label, or for text next to labels of another type, among labels of any
    type."""
    if y.dtype == object and (absent := [at for at, label in enumerate(y) if label is None or label != label]):
        more = f", and {len(absent) - 1} more rows have none" if len(absent) > 1 else ""
        raise ValueError(f"expected a label for each row, got {y[absent[0]]} in row {absent[0]}{more}; drop these rows")
    if y.dtype == object and 0 < sum(isinstance(label, str) for label in y) < len(y):
        text, other = (next(label for label in y if isinstance(label, str) == is_text) for is_text in (True, False))
        raise ValueError(
            f"expected labels of one type, got {other!r} and {text!r}; make all of them text: "
            "[str(label) for label in y]"
        )


def _impurity(weights: np.ndarray) -> float:
    """Return the Gini impurity of a node by class, times its weight."""
    total = weights.sum()
    return float(total - (weights**2).sum() / total) if total > 0 else 0.0


def _label(label) -> str:
    """Return a label as in a data file: 1 for 1.0, true for True."""
    if isinstance(label, (bool, np.bool_)):
        return "true" if label else "false"
    return show_number(label) if isinstance(label, (float, np.floating)) else str(label)


def _label_type(labels: np.ndarray) -> str:
    """Return the type of labels (odtc.data.label_types) of an array."""
    like = {"b": label_types.BOOL, "i": label_types.INT, "u": label_types.INT, "f": label_types.FLOAT}.get(
        labels.dtype.kind
    )
    if labels.dtype == object:
        kinds = {type(label) for label in labels.tolist()}
        like = {bool: label_types.BOOL, int: label_types.INT, float: label_types.FLOAT}.get(
            kinds.pop() if len(kinds) == 1 else str
        )
    return label_types.label_type_of(map(_label, labels), False, like or label_types.TEXT)
