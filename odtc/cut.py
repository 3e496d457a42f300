"""What a cut family is: rows for every formulation that offers the roles it needs.

    NAME, SUMMARY                  words for `odtc list cuts` and `odtc info`
    NEEDS                          alternatives, each a tuple of Need: the columns that it speaks of
    VALID                          EVERY_TREE, or AN_OPTIMUM where a whole-numbered point may be cut off
    SEPARATES                      True where it can also be asked for the rows that a point breaks
    rows(problem, model, point)    -> CutRows to append, a tuple; `point` None asks for the static choice,
                                   {block: values} for rows that this point breaks, none where it breaks none
    arrange(problem, model, heap)  only where needed: a tree as good as this one that keeps the rows

Rows that hold for every tree are user cuts: a solver may leave them out. Those that only some
optimum keeps are not, as a solver's own symmetry breaking may keep another one. They hold for
every settled tree (odtc.heap.settle), once `arranged`; so starts and checks use that one.
"""

from dataclasses import dataclass, replace
from itertools import chain, count

import numpy as np

from odtc.errors import ChoiceError
from odtc.formulation import Problem, Role, params_to_json
from odtc.heap import HeapTree, settle
from odtc.model import Axis, Block, Cells, Model, ModelBuilder
from odtc.registry import Registry

ROUNDS = "rounds"  # "paper4:rounds=10": instead of its static rows, those separated in as many rounds

EVERY_TREE, AN_OPTIMUM = "every tree", "an optimum"

CUTS = Registry(
    "cut family", "odtc.cuts",
    ("paper4", "equivalent_points", "subtree_value", "no_feature_reuse", "sibling_labels", "commutation"),
    ("NAME", "SUMMARY", "NEEDS", "VALID", "rows"),
)


@dataclass(frozen=True)
class Need:
    """Columns of a role; `at` names nodes of the Topology ("leaves", "branch_nodes", …) that must have them."""

    role: Role
    at: str | None = None

    def words(self) -> str:
        return f"{self.role}{' at the ' + self.at.replace('_', ' ') if self.at else ''}"


@dataclass(frozen=True)
class CutRows:
    """A block of rows to append: lower <= Σ coef · columns <= upper. An entry is (labels, columns, coef):
    the labels of the rows, one array per axis, the Cells and the coefficients broadcast together, and
    are multiplied out only when written."""

    name: str
    axes: tuple[Axis, ...]
    entries: tuple[tuple[tuple, Cells, np.ndarray | float], ...]
    upper: np.ndarray | float = np.inf
    lower: np.ndarray | float = -np.inf


def columns(problem: Problem, model: Model, role: Role, at: str | None = None) -> Block | None:
    """The block of columns of this role (with these nodes), None where the model has none."""
    for block in model.columns:
        if block.role != role:
            continue
        if role == Role.BRANCH and [axis.name for axis in block.axes] != ["node", "test"]:
            continue
        if at is None or np.isin(getattr(problem.topology, at), nodes(block)).all():
            return block
    return None


def nodes(block: Block) -> np.ndarray:
    """The node numbers that a block has columns for."""
    for axis in block.axes:
        if axis.name == "node":
            return axis.first + np.arange(axis.size)
    return np.zeros(0, int)


def asked(problem: Problem, model: Model) -> np.ndarray:
    """The tests that rows of AN_OPTIMUM may speak of: all, but not the first where a branch node must
    ask something even if it needs not (it cannot predict): `start` makes it ask test 0."""
    free = columns(problem, model, Role.LABEL, "branch_nodes")
    return np.arange(0 if free is not None else 1, problem.encoded.n_tests)


def fresh_name(model: Model, stem: str) -> str:
    """`stem`, with a number where the model has rows of this name already."""
    taken = {block.name for block in model.rows}
    return next(name for name in chain([stem], (f"{stem}{number}" for number in count(2))) if name not in taken)


def family(word: str) -> tuple[object, int]:
    """(module, rounds) of a family as `--cuts` names it: "paper4" (0: its static rows) or "paper4:rounds=10".
    Raises ChoiceError for one that is unknown, or that cannot separate."""
    name, colon, rest = (part.strip() for part in word.partition(":"))
    module = CUTS.get(name)
    if not colon:
        return module, 0
    key, _, value = (part.strip() for part in rest.partition("="))
    if key != ROUNDS or not value.isdecimal() or not 1 <= int(value) <= 10_000:
        raise ChoiceError(f"expected {name}:{ROUNDS}=N with N from 1 to 10000 in --cuts, got {word!r}")
    if not getattr(module, "SEPARATES", False):
        able = ", ".join(name for name in CUTS.names() if getattr(CUTS.get(name), "SEPARATES", False))
        raise ChoiceError(f"cut family {name!r} gives all its rows at once, so there is nothing to separate in {word!r}; "
                          f"families that separate: {able}")
    return module, int(value)


def misfit(name: str, problem: Problem, model: Model) -> str:
    """Why the model cannot take the rows of this family, as a sentence; "" where it can."""
    module, _ = family(name)
    name = module.NAME
    if any(all(columns(problem, model, need.role, need.at) is not None for need in needs) for needs in module.NEEDS):
        return ""
    wanted = ", or ".join(" and ".join(need.words() for need in needs) for needs in module.NEEDS)
    has = ", ".join(f"{block.role} ({block.name})" for block in model.columns if block.role not in ("", Role.CONSTANT))
    how = " ".join(f"-p {key}={_word(value)}" for key, value in params_to_json(problem.params).items())
    hint = getattr(module, "HINT", "")
    return (f"cut family {name!r} needs columns of the roles {wanted}; {problem.formulation}{f' ({how})' if how else ''} has {has}"
            f"{'; ' + hint if hint else ''}")


def choose(problem: Problem, model: Model, names: tuple[str, ...] | str | None) -> tuple[str, ...]:
    """The families to add: those named, in the order of the registry, static rows before separated ones;
    with "all", every one that fits; with None the formulation's own. Raises ChoiceError where one that
    is named does not fit."""
    if names is None:
        names = getattr(problem.module, "DEFAULT_CUTS", ())
    if names == "all":
        return tuple(name for name in CUTS.names() if not misfit(name, problem, model))
    for name in names:
        if why := misfit(name, problem, model):
            raise ChoiceError(why)
    words = {(module.NAME, rounds): f"{module.NAME}:{ROUNDS}={rounds}" if rounds else module.NAME
             for module, rounds in map(family, names)}
    return tuple(words[key] for name in CUTS.names() for key in sorted(words) if key[0] == name)


def add(problem: Problem, model: Model, names: tuple[str, ...]) -> Model:
    """The model with the static rows of these families behind its own, and no column renumbered; those
    with rounds are left to odtc.separation."""
    for name in names:
        module, rounds = family(name)
        if not rounds:
            model = append(model, name, module.rows(problem, model, None))
    return model


def append(model: Model, name: str, rows: tuple[CutRows, ...]) -> Model:
    """The model with these rows of a family behind its own."""
    m = ModelBuilder.onto(model)
    for part in rows:
        block = m.rows(part.name, *part.axes, lower=part.lower, upper=part.upper)
        for labels, cells, coef in part.entries:
            m.add(block[labels], cells, coef)
    user = tuple(part.name for part in rows) if family(name)[0].VALID == EVERY_TREE else ()
    families = model.cuts if name in model.cuts else (*model.cuts, name)
    return replace(m.finish(), user_cuts=(*model.user_cuts, *user), cuts=families)


def arranged(problem: Problem, model: Model, heap: HeapTree) -> HeapTree:
    """A tree that costs no more than this one and keeps the rows of the model's families: itself,
    where all of them hold for every tree."""
    modules = [family(name)[0] for name in model.cuts]
    if all(module.VALID == EVERY_TREE for module in modules):
        return heap
    while True:
        before = heap
        heap = settle(heap.test, problem.encoded, heap.label, heap.beyond)
        for module in modules:
            if hasattr(module, "arrange"):
                heap = module.arrange(problem, model, heap)
        if np.array_equal(before.test, heap.test) and np.array_equal(before.label, heap.label):
            return heap


def _word(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
