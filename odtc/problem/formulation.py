"""Protocols of formulations: functions with tested properties, in one module or package of odtc.formulations.

The protocols below define required and optional parts, one protocol for each ability; names without a value or marked
abstract are required of a module that has the ability. A module is checked completely when it is loaded
(odtc.base.registry), and `problem.module` has every declared name, by default if the module leaves it out.

A tree consists of numbers on a heap, whatever its splits are: the numbers from `n_candidate_splits` on are splits that
the formulation found itself (a set of levels, a hyperplane), and `HeapTree.beyond` has them as a `Split` in the units
of the data and as the side that each encoded row takes. `decode` computes those sides from `problem.encoded` only,
`start` uses them like the columns of other splits, and routing, errors, words, verification and property tests are the
same for all. So oblique formulations need one class in odtc/data/splits.py and no other tree.

Parameters that name something that a manifest cannot contain (a file, the result of a search) are resolved by
`prepared(problem) -> Problem`, called once the problem is built. `pricing(problem, leaf) -> Model` is a pricing
problem, for `odtc build --pricing`. `beside(problem) -> {suffix: text}` are files that `odtc fit` writes next to the
tree. `advice(problem)` are sentences about parameters that are unsuitable for this data; `misrouted(problem, point)`
is the weight of the rows that a point sends elsewhere than its own splits do.

A formulation that does not represent every tree also has `trimmed(problem, heap) -> HeapTree`: a tree that it
represents, made from a heuristic's.

A formulation whose variables satisfy some side constraints by construction names the kinds in `keeps(problem)`; no
model constraints are written for them (odtc.problem.constraints.constraint), and all its functions respect them.

A formulation whose compiler proves some trees itself defines `searches(problem) -> bool`, and then `search(problem,
start, progress, floor)` is the tree, its bound and whether there is none at all; `fit` uses it unless a solver or a
model file is requested.

`notes(problem) -> {name: value}`, optional, are further facts of the model for the manifest, as JSON.

A loop also has `fit(model, solve, start, tell) -> (Model, Solution)`: `odtc fit` calls it with the result of `build`
(and the inequalities of cut families) instead of solving that once. `solve(model, start=None)` is any solver, with the
remaining time, and `tell` gets a Round when one has ended (odtc.workflow.rounds). With TIMED = True it also gets
`left`, a function that returns the remaining seconds (None: no limit); with LAZY = True also `in_tree`, a solver that
adds constraints inside its tree (odtc.solvers.solve.solve_with_cuts), or None if the solver does not; with GROWS = True
its last model has other variables than the first, and parameters that say so. `loops(problem)` is whether these
parameters leave anything to add; FIT_DEFAULTS are parameters that differ under `fit`. A learner (CART) has
`tree(problem) -> HeapTree` and no model at all; CONSTRAINTS names the kinds that it satisfies
(odtc.problem.constraints.constraint).

Properties (tests/laws): a start is feasible, has the cost of the tree and decodes to the tree; the optimum equals the
optimum of an exhaustive search; decoding from the manifest equals decoding in memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Registry
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.task import TASKS
from odtc.errors import ChoiceError

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.model.solution import Solution
    from odtc.problem.constraints.kind import Constraint
    from odtc.problem.estimates import Counts, Estimate, Sizes
    from odtc.problem.problem import Problem
    from odtc.trees.heap_tree import HeapTree


SAME, TIGHTER, WEAKER, OTHER = "same", "tighter", "weaker", "not the same"


@value_class
class ModelChange:
    """A difference between the default model of a formulation and the printed one.

    Attributes
    ----------
    what : str
        The difference, and the parameter that undoes it.
    optimum, relaxation : str
        SAME, TIGHTER, WEAKER or OTHER: how the optimum, and the bound of the linear relaxation, compare with the
        printed model.
    """

    what: str
    optimum: str
    relaxation: str


MERGED = ModelChange("merge=true: identical rows of one class are one row with their weight", SAME, SAME)


@value_class
class Charge:
    """Exact cost of trees in addition to their loss: a whole number of units.

    Attributes
    ----------
    unit : Fraction
    count : Callable[[HeapTree], int]
        The number of units that a tree costs.
    most : int or None
        The largest number of units of a tree with branch nodes; None if there are too many to try each, or no cost.
    """

    unit: Fraction
    count: Callable[[HeapTree], int]
    most: int | None = None


class Formulation(Protocol):
    """Parts that every formulation defines."""

    NAME: str
    TITLE: str  # for `odtc list models`
    PAPER: str
    Params: type  # a frozen dataclass; its fields are the keys of `-p key=value` (odtc.problem.parameters)

    VERSION: str = ""  # its own, which then counts instead of odtc's in the identity of its models
    # Whether the cost of an error may depend on the class predicted (Encoded.cost); others take `error_cost`.
    ANY_COST: bool = False
    # Whether it takes a task whose leaves cost a function of sums over their rows (odtc.data.task).
    MOMENTS: bool = False
    # Whether its trees may have splits that are not in the encoding.
    BEYOND: bool = False
    START: str = "cart"  # the heuristic of `odtc list starts` that suits it
    CHANGES: tuple[ModelChange, ...] = ()  # by which its default differs from the printed model
    # Whether it needs the numbers of the rows (Encoded.values), not only their splits; the manifest then has them.
    WEIGHS: bool = False

    @abstractmethod
    def objective(self, problem: Problem, heap: HeapTree) -> float:
        """Return the minimised value of this tree, in exact terms."""
        ...

    def prepared(self, problem: Problem) -> Problem:
        """Return the Problem with everything that its parameters name and a manifest cannot contain (a file, the end
        of a search); called once, when the problem is built."""
        return problem

    def limited(self, problem: Problem, start: HeapTree | None = None) -> tuple[Problem, Any]:
        """Return (the Problem that is compiled, the result of a search before it or None), with parameters that leave
        out variables that no better tree has. Called before `build`, within the deadline."""
        return problem, None

    def so_far(self, problem: Problem) -> Any:
        """Return the result of a search before `build` if the deadline came before there was a model; None without
        one. It takes no time."""
        return None

    def advice(self, problem: Problem) -> list[str]:
        """Return sentences on parameters that are unsuitable for this data."""
        return []

    def notes(self, problem: Problem) -> dict[str, Any]:
        """Return further facts of the model for the manifest, as JSON."""
        return {}

    def beside(self, problem: Problem) -> dict[str, str]:
        """Return texts of files that `odtc fit` writes next to the tree, by their suffix."""
        return {}

    def holds_cells(self, problem: Problem) -> bool:
        """Return whether these parameters need the numbers of the rows, as WEIGHS states for all of them."""
        return False

    def boxes(self, problem: Problem) -> Any:
        """Return how far the rows may be moved (odtc.trees.boxes.Boxes) before a tree has to predict them correctly;
        None if they are not moved."""
        return None

    def prices_answers(self, problem: Problem) -> bool:
        """Return whether predictions of leaves have costs in addition to the loss of each row."""
        return False

    def charge(self, problem: Problem) -> Charge | None:
        """Return the exact cost of trees in addition to their loss, if it is not a penalty for each branch node; None
        if it is one, or if it has no unit, as norms of hyperplanes."""
        return None

    def least_rows(self, problem: Problem) -> int:
        """Return the least number of data rows in a leaf that its parameters require; 0 for none."""
        return 0


class Compiled(Protocol):
    """A formulation with a model, which any solver reads."""

    DEFAULT_CUTS: tuple[Any, ...] = ()  # cut families that it takes if none is named
    VARIANTS: tuple[Any, ...] = ({},)  # parameter sets under which the laws try it

    @abstractmethod
    def build(self, problem: Problem) -> Model:
        """Return the Model."""
        ...

    @abstractmethod
    def start(self, problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
        """Return {column block: values}: a complete feasible point for this tree. Raises TreeError if the model has
        none."""
        ...

    @abstractmethod
    def decode(self, problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
        """Return the HeapTree of a point {block: values}, from the variables of the tree only."""
        ...

    @abstractmethod
    def branch_penalty(self, problem: Problem) -> float:
        """Return the loss that a branch node must save to be worth it."""
        ...

    def subjects(self, params: Any) -> tuple[Any, ...] | None:
        """Return the subjects of constraints that these parameters support (odtc.problem.constraints.kind.Subject), so
        that property tests find a model that expresses less or more than intended; None: everything that its model
        expresses."""
        return None

    def says(self, problem: Problem, model: Model) -> dict[Any, Any]:
        """Return {odtc.problem.expressions.Statement: Expression}: the meaning of its columns for the tree, where no
        block with a role states it."""
        return {}

    def unit_costs(self, problem: Problem) -> tuple[float, float]:
        """Return (cost of a unit of loss, penalty of a branch node): the terms of the objective of a tree, for
        property tests."""
        return 1.0, 0.0

    def exact_prices(self, problem: Problem) -> Any:
        """Return the same as two Fractions if doubles do not hold them; None if `unit_costs` are exact as written."""
        return None

    def paid_for(self, problem: Problem, predicted: np.ndarray) -> float:
        """Return the costs of a tree that predicts these classes, int (rows of the data,), in addition to
        `unit_costs`, for property tests."""
        return 0.0

    def scope(self, problem: Problem) -> str:
        """Return the trees for which the model's bound is valid, if these are not all trees over the encoding: in
        words, such as "trees over the 51 of 15131 splits that were chosen"; ""."""
        return ""

    def trimmed(self, problem: Problem, heap: HeapTree) -> HeapTree:
        """Return a HeapTree that the model represents, made from a heuristic's; the same if it represents
        every tree."""
        return heap

    def represents(self, problem: Problem, heap: HeapTree) -> bool:
        """Return whether the model has a point for a tree, in exact numbers: a solver may violate constraints by its
        tolerance, and heuristics find trees without the gaps that the model requires."""
        return True

    def misrouted(self, problem: Problem, point: dict[str, np.ndarray]) -> float | None:
        """Return the weight of the rows that a point sends elsewhere than its own splits do; None if it never does."""
        return None

    def route_of(self, problem: Problem) -> np.ndarray:
        """Return int64 (rows,): for each encoded row, its row in the columns of the role ROUTE."""
        return np.arange(problem.encoded.n_rows)

    def keeps(self, problem: Problem) -> tuple[str, ...]:
        """Return the kinds of constraints that its columns satisfy by construction, so that they need no rows; all its
        functions respect them."""
        return ()

    def hinders(self, problem: Problem, given: Constraint) -> str:
        """Return the parameter, as on the command line, for which a constraint is refused that would be satisfied
        without it; "" for none."""
        return ""

    def instead(self, problem: Problem, given: Constraint) -> str:
        """Return the parameter that is equivalent to a constraint without rows here, as on the command line; "" for
        none."""
        return ""


class Learner(Protocol):
    """A formulation that learns its tree without a model."""

    CONSTRAINTS: tuple[Any, ...] = ()  # the kinds that it satisfies

    @abstractmethod
    def tree(self, problem: Problem) -> HeapTree | None:
        """Return the HeapTree."""
        ...

    def learned(self, problem: Problem) -> tuple[HeapTree | None, str]:
        """Return (`tree`, a sentence on how it was chosen or ""); this is the function that is called."""
        return self.tree(problem), ""


class Iterative(Protocol):
    """A model that grows while it is solved: `odtc fit` calls `fit` instead of solving it once."""

    FIT_DEFAULTS: dict[str, Any] = {}  # parameters that differ under `fit`
    TIMED: bool = False  # whether `fit` also takes `left`, which returns the remaining seconds (None: no limit)
    LAZY: bool = False  # whether `fit` also takes `in_tree(model, cuts, start)`, a solver that adds cuts in its tree
    GROWS: bool = False  # whether its last model has other columns than the first, and parameters that say so

    @abstractmethod
    def fit(
        self, base: Model, solve: Callable[..., Solution], start: Any, tell: Callable[[Any], None], **left: Any
    ) -> tuple[Model, Solution]:
        """Return (Model, Solution) for the result of `build`, with the rows of cut families.

        `solve(model, start=None, seconds=None)` is any solver, with the remaining time, or these seconds; `tell`
        receives a Round when one has ended (odtc.workflow.rounds).
        """
        ...

    @abstractmethod
    def loops(self, problem: Problem) -> bool:
        """Return whether there is anything left to add with these parameters."""
        ...


class Pricing(Protocol):
    """A formulation of column generation whose pricing problem is a model, too (`odtc build --pricing`)."""

    @abstractmethod
    def pricing(self, problem: Problem, leaf: int, label: int | None = None) -> Model:
        """Return the Model of the pricing problem of this leaf, and of this class if the formulation has
        one for each."""
        ...


class SearchesItself(Protocol):
    """A formulation whose compiler proves some trees by itself; `odtc fit` uses it unless a solver or a model file is
    requested."""

    @abstractmethod
    def searches(self, problem: Problem) -> bool:
        """Return whether it supports this problem."""
        ...

    def engine(self, problem: Problem) -> str:
        """Return the search that finds the tree of a supported problem, in words that follow "has"."""
        return "a search of its own"

    def uncertified(self, problem: Problem) -> str:
        """Return why its search of a supported problem makes no certificate; "" if it makes one."""
        return ""

    @abstractmethod
    def search(
        self, problem: Problem, start: HeapTree | None, progress: Callable[..., None] | None, floor: float = 0.0
    ) -> Any:
        """Return the tree, its bound and whether there is none at all, as odtc.formulations.dpflow.searched.Searched.

        `start` is a HeapTree or None; `progress` is called with the bound, the cost of the best tree so far and the
        phase in words; no tree costs less than `floor`.
        """
        ...

    def refusal(self, problem: Problem) -> str:
        """Return why it refuses a problem, and what to do, as the end of a sentence."""
        return f"take fewer splits ({option('encoding', 'auto:bins=8')}) or a smaller {option('depth')}"

    def frontier(self, problem: Problem, varied: list[Constraint]) -> list[Any] | None:
        """Return the same for each of some additional constraints, the loosest first; None if no search covers all of
        them together."""
        return None

    def frontier_starts(self, problem: Problem, varied: list[Constraint]) -> list[Any]:
        """Return a HeapTree that satisfies each of some constraints, the loosest first, or None, where `frontier` is
        None and trees of all numbers are found together soon."""
        return [None] * len(varied)

    def inherit(self, problem: Problem, looser: Problem) -> None:
        """Take over the results that were proved for an otherwise equal problem with looser constraints."""


class Estimates(Protocol):
    """A formulation that can say how large a problem is for it (odtc.workflow.posing)."""

    @abstractmethod
    def estimate(self, sizes: Sizes) -> Estimate:
        """Return the Estimate of a problem of these Sizes (odtc.problem.estimates)."""
        ...


class Counted(Protocol):
    """A formulation whose `build` searches first, so that its blocks are not known before (odtc.problem.counts)."""

    @abstractmethod
    def counts(self, problem: Problem) -> Counts | None:
        """Return the Counts of its model, as upper limits, or without numbers if only the search can determine them;
        None if `build` does not search here, so that its blocks can be counted."""
        ...


class Ranking(Protocol):
    """The trees of a problem in the order of their objectives. (No names of a module: what NearOptimal makes.)"""

    rounding: float  # trees whose objectives differ by less may be in another order; splits that save less are left out

    def tree(self, number: int) -> HeapTree | None:
        """Return the HeapTree of this number, from 0; None after the last one."""
        ...

    def at_least(self, within: float | None) -> int:
        """Return a lower bound on the number of trees whose objective is at most `within` above the best
        (None: any)."""
        ...


class NearOptimal(Protocol):
    """A formulation that finds the near-optimal trees (`odtc fit --pool`)."""

    @abstractmethod
    def expect_ranking(self, problem: Problem) -> None:
        """Raise ChoiceError if the trees of this problem cannot be ranked, for example under some constraints."""
        ...

    @abstractmethod
    def ranking(self, problem: Problem) -> Ranking:
        """Return the trees in order."""
        ...


class NearOptimalTrees(Protocol):
    """All near-optimal trees of a problem, counted. (No names of a module: what CountsNearOptimal makes.)"""

    count: int  # trees that were found
    complete: bool  # whether these are all near-optimal trees
    stopped: str  # if not, the event that ended the count
    proved: bool  # whether `best` is proved
    best: float  # the objective of the best tree
    limit: float  # the greatest objective of a tree that is counted
    columns: tuple[str, ...]  # that the trees split on

    def cells(self, columns: frozenset[int] | None = None) -> list[tuple[float, int, int]]:
        """Return (objective, leaves, trees), the best first, for the trees that split only on these columns (None:
        any)."""
        ...

    def sample(self, number: int, seed: int) -> list[tuple[float, HeapTree]]:
        """Return trees with their objectives, each as likely as any other; all trees, the best first, if there are no
        more."""
        ...

    def graph(self) -> dict[str, Any] | None:
        """Return the states and their arcs in JSON, from which `cells` can be found without data; None if there are
        many."""
        ...


class CountsNearOptimal(Protocol):
    """A formulation that counts the near-optimal trees without listing them (`odtc fit --within`)."""

    @abstractmethod
    def expect_counting(self, problem: Problem) -> None:
        """Raise ChoiceError if they cannot be counted, for example if leaves predict numbers."""
        ...

    def lists_only(self, problem: Problem) -> bool:
        """Return whether they can be listed in order, but not counted, as under most constraints."""
        return False

    @abstractmethod
    def near_optimal_trees(
        self, problem: Problem, within: float, relative: bool, known: HeapTree | None
    ) -> NearOptimalTrees:
        """Return the trees whose objective is at most `within` above the best, or at most that part of the best if
        `relative`."""
        ...


class Certifies(Protocol):
    """A formulation that proves its best tree by a certificate (`odtc certify`, odtc.verification.certificate)."""

    @abstractmethod
    def certificate(self, problem: Problem) -> dict[str, Any]:
        """Return the certificate as a JSON object. Raises ChoiceError if there can be none."""
        ...


FORMULATIONS = Registry(
    "model",
    "odtc.formulations",
    (
        "flowoct",
        "bendersoct",
        "oct",
        "binoct",
        "fair",
        "dpflow",
        "cg",
        "svm1_odt",
        "oct_h",
        "cart",
        "cart_tuned",
        "oblique_search",
    ),
    Contract(
        always=(Formulation,),
        one_of=(Compiled, Learner),
        may=(Iterative, Pricing, SearchesItself, Estimates, Counted, NearOptimal, CountsNearOptimal, Certifies),
    ),
    "odtc.formulations",
    choices=("auto",),
    abilities=(("Estimates", ("flowoct", "dpflow")),),
)


def error_cost(problem: Problem) -> np.ndarray:
    """Return the cost of an error on each row.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float64 (rows,)

    Raises
    ------
    ChoiceError
        If the cost depends on the class predicted: a formulation that counts a row only as correct or misclassified
        cannot express it.
    """
    price = problem.encoded.price
    if price is None:
        able = [name for name in FORMULATIONS.names() if FORMULATIONS.get(name).ANY_COST]
        classes = TASKS.get(problem.encoded.task).CLASSES
        raise ChoiceError(
            f"{problem.formulation} counts a row only as correct or misclassified, so it cannot take costs that depend "
            f"on {'the class predicted' if classes else 'the answer'}; use {option('model', *able)}"
            + (f", or costs by true class only ({option('class_weight')})" if classes else "")
        )
    return price


def loop_of(problem: Problem) -> Callable[..., tuple[Model, Solution]] | None:
    """Return the `fit` of a formulation that solves round after round, with these parameters; otherwise None."""
    module = problem.module
    return module.fit if module.can(Iterative) and module.loops(problem) else None


def searches(problem: Problem) -> bool:
    """Return whether the formulation's own search supports a problem."""
    return problem.module.can(SearchesItself) and problem.module.searches(problem)
