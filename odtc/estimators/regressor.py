"""`OptimalTreeRegressor`: the regression tree of least squared error in the manners of scikit-learn, with its proof."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from odtc.data.dataset import Dataset
from odtc.data.tasks import regression
from odtc.estimators import parameters
from odtc.estimators.tree_estimator import TreeEstimator
from odtc.model.feasibility import Check, is_close
from odtc.model.solution import Solution, Termination
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Leaf, Tree
from odtc.verification.verify import verify_tree
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import RunSpec


@parameters.document
class OptimalTreeRegressor(RegressorMixin, TreeEstimator):
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

    def __init__(
        self,
        max_depth=2,
        *,
        min_samples_leaf=1,
        model="auto",
        solver=None,
        time_limit=None,
        encoding="auto",
        categorical_features="from_dtype",
        params=None,
        threads=None,
        random_state=None,
        simplify=True,
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.model = model
        self.solver = solver
        self.time_limit = time_limit
        self.encoding = encoding
        self.categorical_features = categorical_features
        self.params = params
        self.threads = threads
        self.random_state = random_state
        self.simplify = simplify

    def fit(self, X, y, sample_weight=None):
        """Finds the best tree for these rows.

        Parameters
        ----------
        X : array or data frame (rows, columns)
            Numbers, text or categories; NaN, None or pandas.NA if missing.
        y : float (rows,)
        sample_weight : float (rows,) or None
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If data or parameters do not fit.
        """
        parameters.expect(self)
        if y is None:
            raise ValueError("OptimalTreeRegressor requires y to be passed, but the target y is None")
        X, self.features_ = self._learnt(X)
        rows, y = self._rows(X, y, sample_weight)
        same = (rows.X == rows.X[0]) | (np.isnan(rows.X) & np.isnan(rows.X[0]))
        if self.max_depth == 0 or (y == y[0]).all() or same.all():
            self.model_ = None
            self._ended(*_leaf_alone(rows, y))
        else:
            dataset = regression.measured(rows, y, "y")
            problem, tree, solution, _ = self._run(self._run_spec(), dataset)
            self.model_ = problem.formulation
            self._ended(tree, solution)
        self.leaf_values_ = np.array([self.tree_.answer(leaf) for leaf in self.tree_.leaves()], dtype=float)
        self.leaf_rows_ = np.array([sum(leaf.rows) for leaf in self.tree_.leaves()], dtype=np.int64)
        return self

    def predict(self, X) -> np.ndarray:
        """The mean of each row's leaf.

        Parameters
        ----------
        X : array or data frame (rows, columns)

        Returns
        -------
        float64 (rows,)
        """
        X = self._coded(X)
        return self.tree_.answers(X)

    def verify(self, X, y, sample_weight=None) -> list[Check]:
        """Computes anew, from the training rows, what `fit` has said.

        Parameters
        ----------
        X, y, sample_weight
            The training rows of `fit`.

        Returns
        -------
        list of odtc.model.feasibility.Check
        """
        rows, y = self._rows(self._coded(X), y, sample_weight)
        if self.model_ is None:
            told = abs(self.tree_.answer(self.tree_.root) - float(np.average(y, weights=rows.weight)))
            return [Check("mean", told <= 1e-9 * max(1.0, float(np.abs(y).max())), f"the mean differs by {told:g}")]
        spec = RunSpec(model=self._asked_model()).with_model(model=self.model_)
        dataset = regression.measured(rows, y, "y")
        problem = pose_run(spec, dataset)
        heap = HeapTree.from_tree(self.tree_, problem.encoded, problem.topology, True)
        paid = problem.module.objective(problem, heap)
        text = f"the tree costs {paid:.10g}, {self.objective_:.10g} was said"
        return [
            *verify_tree(problem, heap, self.tree_, dataset),
            Check("objective", is_close(paid, self.objective_), text),
        ]

    def _rows(self, X, y, sample_weight) -> tuple[Dataset, np.ndarray]:
        """The rows that weigh something with their numbers, in an order of their own."""
        y = column_or_1d(y, warn=True)
        if len(y) != len(X):
            raise ValueError(f"expected one number for each row, got {len(y)} numbers and {len(X)} rows")
        assert_all_finite(y, input_name="y")
        y, weight = np.asarray(y, dtype=float), self._weights(X, sample_weight)
        kept = np.flatnonzero(weight > 0)
        if not len(kept):
            raise ValueError("expected a sample weight above 0, got only zero-weight rows")
        kept = kept[np.lexsort((y[kept], *X[kept].T[::-1]))]
        rows = Dataset(
            "X",
            np.ascontiguousarray(X[kept]) + 0.0,
            np.zeros(len(kept), np.int32),
            self.features_,
            (),
            weight[kept],
            "y",
            missing="separate",
            task="regression",
        )
        return rows, y[kept]


def _leaf_alone(rows: Dataset, y: np.ndarray) -> tuple[Tree, Solution]:
    """The tree without a branch node, which is then the best one."""
    weight = rows.weight
    mean = float(np.average(y, weights=weight))
    sums = len(y), weight.sum(), mean * weight.sum(), 0.0, (weight * (y - mean) ** 2).sum()
    leaf = Leaf(0, (float(weight.sum()),), (len(y),), tuple(map(float, sums)))
    tree = Tree(leaf, rows.features, ("mean",), rows.target, rows.missing, "regression")
    cost = float(sums[-1])
    return tree, Solution(None, Termination.OPTIMAL, cost, cost, 0.0, "odtc")
