"""Inspection of the tree of a fitted estimator: a page, the path of a row, checks computed again, other estimators for
comparison."""

from html import escape
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from odtc.base.atomic_write import write_text
from odtc.base.text import in_notebook, percent_text, show_figure, table_text
from odtc.data.dataset import Dataset
from odtc.estimators.one_column import one_column
from odtc.estimators.units import ONE, Units, in_unit
from odtc.model.feasibility import Check, is_close
from odtc.trees.explanation import Explanations, explain_rows
from odtc.trees.heap_tree import HeapTree
from odtc.workflow.specification import RunSpec


class Comparison(Bunch):
    """Figures of several estimators on the same rows, which `print` and a notebook show as a table."""

    def __str__(self) -> str:
        figures = {name: values for name, values in self.items() if name not in ("names", "agreement", "leaves")}
        kept = {name.replace("_", " "): values for name, values in figures.items() if values is not None}
        head = ["", *kept, "leaves", "agrees with this"]
        rows = [
            [
                name,
                *((percent_text if what == "accuracy" else show_figure)(one[at]) for what, one in kept.items()),
                "" if self.leaves[at] is None else str(self.leaves[at]),
                percent_text(self.agreement[0, at]),
            ]
            for at, name in enumerate(self.names)
        ]
        return table_text((head, *rows), "l" + "r" * len(head))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_notebook(str(self))


class InspectionMixin:
    """Methods of an estimator with `tree_` that explain it, check it and compare it; a notebook shows its tree and its
    proof after scikit-learn's own picture."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._page_of_tree()

    def _repr_mimebundle_(self, **kwargs) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**kwargs)
        return shown | {name: page + self._page_of_tree() for name, page in shown.items() if name == "text/html"}

    def _page_of_tree(self) -> str:
        """Claim, figures and tree of a fitted estimator as HTML."""
        if not hasattr(self, "tree_"):
            return ""
        costs = (("objective", self.objective_), ("bound", self.bound_))
        figures = [f"{name} {show_figure(cost)}" for name, cost in costs if cost is not None]
        figures += [f"model {self.model_}"] if self.model_ is not None else []
        return f"<p><b>{escape(self.claim_)}</b>: {escape(', '.join(figures))}</p>{self.tree_._repr_html_()}"

    def explain(self, X) -> Explanations:
        """Explain the prediction of each row, and the fewest changes to the row that change it.

        Parameters
        ----------
        X : array, sparse matrix or data frame (rows, columns)

        Returns
        -------
        Explanations
            A list of odtc.trees.explanation.Path, which `print` and a notebook show as text: `prediction`, `steps` with
            the answer of the row to each split on its way, and `counterfactual` with its `prediction` and `changes`.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`.
        """
        X = self._coded(X)
        return explain_rows(self.tree_, X, range(1, len(X) + 1))

    def report(self, path=None, name: str = "tree") -> str | None:
        """Return the tree as one page of HTML that needs no network, or write this page to a file.

        Parameters
        ----------
        path : path or None
            The file.
        name : str
            The title.

        Returns
        -------
        str or None
            The page; None if it was written to a file.

        Raises
        ------
        NotFittedError, OutputError
        """
        from odtc import render_report

        check_is_fitted(self)
        page = render_report(self, name)
        if path is None:
            return page
        write_text(Path(path), page)
        return None

    def verify(self, X, y, sample_weight=None, auxiliary=None) -> list[Check]:
        """Check the results of `fit` by computing them again from the training rows.

        Parameters
        ----------
        X, y, sample_weight, auxiliary
            The training rows of `fit`.

        Returns
        -------
        list of odtc.model.feasibility.Check
            `name`, `passed` and `text`: the counts in the leaves, each row by itself, the constraints, the objective,
            and that the bound is not above it.

        Raises
        ------
        NotFittedError, ValueError
            If the rows do not fit the tree.
        """
        dataset = self._training_rows(self._coded(X), y, sample_weight, auxiliary)
        dataset, units = self._in_units(dataset)
        cost = self._cost(dataset)
        if self.model_ is None:  # a single leaf
            only = self._is_alone(dataset.X, len(np.unique(dataset.y)) < 2)
            return self._checks_alone(only, lambda: self._alone(dataset, self._weight_of_all(dataset), cost), units)
        spec = self._model_spec(cost, dataset)
        return self._checks(RunSpec(model=spec), dataset, units)

    def _checks(self, spec: RunSpec, dataset: Dataset, units: Units = ONE) -> list[Check]:
        """Return the checks of the tree on these rows, with its objective and its bound; of a data set in these
        units."""
        # With the compiler, which an import of an estimator does without.
        from odtc.verification.verify import verify_tree
        from odtc.workflow.posing import pose_run

        problem = pose_run(spec.with_model(model=self.model_), dataset)
        tree = in_unit(self.tree_, 1 / units.number)
        claimed, bound = (cost if cost is None else cost / units.cost for cost in (self.objective_, self.bound_))
        heap = HeapTree.from_tree(tree, problem.encoded, problem.topology, True)
        paid = problem.module.objective(problem, heap)
        checks = verify_tree(problem, heap, tree, dataset)
        checks.append(
            Check("objective", is_close(paid, claimed), f"the tree costs {paid:.10g}, claimed {claimed:.10g}")
        )
        if bound is not None:
            fits = bound <= paid or is_close(bound, paid)
            checks.append(Check("bound", bool(fits), f"the claimed bound is {bound:.10g}, the tree costs {paid:.10g}"))
        return checks

    def _figures(self, every: dict, said: np.ndarray, X, y) -> dict:
        """Return figures of estimators by name, each float64 (estimators,) or None; `said` (rows, estimators) has
        their predictions."""
        return {"accuracy": None if y is None else (said == one_column(y)[:, None]).mean(axis=0)}

    def compare(self, others, X, y=None) -> Comparison:
        """Compare this tree with other estimators on the same rows.

        Parameters
        ----------
        others : mapping {name: fitted estimator} or sequence of fitted estimators
            Any objects with `predict`.
        X : array, sparse matrix or data frame (rows, columns)
        y : array (rows,) or None
            Labels, for accuracies; numbers, for errors; costs float (rows, actions) of a policy, for its mean cost.

        Returns
        -------
        Comparison
            A Bunch that `print` and a notebook show as a table: `names`; `accuracy`, float64 (estimators,), of
            regression trees `mean_squared_error` and `mean_absolute_error`, of policies `mean_cost` and
            `standard_error`, of survival trees `score`, each None without `y`; `leaves`, None for one without
            `get_n_leaves`; `agreement`, float64 (estimators, estimators), the share of rows that two predict alike.
            The first one is this tree.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`.
        """
        named = dict(others) if hasattr(others, "items") else {type(one).__name__: one for one in others}
        if len(named) < len(list(others)):
            named = {f"{type(one).__name__} {number}": one for number, one in enumerate(others, 1)}
        every = {"this": self} | named
        said = np.stack([np.asarray(one.predict(X)) for one in every.values()], axis=1)
        return Comparison(
            names=list(every),
            **self._figures(every, said, X, y),
            leaves=[one.get_n_leaves() if hasattr(one, "get_n_leaves") else None for one in every.values()],
            agreement=(said[:, :, None] == said[:, None, :]).mean(axis=0),
        )
