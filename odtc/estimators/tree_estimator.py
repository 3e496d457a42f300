"""Common base of all estimators of trees: how rows are coded, which leaf they reach, and how a run is made."""

import math
from dataclasses import replace
from numbers import Integral
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from odtc.base.memory import require_memory
from odtc.base.text import WARNING, some
from odtc.data.cost_matrix import expect_addable, lost_weights
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.label_types import in_numpy
from odtc.errors import ChoiceError, DataError, DataWarning, NoSolutionError, SolverError
from odtc.estimators.cost_complexity import penalty_of_branch_node, rounding_of_penalty
from odtc.estimators.inspection import InspectionMixin
from odtc.estimators.least_weight import least_rows
from odtc.estimators.parameters import warn_caller
from odtc.estimators.units import IN_SEARCHES, IN_SOLVERS, ONE, Units, in_unit, unit_of, units_for
from odtc.estimators.wrong_parameters import expect_known
from odtc.model.feasibility import Check
from odtc.model.solution import Solution, Termination, is_proved
from odtc.problem.parameters import able_models, parse_params
from odtc.trees.tree import Leaf, Tree
from odtc.workflow.results.claims import Claim
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec, short_constraint

MOST_ROUNDING = 1e-11  # of costs or of the penalty of a branch node: nothing is proved for a larger relative error
ROUNDED = (
    "the tree is best found, because ccp_alpha times the weight of all rows is so large, and has so many digits, that "
    "the penalty of a leaf is rounded; a lower ccp_alpha, or sample_weight of fewer digits, makes a proof possible"
)
QUOTIENTS = (
    "the tree is best found, because the targets have so many digits that their differences are rounded in the units "
    "of a solver; without the parameters model and solver the compiler searches with all digits"
)


def _dense(X):
    """Return a sparse matrix of scipy, or a data frame with sparse columns, with all its cells, where those that are
    not stored are 0; anything else unchanged."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 2) == 2:
        sparse = {name: kind.subtype for name, kind in X.dtypes.items() if str(kind).startswith("Sparse[")}
        return X.astype(sparse) if sparse else X
    if not issparse(X):
        return X
    require_memory(
        8.0 * float(np.prod(X.shape)), f"the sparse matrix of shape {X.shape} as an array", "take fewer rows or columns"
    )
    return X.toarray()


def _as_table(X):
    """Return rows in lists, of which some cell is text, as an array of objects; a sparse matrix as a dense one;
    anything else unchanged. Raises DataError for lists of different lengths, and for the path of a file."""
    if isinstance(X, str | Path):
        raise DataError(
            f"expected rows, got the path {str(X)!r}; read the file first, for example with polars.read_csv, or call "
            f"odtc.fit({str(X)!r})"
        )
    rows = X if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X) else ()
    lengths = {len(row): at for at, row in reversed(list(enumerate(rows)))}
    if len(lengths) > 1:
        (few, first), (many, other) = sorted(lengths.items(), key=lambda pair: pair[1])[:2]
        raise DataError(f"expected rows of one length, got {few} cells in row {first} and {many} in row {other} of X")
    if any(isinstance(cell, str) for row in rows for cell in row):
        return np.array(X, dtype=object)
    return _dense(X)


def name_of(y, columns) -> str:
    """Return the name of the labels: the one of a series or of the only column of a frame if it is a text that no
    column of X has, otherwise y."""
    names = [getattr(y, "name", None), *getattr(y, "columns", ())]
    return next((name for name in names if isinstance(name, str) and name.strip() and name not in columns), "y")


class TreeEstimator(InspectionMixin, BaseEstimator):
    """An estimator whose `fit` makes `tree_`; it has `categorical_features`, `random_state` and `time_limit`."""

    def __new__(cls, *positional, **named):
        expect_known(cls, positional, named)
        return super().__new__(cls)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def apply(self, X):
        """Return the leaf of each row, by the number that its node has in `decision_path`.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        int64 (rows,)
            Nodes are numbered in the order of `tree_.walk()`, as in scikit-learn: the root is 0, and the left child
            follows its parent. `leaf_nodes_` has the numbers of the leaves, left to right.
        """
        return self.leaf_nodes_[self._leaves(X)]

    def decision_path(self, X):
        """Return the nodes on each row's path from the root to its leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        sparse bool (rows, nodes)
            Nodes are numbered as by `apply`.
        """
        from scipy.sparse import csr_array

        leaves, paths, above = self._leaves(X), [], []
        for number, (node, depth) in enumerate(self.tree_.walk()):
            above = [*above[:depth], number]
            if isinstance(node, Leaf):
                paths.append(above)
        ends = np.concatenate([[0], np.cumsum([len(paths[leaf]) for leaf in leaves])])
        nodes = np.concatenate([paths[leaf] for leaf in leaves])
        return csr_array((np.ones(len(nodes), bool), nodes, ends), shape=(len(leaves), number + 1))

    @property
    def leaf_nodes_(self) -> np.ndarray:
        """int64 (leaves,): the number of the node of each leaf, left to right."""
        check_is_fitted(self)
        return np.array([at for at, (node, _) in enumerate(self.tree_.walk()) if isinstance(node, Leaf)], np.int64)

    def _leaves(self, X) -> np.ndarray:
        """Return int64 (rows,): the leaf of each row, counted from the left from 0, as in arrays by leaf."""
        X = self._coded(X)
        return self.tree_.apply(X)

    def get_depth(self) -> int:
        """Return the depth of the tree; 0 for a single leaf.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    # What `fit` is made of.

    def _weights(self, X, sample_weight) -> np.ndarray:
        if sample_weight is None:
            return np.ones(len(X))
        sample_weight = in_numpy(sample_weight)
        if np.asarray(sample_weight).dtype.kind in "mM":
            raise ValueError("expected numbers as sample_weight, got dates; give a number for each row")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
        expect_addable(weight, "weights", "sample_weight")
        if text := lost_weights(weight):
            warn_caller(text, DataWarning)
        return weight

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def _learnt(self, X):
        """Return (X, features) of the training rows, after scikit-learn's own checks of them."""
        from odtc.data import frames
        from odtc.data.cells import column_types  # they load polars

        self._interrupted = self._certified = False
        self._rounding = 0.0, ""  # the largest relative error of costs, and its reason
        given, X = self.categorical_features, _as_table(X)
        frames.expect_names(X)
        if isinstance(given, str) and given != "from_dtype":
            raise ValueError(
                f'expected categorical_features as "from_dtype" or a list of names or places, got {given!r}; write '
                f"{[name.strip() for name in given.split(',')]}"
            )
        if frames.is_mixed(X) or not isinstance(given, str):
            validate_data(self, X, skip_check_array=True)
            series = frames.series_of(X)
            if not series or not len(series[0]):
                raise ValueError(
                    f"Found array with {len(series[0]) if series else 0} sample(s) and {len(series)} feature(s) "
                    f"while a minimum of 1 is required."
                )
            orders = frames.orders_of(X)
            coded, features = frames.learn_features(series, self._names(), self._categorical(given), orders)
            for feature, cells in zip(features, series):
                if words := column_types.missing_words(cells):
                    warn_caller(
                        f"column {feature.name!r}: {some(words)} are read as missing cells, as in files; write them "
                        f"in other words if they are values",
                        DataWarning,
                    )
            # Whoever declares categories is believed.
            declared = {j for j, cells in enumerate(series) if column_types.is_categories(cells.dtype)}
            guessed = sorted(set(range(len(features))) - declared - self._categorical(given))
            self._remark(coded[:, guessed], tuple(features[j] for j in guessed))
            return coded, features
        frames.expect_apart(X)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        features = tuple(Feature(name, NUMERIC) for name in self._names())
        self._remark(X, features)
        return X, features

    def _remark(self, X: np.ndarray, features: tuple[Feature, ...]) -> None:
        """Store the remarks on columns; a remark on a column of words is a warning, too, because no rule generalises
        from it."""
        from odtc.data.notes import notes_on_columns  # it loads polars

        found = notes_on_columns(X, features)
        self.notes_ = tuple(note.text for note in found)
        numbers = {feature.name for feature in features if feature.kind == NUMERIC}
        for note in found:
            if note.column not in numbers:
                warn_caller(note.text, DataWarning)

    def _coded(self, X) -> np.ndarray:
        from odtc.data import frames

        check_is_fitted(self)
        X = _as_table(X)
        frames.expect_names(X)
        if frames.is_mixed(X) or any(feature.kind != NUMERIC for feature in self.features_):
            validate_data(self, X, reset=False, skip_check_array=True)
            return frames.encode_cells(frames.series_of(X), self.features_)
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def _names(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])]

    def _categorical(self, given) -> set[int]:
        if isinstance(given, str):
            return set()
        names, found = self._names(), set()
        for item in given:
            if isinstance(item, str) and item in names:
                found.add(names.index(item))
            elif isinstance(item, Integral) and not isinstance(item, bool) and 0 <= item < len(names):
                found.add(int(item))
            else:
                raise ValueError(f"expected categorical_features to hold names or places of columns, got {item!r}")
        return found

    def _ended(self, tree, solution, units: Units = ONE) -> None:
        """Store the tree and its proof, in these units."""
        self.tree_ = in_unit(tree, units.number)
        if self._rounding[0] > MOST_ROUNDING and solution.bound:
            solution = self._rounded(solution)
        self.status_, self.gap_ = str(solution.termination), solution.gap
        self.objective_, self.bound_ = (
            cost if cost is None else cost * units.cost for cost in (solution.objective, solution.bound)
        )
        self.is_optimal_ = is_proved(solution.objective, solution.bound)
        self.claim_ = Claim(self.objective_, self.bound_, True, self.is_optimal_, self._certified).word
        self.message_ = solution.message
        if self.model_ is None and self.verbose:  # a single leaf, without a run
            self._shown(units).end(self.claim_, solution.objective, solution.bound, 1)
        if self.message_.startswith(WARNING):
            warn_caller(self.message_.removeprefix(WARNING), UserWarning)

    def _note_quotients(self, rounding: float) -> None:
        """Store the relative error of costs of numbers in another unit, if it is the largest one."""
        self._rounding = max(self._rounding, (rounding, QUOTIENTS))

    def _rounded(self, solution: Solution) -> Solution:
        """Return a solution with only the claims that hold if costs were rounded: a lower bound, not optimality."""
        rounding, words = self._rounding
        bound = max(min(0.0, solution.bound), solution.bound - 4 * rounding * abs(solution.bound))
        if not is_proved(solution.objective, solution.bound):
            return replace(solution, bound=bound)
        self._certified = False
        warn_caller(words, ConvergenceWarning)
        return replace(solution, bound=bound, termination=Termination.UNKNOWN, message=words)

    def _stop_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt, so that a grid or a pipeline stops, if it ended the search for `tree_`."""
        if self._interrupted:
            raise KeyboardInterrupt("interrupted; tree_ is the best tree so far, and bound_ its lower bound")

    @property
    def _given(self) -> tuple[str, ...]:
        """The constraints of the parameters; a single one may be a text."""
        return (self.constraints,) if isinstance(self.constraints, str) else tuple(self.constraints)

    def _unit(self, spread: float, power: int, weight: np.ndarray) -> float:
        """Return the unit of numbers of this spread, whose costs are their `power`, for rows of these weights; 1 if a
        penalty is given in units of cost. Searches get numbers as they were written if they can, because a quotient
        is rounded where numbers are far from 0."""
        if {"lambda", "lambda_"} & set(self.params or {}):
            return 1.0
        within = IN_SEARCHES if self.solver is None and self.model in ("auto", "dpflow") else IN_SOLVERS
        return unit_of(spread, power, float(self.ccp_alpha) * float(weight.sum()), within)

    def _fewest(self, n_rows: int) -> int:
        """Return the fewest rows of a leaf that `min_samples_leaf` allows, for `n_rows` training rows."""
        given = self.min_samples_leaf
        return int(given) if isinstance(given, Integral) else max(1, math.ceil(given * n_rows))

    def _limits(self, least: int) -> tuple[str, ...]:
        """Return the constraints of the parameters, including `max_leaf_nodes` and at least `least` rows in a leaf."""
        given = self._given + ((short_constraint("min_leaf_rows", least),) if least > 1 else ())
        most = self.max_leaf_nodes
        return given if most is None else (*given, short_constraint("max_branch_nodes", most - 1))

    def _is_alone(self, X, same_target: bool) -> bool:
        """Return whether every tree is a leaf, or no better than one: no depth, no column that distinguishes rows, or
        the same target in all of them."""
        same = (X == X[0]) | (np.isnan(X) & np.isnan(X[0]))
        return bool(self.max_depth == 0 or same_target or same.all())

    def _alone(self, dataset: Dataset, weight: float, cost: np.ndarray | None = None) -> tuple[Tree, Solution]:
        """Return the best leaf under the constraints, with its proof: its loss in units of the objective (1-λ) loss + λ
        branch nodes, for rows of this total weight. Raises NoSolutionError if no leaf satisfies the constraints, and
        ChoiceError for a model or parameters that are not known."""
        from odtc.estimators.leaf_alone import best_leaf  # it loads the compiler

        tree, loss = best_leaf(dataset, self.encoding, self._limits(self._fewest(dataset.n_file_rows)), cost)
        given = self._priced(weight) or {}
        model = self.model if self.model != "auto" else able_models("robust")[0] if "robust" in given else "dpflow"
        paid = (1 - getattr(parse_params(model, given), "lambda_", 0.0)) * loss
        return tree, Solution(None, Termination.OPTIMAL, paid, paid, 0.0, "odtc")

    def _units(self, unit: float, weight: float, power: int = 1) -> Units:
        """Return the units of numbers whose costs are their `power`, for rows of this total weight."""
        return units_for(unit, power, float(self.ccp_alpha) * weight)

    def _checks_alone(self, only: bool, again, units: Units = ONE) -> list[Check]:
        """Return the checks of a single leaf; `again()` returns the best one of these rows, and its cost, in these
        units."""
        from odtc.estimators.leaf_alone import checks_alone  # it loads the compiler

        try:
            tree, solution = again()
        except (ChoiceError, NoSolutionError) as problem:
            return [Check("constraints", False, str(problem))]
        return checks_alone(
            only,
            self.tree_,
            in_unit(tree, units.number),
            (self.objective_, self.bound_, solution.objective * units.cost),
        )

    def _priced(self, weight: float):
        """Return `params` with the penalty of a branch node for `ccp_alpha`, for rows of this total weight, in units
        of the cost of a row."""
        if not self.ccp_alpha:
            return self.params
        if {"lambda", "lambda_"} & set(self.params or {}):
            raise ValueError("expected ccp_alpha or the parameter lambda, which both penalise branch nodes, got both")
        from odtc.problem.branch_penalty import exact_share  # it loads the compiler

        price = penalty_of_branch_node(float(self.ccp_alpha), weight)
        if not price < 1:
            raise ValueError(
                f"expected ccp_alpha times the weight of all rows below 1e16, got {self.ccp_alpha:g} times {weight:g}: "
                "with such a penalty no error counts; divide sample_weight, or use max_depth=0 for a single leaf"
            )
        self._rounding = rounding_of_penalty(float(self.ccp_alpha), weight, exact_share(price)), ROUNDED
        return {**(self.params or {}), "lambda_": price}

    def _asked_model(self, weight: np.ndarray, unit: float = 1.0) -> ModelSpec:
        """Return the model of the parameters for rows of these weights, whose costs are in units."""
        share = self.min_weight_fraction_leaf
        if share and (weight != weight[0]).any():
            raise ValueError(
                "expected min_weight_fraction_leaf with rows of one weight, which it counts, got weights from "
                f"{weight.min():g} to {weight.max():g}; use min_samples_leaf"
            )
        least = max(self._fewest(len(weight)), least_rows(weight, share))
        params = self._priced(float(weight.sum()) / unit)
        return ModelSpec(self.model, int(self.max_depth), params, self.encoding, constraints=self._limits(least))

    def _run_spec(self, weight: np.ndarray, unit: float = 1.0) -> RunSpec:
        solving = SolvingSpec(self.time_limit, self.threads, self._seed(), solver=self.solver)
        return RunSpec(model=self._asked_model(weight, unit), solving=solving, simplify=self.simplify)

    def _shown(self, units: Units):
        """Return the reporter that shows the progress of a run whose costs are in these units."""
        from odtc.estimators.progress import ShownProgress  # it loads solvers

        return ShownProgress(type(self).__name__, self.verbose, self.progress, self.time_limit, units.cost)

    def _run(self, spec: RunSpec, dataset: Dataset, units: Units = ONE):
        """Return (problem, tree, its proof, whether it has the fewest leaves and columns) of a run whose costs are in
        these units; warns if the time limit came before the proof."""
        from odtc.workflow.run import run  # it loads polars, the compiler and solvers, which `import` does without

        with self._shown(units).showing() as shown:
            done = run(spec, dataset, reporter=shown)
            if self.verbose:
                shown.end(done.claimed.word, done.proof.objective, done.proof.bound, done.tree.n_leaves)
        self._interrupted, self._certified = done.was_interrupted, done.claimed.certified
        if not done.verified:
            wrong = next(check for check in done.decoded.checks if not check.passed)
            raise SolverError(
                f"the solver {done.solution.solver!r} gave a point that fails the check {wrong.name!r} ({wrong.text}); "
                f"try another solver"
            )
        solution = replace(done.solution, objective=done.proof.objective, bound=done.proof.bound)
        if solution.termination == Termination.TIME_LIMIT:
            limit = (
                "time limit of the model's own search"
                if self.time_limit is None
                else f"time limit of {self.time_limit:g} s"
            )
            warn_caller(
                f"the {limit} came before the proof: the tree costs "
                f"{solution.objective:g}, "
                f"the best bound is {solution.bound}; raise time_limit, or lower max_depth",
                ConvergenceWarning,
            )
        return done.problem, done.tree, solution, (bool(done.fewest_leaves), bool(done.fewest_columns))
