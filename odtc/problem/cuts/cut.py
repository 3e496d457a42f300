"""Cut families (`CutFamily`): inequalities for every formulation that expresses the required statements.

Inequalities that are valid for every tree are user cuts: a solver may leave them out. Inequalities that only some
optimum satisfies are ordinary rows, because a solver's own symmetry breaking may keep a different optimum. Every
settled tree (odtc.trees.heap_tree.settle) satisfies them after `arrange`, so starts and checks use the arranged tree.
They are refused together with a side constraint (odtc.problem.constraints.constraint), because the optimum that they
keep may violate it.
"""

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Member, Registry
from odtc.base.text import first_few
from odtc.base.value_class import frozen_class
from odtc.base.wording import option, params
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis, Cells
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.model.vectors import replaced
from odtc.problem.expressions import Need, Statement, missing, stated
from odtc.problem.formulation import Iterative
from odtc.problem.problem import Problem
from odtc.problem.support import able
from odtc.trees.heap_tree import HeapTree, settle

ROUNDS = "rounds"  # "paper4:rounds=10": rows separated in up to 10 rounds, instead of the static rows

EVERY_TREE, AN_OPTIMUM = "every tree", "an optimum"


class CutFamily(Protocol):
    """Parts that a cut family defines."""

    NAME: str
    SUMMARY: str  # for `odtc list cuts`
    NEEDS: tuple[Any, ...]  # alternatives, each a tuple of odtc.problem.expressions.Need that its rows use
    VALID: str  # EVERY_TREE, or AN_OPTIMUM if its rows may cut off some points of trees
    SEPARATES: bool = False  # whether it can also give the rows that a point violates
    SOLVES: bool = False  # whether its rows come from optimal subtrees; if a model is only counted, it has none
    HINT: str = ""  # further advice if it is requested for a model without these columns

    @abstractmethod
    def rows(self, problem: Problem, model: Model, point: dict[str, Any] | None) -> "tuple[CutRows, ...]":
        """Return the rows to append: its static choice if `point` is None, otherwise those that this point, {block:
        values}, violates."""
        ...

    def arrange(self, problem: Problem, model: Model, heap: HeapTree) -> HeapTree:
        """Return a tree as good as this one that satisfies the rows."""
        return heap


def _unfit(module: Any) -> str:
    """Return why the constants of a cut family are invalid, as a part of a sentence; "" if they are valid."""
    if module.VALID not in (EVERY_TREE, AN_OPTIMUM):
        return f"expected VALID = EVERY_TREE or AN_OPTIMUM, got {module.VALID!r}"
    needs = module.NEEDS
    if not needs or not all(isinstance(each, tuple) and all(isinstance(one, Need) for one in each) for each in needs):
        return f"expected NEEDS as a tuple of tuples of Need, such as ((Need(Statement.CORRECT),),), got {needs!r:.80}"
    return ""


CUTS = Registry(
    "cut family",
    "odtc.problem.cuts.families",
    (
        "paper4",
        "equivalent_points",
        "subtree_value",
        "no_feature_reuse",
        "sibling_labels",
        "commutation",
        "class_sizes",
        "one_per_class",
    ),
    Contract(always=(CutFamily,), unfit=_unfit),
    "odtc.cuts",
)


Entry = tuple[tuple[Any, ...], Cells, np.ndarray | float]  # (labels of the rows, columns, coefficients)


@frozen_class
class CutRows:
    """A block of rows to append: lower <= Σ coef · columns <= upper. An entry is (labels, columns, coef):
    the labels of the rows, one array per axis, the Cells and the coefficients broadcast together, and
    are multiplied out only when written."""

    name: str
    axes: tuple[Axis, ...]
    entries: tuple[Entry, ...]
    upper: np.ndarray | float = np.inf
    lower: np.ndarray | float = -np.inf


def splits_of_an_optimum(problem: Problem, model: Model) -> np.ndarray:
    """Return the splits that inequalities of AN_OPTIMUM may use: all, but not the first if a branch node that cannot
    predict must have a split: `start` gives it split 0."""
    free = stated(problem, model, Statement.PREDICTS, "branch_nodes")
    return np.arange(0 if free is not None else 1, problem.encoded.n_candidate_splits)


def family(word: str) -> tuple[Member, int]:
    """Return (module, rounds) of a family as named by `--cuts`: "paper4" (0: its static rows) or "paper4:rounds=10".
    Raises ChoiceError for one that is unknown, or that cannot separate."""
    name, colon, rest = (part.strip() for part in word.partition(":"))
    module = CUTS.get(name)
    if not colon:
        return module, 0
    key, _, value = (part.strip() for part in rest.partition("="))
    if key != ROUNDS or not value.isdecimal() or not 1 <= int(value) <= 10_000:
        raise ChoiceError(f"expected {name}:{ROUNDS}=N with N from 1 to 10000 in {option('cuts')}, got {word!r}")
    if not module.SEPARATES:
        able = ", ".join(name for name in CUTS.names() if CUTS.get(name).SEPARATES)
        raise ChoiceError(
            f"cut family {name!r} gives all its rows at once, so there is nothing to separate in {word!r}; "
            f"families that separate: {able}"
        )
    return module, int(value)


def why_unfit(name: str, problem: Problem, model: Model) -> str:
    """Return why the model cannot take the rows of this family, as a sentence; "" if it can."""
    module, _ = family(name)
    name = module.name
    if module.VALID == AN_OPTIMUM and problem.constraints:
        return (
            f"cut family {name!r} keeps some optimum of all trees, which need not keep the constraint "
            f"{str(problem.constraints[0])!r}; leave out one of the two"
        )
    why = missing(problem, model, module.NEEDS)
    return f"cut family {name!r} {why}" if why else ""


def _models_for(module: Member) -> list[tuple[str, dict[str, Any]]]:
    """Return the formulations that can take the rows of a family, with the parameters of such a form."""
    return able(lambda problem: not missing(problem, problem.module.build(problem), module.NEEDS))


def hint(module: Member) -> str:
    """Return the models that express the required statements (odtc.problem.support), and the family's own HINT."""
    names = [f"{name} {params(form)}".rstrip() for name, form in _models_for(module)]
    have = f"models that take it: {', '.join(names)}" if names else "no model takes it"
    return "; ".join(filter(None, [module.HINT, have]))


def _forced(problem: Problem, module: Member) -> str:
    """Return a remark if constraints need a form of the formulation that cannot take the rows of a family, but another
    form could; otherwise ""."""
    if not problem.constraints or problem.formulation not in [name for name, _ in _models_for(module)]:
        return ""
    stated = first_few([repr(str(constraint)) for constraint in problem.constraints], 2)
    return (
        f"; the form of {problem.formulation} for {stated} does not take it, so leave out either the family or the "
        "constraint"
    )


def choose(problem: Problem, model: Model, names: tuple[str, ...] | str | None) -> tuple[str, ...]:
    """Return the families to add: those named, in the order of the registry, static rows before separated ones; with
    "all", every one that fits; with None the formulation's own, and none in a model as printed. Raises ChoiceError
    if one that is named does not fit."""
    if names is None:
        names = () if getattr(problem.params, "literal", False) else problem.module.DEFAULT_CUTS
    if names == "all":
        return tuple(name for name in CUTS.names() if not why_unfit(name, problem, model))
    for name in names:
        if why := why_unfit(name, problem, model):
            module, _ = family(name)
            if module.HINT and missing(problem, model, module.NEEDS):
                why = f"cut family {module.name!r} is not for this model of {problem.formulation}"
            if not missing(problem, model, module.NEEDS):
                raise ChoiceError(why)
            raise ChoiceError(f"{why}; {hint(module)}{_forced(problem, module)}")
    words = {
        (module.name, rounds): f"{module.name}:{ROUNDS}={rounds}" if rounds else module.name
        for module, rounds in map(family, names)
    }
    return tuple(words[key] for name in CUTS.names() for key in sorted(words) if key[0] == name)


def add(problem: Problem, model: Model, names: tuple[str, ...]) -> Model:
    """Return the model with the static rows of these families after its own, and no column renumbered; families with
    rounds are left to odtc.problem.cuts.separation."""
    for name in names:
        module, rounds = family(name)
        if not rounds:
            model = append(model, name, module.rows(problem, model, None))
    return model


def append(model: Model, name: str, rows: tuple[CutRows, ...]) -> Model:
    """Return the model with these rows of a family after its own.

    They are user cuts, which a solver may leave out, if the model's own rows imply them at integer points. That is not
    the case if a loop adds rows to the model later: there, CPLEX may return points that violate them.
    """
    if not isinstance(rows, tuple) or not all(isinstance(part, CutRows) for part in rows):
        raise ChoiceError(f"expected a tuple of CutRows from rows() of the cut family {name!r}, got {rows!r:.80}")
    m, names = ModelBuilder.onto(model), []
    for part in rows:
        block = m.rows(part.name, *part.axes, lower=part.lower, upper=part.upper)
        names.append(block.name)
        for labels, cells, coef in part.entries:
            m.add(block[labels], cells, coef)
    implied = family(name)[0].VALID == EVERY_TREE and not _is_part(model.problem)
    user = tuple(names) if implied else ()
    families = model.cuts if name in model.cuts else (*model.cuts, name)
    return replaced(m.finish(), user_cuts=(*model.user_cuts, *user), cuts=families)


def _is_part(problem: Problem | None) -> bool:
    """Return whether the formulation's model lacks constraints or variables that its loop adds."""
    return problem is not None and problem.module.can(Iterative) and problem.module.loops(problem)


def arrange_tree(problem: Problem, model: Model, heap: HeapTree) -> HeapTree:
    """Return a tree that costs no more than this one and satisfies the rows of the model's families: itself, if all of
    them are valid for every tree."""
    modules = [family(name)[0] for name in model.cuts]
    if all(module.VALID == EVERY_TREE for module in modules):
        return heap
    while True:
        before = heap
        heap = settle(heap.split, problem.encoded, heap.label, heap.beyond)
        for module in modules:
            heap = module.arrange(problem, model, heap)
        if np.array_equal(before.split, heap.split) and np.array_equal(before.label, heap.label):
            return heap
