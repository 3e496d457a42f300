"""A finished run: the decoded tree with its checks, and its figures, under the keys of `--json`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from odtc.base.text import count_of, in_notebook
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.data.label_types import TEXT
from odtc.data.reading_spec import ON_MISSING
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, TreeError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.model.feasibility import OFF, Check, is_close
from odtc.model.solution import Solution, Termination, is_proved
from odtc.problem.constraints import constraint
from odtc.problem.constraints.kind import Constraint
from odtc.problem.exact_objective import TOO_FINE, exact_objective, settled_solver_bound
from odtc.problem.formulation import Certifies
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions
from odtc.workflow.results.claims import CLOSEST, Claim, reason_of
from odtc.workflow.results.facts import (
    AllRowsFacts,
    CartFacts,
    ModelFacts,
    RoundFacts,
    SolveFacts,
    TestFacts,
    TreeFacts,
    kept_facts,
)
from odtc.workflow.results.lines import claim_line, text_of
from odtc.workflow.specification import specified

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.workflow.constrained.assurance import Assured


NOISE = 1e-12  # relative to the cost of a tree: a smaller positive bound is the rounding of a linear program
OF_CLASSES = frozenset(  # figures that count correct rows
    f"{tree}train_{figure}"
    for tree in ("", "cart_")
    for figure in ("correct", "accuracy", "balanced_accuracy", "weighted_accuracy")
)


@dataclass(frozen=True, repr=False)
class Decoded:
    """The tree of a solution, over the splits of the model and as a Tree, with all its checks."""

    heap: HeapTree
    # if it was trained on selected rows, with all rows in its leaves (row_selection.selection.fill_leaves)
    tree: Tree
    checks: list[Check]
    solution: Solution
    # The tree before its needless branch nodes were removed (odtc.workflow.decoding); None if it was not simplified.
    point_heap: HeapTree | None = None

    @property
    def verified(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def passed(self) -> str:
        """The number of checks that passed, in words."""
        passed = sum(check.passed for check in self.checks)
        return f"{passed} of {count_of(len(self.checks), 'check', '')} passed"

    def __str__(self) -> str:
        return f"{self.tree}\n\n{self._told}"

    def __repr__(self) -> str:
        return f"<Decoded {self.tree.size}; {self._told}>"

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    @property
    def _told(self) -> str:
        ended = self.solution.termination.value.replace("_", " ")
        of = f" for {self.solution.scope}" if self.solution.scope else ""
        return f"{ended}{of}, by {self.solution.solver}; {self.passed}"


@dataclass(frozen=True, repr=False)
class Fit:
    """A finished run: the checked tree, its proof, and its figures. `print` shows the tree and the lines of `odtc fit`.

    Attributes
    ----------
    problem : Problem
    model : Model or None
        None if there is none: the formulation learns its tree, or the time limit came first.
    decoded : Decoded
    proof : SolveFacts
        How the run ended; objective and bound are the exact cost of the tree if that is within rounding.
    dataset : Dataset or None
        The training rows; they remember all rows if they were selected.
    labelled : Dataset or None
        Rows to test on.
    fewest_leaves : bool or None
        Whether it is proved that no other tree of this objective has fewer leaves; None if this was not searched.
    fewest_columns : bool or None
        Whether it is proved that no other such tree with as few leaves uses fewer distinct columns; None likewise.
    fewest_stopped : bool
        Whether the search for fewer leaves was ended because it took its part of the work.
    certified : bool or None
        Whether the certificate of the search was checked and accepted; None if there is none.
    certificate : dict or None
        The certificate that was accepted (`odtc fit --certificate` writes it, `odtc verify --certificate` checks it).
    unproved : callable or None
        Makes the certificate of the bound of a search that was ended before its proof; None if it can make none.
    requested : tuple of Constraint or None
        The constraints that new rows must satisfy, if the search satisfied stricter ones; None if they are the
        constraints of the problem.
    bound_of_all : float or None
        If its rows were selected in rounds, the greatest bound on the loss of all rows that some round proved.
    rounds : tuple of RoundFacts
        If its rows were selected in rounds, those: accuracy per share of rows.
    interrupted : bool
        Whether Ctrl-C or SIGTERM came, also if the tree was proved by then: later steps have a moment.
    closest : bool
        Whether it was chosen as the closest to an old tree, although another one costs less.
    confidence : float or None
        The confidence with which new rows must satisfy the constraints; None if there is none.
    notes : tuple of str
        Of `odtc.fit`: further remarks on the run, which the command line prints on stderr: rows that were left out,
        oddities of the data, why this formulation.

    The figures are computed when they are first read.
    """

    problem: Problem
    model: "Model | None"
    decoded: Decoded
    proof: SolveFacts
    dataset: Dataset | None = None
    labelled: Dataset | None = None
    fewest_leaves: bool | None = None
    fewest_columns: bool | None = None
    fewest_stopped: bool = False
    certified: bool | None = None
    certificate: dict | None = field(default=None, compare=False)
    unproved: Callable[[], dict] | None = field(default=None, compare=False, repr=False)
    requested: tuple[Constraint, ...] | None = None
    bound_of_all: float | None = None
    rounds: tuple[RoundFacts, ...] = ()
    interrupted: bool = False
    closest: bool = False
    confidence: float | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def __repr__(self) -> str:
        many = f"; {len(self.notes)} note{'s' * (len(self.notes) > 1)}" if self.notes else ""
        told = f"{self.tree.size}; {self.claim}{many}"
        return f"<Fit of {self.problem.encoded.name} by {self.problem.formulation}: {told}>"

    @property
    def tree(self) -> Tree:
        return self.decoded.tree

    def predict(self, data, on_missing: str = "refuse") -> np.ndarray:
        """Return the predictions of the tree for other rows, as `odtc predict` does.

        Parameters
        ----------
        data : path, data frame of pandas or polars, or array (rows, columns)
            Columns are found by name; an array must have the columns of the training rows. Columns that the tree does
            not use may be absent.
        on_missing : str
            How to handle a missing number that the tree compares: "refuse" raises, "blank" predicts None (NaN among
            numbers), "majority" follows the side that more training rows took.

        Returns
        -------
        array (rows,)
            Labels of the type that they have in the data (`Tree.label_type`), actions by their names, or numbers.

        Raises
        ------
        ChoiceError
            For another `on_missing`.
        DataError
            For an absent column, a cell that is not a number, and a missing number that the tree cannot compare.
        """
        from odtc.data.reading_rows import rows_of  # most runs predict nothing

        if on_missing not in ON_MISSING:
            raise ChoiceError(f"on_missing: expected one of {', '.join(ON_MISSING)}, got {on_missing!r}")
        X = rows_of(data, self.tree.features, sorted(self.tree.used))
        reached = self.tree.apply(X, on_missing=on_missing)
        if TASKS.get(self.tree.task).NUMBERS:
            return self.tree.numbers_at(X, reached)
        kept = object if self.tree.label_type == TEXT or (reached < 0).any() else None
        names = [self.tree.labels[leaf.label] for leaf in self.tree.leaves()]
        return np.array([*names, None] if kept else names, dtype=kept)[reached]

    @property
    def was_interrupted(self) -> bool:
        """Return whether Ctrl-C or SIGTERM ended the search, the solver or a later step."""
        return self.interrupted or Termination.INTERRUPTED in (self.solution.termination, self.proof.termination)

    @property
    def claim(self) -> str:
        """The claim in one line: the proof of the tree, of which trees it is the best, by whom and how long that
        took."""
        return claim_line(self)

    @property
    def uncertified(self) -> str:
        """Why a tree that the compiler's own search has proved has no checked certificate; "" if it has one."""
        alone = self.model is None and self.certified is None and self.proof.termination == "optimal"
        return self.solution.message if alone else ""

    @property
    def solution(self) -> Solution:
        """The solution of the solver; its bound is raised to the bound that is known without the solver."""
        return self.decoded.solution

    @property
    def verified(self) -> bool:
        """Return whether every check of the solution and of the tree passed."""
        return self.decoded.verified

    @property
    def proved(self) -> bool:
        """Return whether the bound proves that no tree costs less, and no check contradicts a claim."""
        return self.verified and is_proved(self.proof.objective, self.proof.bound)

    @cached_property
    def claimed(self) -> Claim:
        """The claim of the run: the proof of the tree, of which trees it is the best, and by whom."""
        proof, problem, scope, over = self.proof, self.problem, "", None
        termination, objective, bound = proof.termination, proof.objective, proof.bound
        if proof.edited is not None:
            scope, over = "the edited model, not for the data", proof.edited
        elif (proof.restricted or {}).get("termination") == "optimal" and not self.proved:
            scope, over = proof.restricted["scope"], proof.restricted
        if over is not None:
            termination, bound = over["termination"], over["bound"]
            objective = over.get("objective", objective)
        proved = self.verified and is_proved(objective, bound)
        certified = proved and self.certified is True
        reason = "" if certified else self._uncertified if proved else reason_of(termination, bound, proof.solver)
        exact = exact_objective(problem)
        if not proved and termination == "unknown" and exact is not None and not exact.costs.exact:
            reason = TOO_FINE
        elif not proved and self.closest:
            reason = CLOSEST
        found_by, by = self.solution.found_by or proof.solver, self.solution.proved_by
        return Claim(objective, bound, self.verified, proved, certified, reason, found_by, by, scope)

    @property
    def _uncertified(self) -> str:
        """Why a tree that is proved has no checked certificate."""
        if self.uncertified:
            return self.uncertified
        if self.model is None:
            return "this kind of proof has no certificate"
        by_solver = self.solution.proved_by in ("", self.solution.found_by or self.proof.solver)
        later = by_solver and self._selected is None and self.problem.module.can(Certifies)
        return "a solver writes no certificate" + "; `odtc certify STEM` makes one by a search" * later

    @cached_property
    def size(self) -> ModelFacts:
        """The problem and the size of its model."""
        return ModelFacts.of_model(self.problem, self.model)

    @cached_property
    def _trained(self) -> Tree:
        """The tree with the rows that it was trained on."""
        return self.tree if self._selected is None else self.decoded.heap.to_tree(self.problem.encoded)

    @property
    def _selected(self):
        return self.dataset.selected if self.dataset is not None else None

    @property
    def selection(self) -> dict | None:
        """The facts of the selection of rows; None if the tree was trained on all rows."""
        return self._selected.facts if self._selected is not None else None

    @cached_property
    def training(self) -> TreeFacts:
        """The tree on the rows that it was trained on."""
        return TreeFacts.of(self._trained, self.problem.encoded.cost)

    @cached_property
    def simplified(self) -> dict | None:
        """The `n_branch_nodes` and `objective` of the tree before needless branch nodes were removed; None if no node
        was removed."""
        before = self.decoded.point_heap
        nodes = self.decoded.heap.n_branch_nodes if before is None else before.n_branch_nodes
        if nodes == self.tree.n_branch_nodes:
            return None
        paid = tree_cost(self.problem, self.decoded.heap if before is None else before)
        return {"n_branch_nodes": nodes, "objective": paid}

    @cached_property
    def greedy(self) -> HeapTree:
        """CART's tree over the splits of the problem; a leaf of all rows if the depth is 0."""
        least = {"least_rows": int(self.problem.encoded.copies.sum())} if specified(self.problem)[0] == 0 else {}
        return HEURISTICS.get("cart").tree(self.problem.encoded, self.problem.topology, **least)

    @cached_property
    def cart(self) -> Tree:
        """CART's tree over the same splits at the same depth, with all rows in its leaves."""
        tree = self.greedy.to_tree(self.problem.encoded)
        if self._selected is None:
            return tree
        from odtc.workflow.row_selection.selection import fill_leaves

        return fill_leaves(tree, self.problem, self._selected.whole)

    @cached_property
    def cart_training(self) -> CartFacts:
        """CART on the rows that the tree was trained on."""
        return CartFacts.of(self.problem, self.greedy)

    @cached_property
    def all_rows(self) -> AllRowsFacts | None:
        """The tree on all rows of the data, if it was trained on selected rows; otherwise None."""
        if self._selected is None:
            return None
        from odtc.workflow.row_selection.rest_bound import rest_bound

        whole = self._selected.whole
        rows = RowPredictions(self.problem.encoded, whole, self.tree.predict(whole.X))
        constraints = constraint.on_answers(self.problem)
        breaks = [f"{given}: {rows.told(given)}" for given in constraints if not given.holds(rows.value(given))]
        at, predicted = self._trained.apply(whole.X), self.tree.predict(whole.X)
        now = np.array([leaf.label for leaf in self._trained.leaves()])
        now[at] = predicted  # all rows of a leaf have the same prediction
        relabelled = sum(int(now[place] != leaf.label) for place, leaf in enumerate(self._trained.leaves()))
        bound = rest_bound(self.problem, self.dataset, self.proof.bound) if self.verified else None
        bounds = [one for one in (bound, self.bound_of_all) if one is not None]
        return AllRowsFacts.of(
            self.tree,
            self.problem.encoded.cost,
            breaks=breaks,
            relabelled=relabelled,
            bound=max(bounds, default=None),
        )

    @cached_property
    def cart_all_rows(self) -> AllRowsFacts | None:
        """CART, trained on the selected rows, on all rows of the data; None if the tree was trained on all rows."""
        return AllRowsFacts.of(self.cart, self.problem.encoded.cost) if self._selected is not None else None

    @cached_property
    def test(self) -> TestFacts | None:
        """The tree on the rows to test on; None if there are none."""
        if self.labelled is None:
            return None
        cost = self.problem.encoded.cost if self.size.cost is not None else None
        return TestFacts.of(self.tree, self.cart, self.labelled, cost)

    @cached_property
    def metrics(self) -> dict | None:
        """The figures of its task (odtc.data.task) for the tree and for CART's tree, on training and on test rows; None
        for classification, which has other figures."""
        encoded, labelled = self.problem.encoded, self.labelled
        task = TASKS.get(encoded.task)
        if task.CLASSES:
            return None

        def of_rows(heap: HeapTree, tree: Tree) -> dict:
            if encoded.dataset is not None:
                return task.figures(encoded.dataset.sums, heap.row_answers(encoded), encoded.classes)
            if self.dataset is not None:  # the file read again, because a recorded model has equal rows merged
                return task.figures(self.dataset.sums, tree.answers(self.dataset.X), encoded.classes)
            return task.figures(encoded.sums, heap.answers(encoded), encoded.classes)

        read = encoded.dataset or self.dataset
        terms = {} if read is None else task.terms(read.source)
        found = {"training": of_rows(self.decoded.heap, self.tree), "cart": of_rows(self.greedy, self.cart)}
        if labelled is not None:
            found["test"] = task.figures(labelled.sums, self.tree.answers(labelled.X), encoded.classes)
            if encoded.dataset is not None and found["test"]:
                found["test"] |= task.baseline_figures(labelled.sums, encoded.dataset.sums, encoded.classes)
                cart = task.figures(labelled.sums, self.cart.answers(labelled.X), encoded.classes)
                found["cart_test"] = cart | task.baseline_figures(labelled.sums, encoded.dataset.sums, encoded.classes)
        return {name: facts | terms for name, facts in found.items()}

    @cached_property
    def robust(self) -> dict | None:
        """The accuracy under an adversary (odtc.trees.attack) of the tree and of CART's tree, on training and on test
        rows, with the `boxes` in words; None if rows may not be moved."""
        boxes, rows = self.problem.module.boxes(self.problem), self.problem.encoded.dataset
        if boxes is None or rows is None:
            return None
        from odtc.trees import attack

        def attacked(tree: Tree, rows: Dataset) -> dict:
            return attack.figures(tree, rows.X, rows.y, rows.weight, boxes)

        found = {
            "boxes": boxes.words(),
            "training": attacked(self.tree, rows),
            "cart": attacked(self.cart, rows),
        }
        if self.labelled is not None:
            found |= {"test": attacked(self.tree, self.labelled), "cart_test": attacked(self.cart, self.labelled)}
        return found

    @cached_property
    def kept(self) -> list[dict]:
        """The requirement of each constraint, and the figures of the tree on training and on test rows."""
        cart = self.greedy if self._selected is None else None
        asked = specified(self.problem)[1] if self.requested is None else self.requested
        return kept_facts(self.problem, self.decoded.heap, self.tree, self.labelled, asked, cart)

    def assured(self, confidence: float | None = None) -> "list[Assured]":
        """Return which constraints on predictions new rows satisfy with this confidence, or with the confidence of the
        fit, by the rows to test on (odtc.workflow.constrained.assurance)."""
        from odtc.workflow.constrained.assurance import assurances

        confidence = self.confidence if confidence is None else confidence
        if confidence is None:
            raise ChoiceError("expected a confidence such as 0.95, because the fit has no confidence")
        return assurances(self.problem, self.tree, self.labelled, confidence, self.requested)

    def to_json(self) -> dict:
        """Return all figures, under the keys of `odtc fit --json`."""
        facts = self.size.to_json() | self.proof.to_json() | self.training.to_json() | self.cart_training.to_json()
        if self.all_rows is not None:
            facts |= {
                "selection": self.selection,
                "all_rows": self.all_rows.to_json(),
                "cart_all_rows": self.cart_all_rows.to_json(),
            }
        if self.rounds:
            facts["selection_rounds"] = [one.to_json() for one in self.rounds]
        if self.problem.constraints:
            facts["constraint_values"] = self.kept
        if self.simplified is not None:
            facts["simplified"] = self.simplified
        if self.robust is not None:
            facts["robust"] = self.robust
        if self.metrics is not None:  # a task whose rows are neither correct nor misclassified
            facts = {key: value for key, value in facts.items() if key not in OF_CLASSES}
            facts["loss"] = self.decoded.heap.loss(self.problem.encoded)
            facts |= {"task": self.problem.encoded.task, "metrics": self.metrics}
        told = {
            "fewest_leaves": self.fewest_leaves,
            "fewest_columns": self.fewest_columns,
            "certified": self.certified,
            "uncertified": self.uncertified or None,
        }
        facts |= {key: value for key, value in told.items() if value is not None}
        tested = self.test is not None and self.metrics is None
        facts |= self.claimed.to_json()
        return facts | (self.test.to_json() if tested else {}) | {"verified": self.verified}

    @cached_property
    def facts(self) -> dict:
        """The result of `to_json()`, computed once."""
        return self.to_json()


@value_class
class Unsolved:
    """A run that ended without a tree: its problem, its model if it was built, the result of the solver, whether the
    certificate of infeasibility was checked and accepted (None without a certificate), and why it has none."""

    problem: Problem
    model: "Model | None"
    solution: Solution
    certified: bool | None = None
    uncertified: str = ""

    def to_json(self) -> dict:
        """Return the facts under the keys of `odtc fit --json`."""
        told: dict = {} if self.certified is None else {"certified": self.certified}
        told |= {"uncertified": self.uncertified} if self.uncertified else {}
        return ModelFacts.of_model(self.problem, self.model).to_json() | SolveFacts.of(self.solution).to_json() | told


def tree_cost(problem: Problem, heap: HeapTree) -> float | None:
    """Return the cost of a tree, the nearest float if it is known exactly; None for a tree that the problem does not
    allow, which a check reports."""
    try:
        paid = problem.module.objective(problem, heap)
    except TreeError:
        return None
    exact = exact_objective(problem)
    return paid if exact is None else float(exact.cost(heap))


def settled(model: "Model", decoded: Decoded) -> Solution:
    """Return the solution without the solver's rounding: the objective is the exact cost of the tree if the point has
    this cost, and the bound is settled by it (odtc.problem.exact_objective). If the tree costs less without its
    needless branch nodes, the objective is this lower cost, for which the bound is valid, too."""
    paid, solution = tree_cost(model.problem, decoded.heap), decoded.solution
    if paid is None:
        return solution
    if solution.bound is not None and 0 < solution.bound < NOISE * abs(paid):
        solution = replace(solution, bound=0.0)
    near = solution.objective is not None and is_close(solution.objective, paid, OFF)
    before = decoded.point_heap
    smaller = before is not None and before is not decoded.heap and paid < tree_cost(model.problem, before)
    if not near and not (smaller and paid < solution.objective):
        return solution
    bound = solution.bound
    if bound is not None and not solution.scope and (bound <= paid or is_close(bound, paid)):
        # The bound of an edited model is not a bound for this problem; a bound of the compiler's search is settled.
        if solution.proved_by and bound >= paid:
            bound = paid
        elif solution.is_unsupported:
            bound = min(bound, float(np.nextafter(paid, -np.inf)))
        else:
            bound = settled_solver_bound(model.problem, bound, paid)
    return replace(solution, objective=paid, bound=bound)
