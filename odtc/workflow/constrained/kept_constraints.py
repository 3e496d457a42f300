"""What was asked of a tree and what it reaches, for each constraint, on training and on test rows."""

from odtc.data.dataset import Dataset
from odtc.errors import OdtcError
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import OnPredictions
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions


def kept_facts(
    problem: Problem,
    heap: HeapTree,
    tree: Tree,
    labelled: Dataset | None,
    asked: tuple[Constraint, ...] | None = None,
    cart: HeapTree | None = None,
) -> list[dict]:
    """One entry for each constraint that was asked; None is those of the problem.

    Returns
    -------
    list of dict
        `constraint` as typed, `asked` its number (None without one), `training` the figure of the tree, `test` that
        on labelled rows, `kept_on_test` whether it satisfies the constraint; both None if there are none, if the kind
        does not speak of predictions, or if the rows lack a column; `cart` the figure of CART's tree on training rows,
        if that is given.
    """
    unlabelled = labelled is None or (labelled.y < 0).any()
    rows = None if unlabelled else RowPredictions(problem.encoded, labelled, tree.predict(labelled.X))
    found = []
    for given in problem.constraints if asked is None else asked:
        test = None
        if rows is not None and given.module.can(OnPredictions):
            try:
                test = rows.value(given)
            except (OdtcError, ZeroDivisionError):
                test = None
        test = None if test is None or test != test else test
        found.append(
            {
                "constraint": str(given),
                "asked": given.bound if given.op else None,
                "training": given.module.value(problem.encoded, given, heap),
                "test": test,
                "kept_on_test": None if test is None else bool(given.holds(test)),
            }
            | ({} if cart is None else {"cart": given.module.value(problem.encoded, given, cart)})
        )
    return found


def broken_text(asked: tuple[Constraint, ...], kept: list[dict]) -> str:
    """Which of the constraints CART's tree breaks, with its figures (`kept_facts` of these); "" for none."""
    told = [(given, entry["cart"]) for given, entry in zip(asked, kept, strict=True) if "cart" in entry]
    return ", ".join(f"{given} ({value:.4g})" for given, value in told if not given.holds(value))


def kept_text(entry: dict) -> str:
    """An entry in words."""
    figure = f"{entry['constraint']}: {entry['training']:.4g} on training rows"
    if entry["test"] is None:
        return figure
    return f"{figure}, {entry['test']:.4g} on test rows" + ("" if entry["kept_on_test"] else ", not satisfied there")
