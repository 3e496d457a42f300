"""Side constraints on the tree, "NAME[ARGUMENTS] OP NUMBER": parsing, model constraints, checks and repair.

odtc.problem.constraints.kind defines the protocols of the kinds.
"""

import contextlib
import csv
import difflib
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from odtc.base.registry import Member
from odtc.base.wording import command, option, params
from odtc.data.encoding import Encoded
from odtc.data.splits import Splits
from odtc.data.task import TASKS, expect_classes
from odtc.errors import ChoiceError, OdtcError, SaysNothingError, SearchOnlyError, TreeError
from odtc.problem.constraints.groups import carrying, example_of, rarest
from odtc.problem.constraints.kind import CONSTRAINTS, Constraint, Knows, OnPredictions, Repairs, Subject, read_number
from odtc.problem.formulation import FORMULATIONS, Compiled, SearchesItself
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

if TYPE_CHECKING:
    from odtc.model.milp import Model


OF_COLUMNS = (Subject.FEATURES, Subject.PLACES, Subject.DEPTHS, Subject.SETTLED)
# `*+` and `++` do not backtrack; otherwise a text of many blanks would be divided between the parts in all ways.
GRAMMAR = re.compile(
    r"\s*+(?P<name>\w++)\s*+(\[(?P<args>.*)\])?\s*+((?P<op><=|>=)\s*+(?P<bound>\S+?(\s*%)?)\s*+)?", re.DOTALL
)
EXAMPLES = {"N": "3", "R": "0.6", "D": "0.05", "C": "100"}  # numbers of an example, by their letter in the summary
# Other spellings of <= and >=; == stands for the operator that the kind supports.
SIGN = re.compile(r"[<>=≤≥⩽⩾]+")
MEANT_SIGNS = dict.fromkeys((">", "=>", "≥", "⩾", ">=="), ">=") | dict.fromkeys(("<", "=<", "≤", "⩽", "<=="), "<=")
# Names in other packages, with the kind of odtc that they correspond to.
MEANT = {
    **dict.fromkeys(
        ("min_leaf", "min_leaf_rows", "min_samples_leaf", "min_leaf_size", "leaf_size", "minbucket", "leaf_samples"),
        "leaf_rows",
    ),
    **dict.fromkeys(("max_leaves", "n_leaves", "max_leaf_nodes", "leaf_nodes", "num_leaves"), "leaves"),
    **dict.fromkeys(("max_branch_nodes", "nodes", "n_nodes", "size"), "branch_nodes"),
    **dict.fromkeys(("max_features", "n_features", "columns"), "features"),
    **dict.fromkeys(("sensitivity", "tpr", "true_positive_rate", "hit_rate"), "recall"),
    **dict.fromkeys(("fpr", "fallout", "specificity", "tnr", "true_negative_rate"), "false_positive_rate"),
    **dict.fromkeys(("fnr", "miss_rate"), "false_negative_rate"),
    **dict.fromkeys(("ppv", "positive_predictive_value"), "precision"),
    **dict.fromkeys(("error", "errors", "error_rate"), "accuracy"),
    "demographic_parity": "statistical_parity",
}
OPPOSITE = ("specificity", "tnr", "true_negative_rate", "error", "errors", "error_rate")  # they need 1 minus the number
SHORT = {"leaf_rows": "min_leaf_rows", "branch_nodes": "max_branch_nodes", "features": "max_features"}  # options
OF_CLASSES = (Subject.RIGHT, Subject.RIGHT_OF_TWO, Subject.PREDICTIONS, Subject.LEAVES)


def speak_of_columns(texts: Iterable[str]) -> bool:
    """Return whether a constraint among these texts is about columns that a tree splits on, or their positions."""
    names = [found["name"] for text in texts if (found := GRAMMAR.fullmatch(text))]
    return any(CONSTRAINTS.get(name).SUBJECT in OF_COLUMNS for name in names if name in CONSTRAINTS.names())


def parse(text: str, encoded: Encoded) -> Constraint:
    """Return the Constraint of a text, its arguments between commas (odtc.problem.constraints.arguments); raises
    ChoiceError."""
    from odtc.problem.constraints.arguments import PYTHONIC, readings

    found = GRAMMAR.fullmatch(text)
    if not found:
        raise ChoiceError(
            f"expected a constraint NAME OP NUMBER, as in 'leaf_rows >= 5', with OP <= or >=, got {text!r}"
            f"{_with_sign(text, encoded) or _meant(text, encoded)}"
        )
    name, args, op = found["name"], found["args"] or "", found["op"] or ""
    if name not in CONSTRAINTS.names():
        raise ChoiceError(_unknown(text, name, encoded))
    module = CONSTRAINTS.get(name)
    if module.SUBJECT in OF_CLASSES:
        expect_classes(encoded.task, f"the constraint {text!r}")
    if op not in (module.OPS or ("",)):
        wanted = f"takes {' or '.join(module.OPS)}, as NAME OP NUMBER" if module.OPS else "takes no number"
        raise ChoiceError(f"constraint {name!r} {wanted}, got {text!r}; {example_text(name, encoded, args)}")
    bound = read_number(found["bound"] or "0")
    if bound is None:
        point = text[: found.start("bound")] + found["bound"].replace(",", ".")
        meant = f"write {point!r}" if point != text and _reads(point, encoded) else example_text(name, encoded, args)
        raise ChoiceError(
            f"expected a finite number to the right of {op}, such as 0.05, 1/20 or 5%, got {found['bound']!r} in "
            f"{text!r}; {meant}"
        )
    if bound >= 1 and found["bound"].endswith("%") and module.SUBJECT is Subject.LEAF_ROWS:
        raise ChoiceError(f"expected a share of the rows below 100 %, got {found['bound']!r} in {text!r}")
    refusals, nothing = [], None
    try:
        for cells in readings(args, encoded) if args else [()]:
            try:
                fitting = module.read(encoded, Constraint(name, cells, op, bound))
            except ChoiceError as refused:
                refusals.append(str(refused))
                nothing = refused if isinstance(refused, SaysNothingError) else nothing
            else:
                if not isinstance(fitting, Constraint):
                    got = type(fitting).__name__
                    raise OdtcError(f"expected a Constraint from read() of the constraint {name!r}, got {got}")
                return fitting
    except csv.Error as problem:
        raise ChoiceError(f"expected the arguments of a constraint on one line, got {text!r} ({problem})") from None
    if nothing is not None:
        raise nothing
    # For quoted arguments, the second reading respects the quotes.
    first = refusals[1::-1] if {*args} & {*"\"'"} else refusals[:1]
    said = min(first, key=lambda refusal: f"expected {name}[" in refusal)
    if {"true", "false"} & {*encoded.classes} and PYTHONIC.search(args):
        said = refusals[-1]  # the last reading has them as the data do
    raise ChoiceError(
        said if "for example" in said or "; write " in said else f"{said}; {example_text(name, encoded, args)}"
    )


def _with_sign(text: str, encoded: Encoded) -> str:
    """Return the constraint of a text with another sign, such as > for >=, as the end of a sentence; "" for another."""
    head, bracket, tail = text.rpartition("]")
    sign = SIGN.search(tail)
    name = re.match(r"\s*(\w+)", text)
    if sign is None or name is None or name[1] not in CONSTRAINTS.names():
        return ""
    module, number = CONSTRAINTS.get(name[1]), tail[sign.end() :].strip()
    meant = module.OPS[0] if set(sign[0]) == {"="} and module.OPS else MEANT_SIGNS.get(sign[0], "")
    if not meant:
        return ""
    counts = GRAMMAR.fullmatch(module.SUMMARY.split(": ")[0])
    if sign[0] in "<>" and number.isdecimal() and counts and counts["bound"] == "N":
        number = str(int(number) + (1 if meant == ">=" else -1))
    said = f"{head}{bracket}{tail[: sign.start()].rstrip()} {meant} {number}"
    if GRAMMAR.fullmatch(said) is None:
        return ""
    return f"; use {meant}{f': {said.strip()!r}' if _reads(said, encoded) else f'; {example_text(name[1], encoded)}'}"


def _reads(text: str, encoded: Encoded) -> bool:
    """Return whether a text is a constraint on this data."""
    try:
        parse(text, encoded)
    except OdtcError:
        return False
    return True


def _unknown(text: str, name: str, encoded: Encoded) -> str:
    """Return the sentence on a text with a name of no kind, with the kind that is meant, or all there are."""
    if name.casefold() in ("depth", "max_depth"):
        return f"unknown constraint {name!r}: the depth of a tree is {option('depth')}; 'deepest' limits one column"
    meant = MEANT.get(name.casefold(), "")
    if meant not in CONSTRAINTS.names():
        near = difflib.get_close_matches(name.casefold(), CONSTRAINTS.names(), n=1, cutoff=0.6)
        near += [kind for kind in CONSTRAINTS.names() if name.casefold() in kind.split("_")]
        if not near:
            return f"unknown constraint {name!r}; known: {', '.join(CONSTRAINTS.names())}"
        meant = near[0]
    short = f", or {option(SHORT[meant])}" if meant in SHORT else ""
    usable, said = TASKS.get(encoded.task).CLASSES or CONSTRAINTS.get(meant).SUBJECT not in OF_CLASSES, ""
    if usable:
        same = text.replace(name, meant, 1).strip()
        kept = name.casefold() not in OPPOSITE and _reads(same, encoded)
        said = f"; write {same!r}" if kept else f"; {example_text(meant, encoded)}"
    return f"unknown constraint {name!r} (did you mean {meant!r}{short}?){said}"


def _meant(text: str, encoded: Encoded) -> str:
    """Return an example of the first kind that is named, also by the name of another package; "" if none is named for
    this task."""
    known = set(CONSTRAINTS.names())
    for word in re.findall(r"\w+", text):
        word = MEANT.get(word.casefold(), word)
        if word in known and (TASKS.get(encoded.task).CLASSES or CONSTRAINTS.get(word).SUBJECT not in OF_CLASSES):
            return f"; {example_text(word, encoded)}"
    return ""


def example_text(name: str, encoded: Encoded, args: str = "") -> str:
    """Return an example of a kind with the columns and levels of the data, first of all those in the arguments of a
    refused text, by the first words of its summary: one that is not refused itself, if there is one."""
    shape = GRAMMAR.fullmatch(CONSTRAINTS.get(name).SUMMARY.split(": ")[0])
    if not shape:
        return f"see `odtc info {name}`"
    numbers = set(np.unique(Splits.of(encoded.splits).feature).tolist())
    cells = {cell.strip().removeprefix("positive=") for cell in args.split(",")}
    rank = [(one.name not in cells, feature not in numbers) for feature, one in enumerate(encoded.features)]
    order = sorted(range(len(rank)), key=lambda feature: rank[feature])
    klass = next((one for one in encoded.classes if one in cells), "") or rarest(encoded)
    columns = iter([encoded.features[feature].name for feature in order] * 2)
    filled = []
    for word in [word for word in (shape["args"] or "").split(",") if word.strip("…")]:
        made = {
            "CLASS": lambda: klass,
            "positive=CLASS": lambda: f"positive={klass}",
            "group=G": lambda: f"group={example_of(encoded)}",
        }
        filled.append(made.get(word, lambda: next(columns, "COLUMN"))())
    said = f"see `odtc info {name}`"
    for number in map(Fraction, (EXAMPLES.get(shape["bound"], "0"), "1")):
        example = Constraint(name, tuple(filled), shape["op"] or "", number)
        try:
            example.module.read(encoded, example)
        except SaysNothingError:
            said = f"write for example {str(example)!r}"
        except ChoiceError:
            continue
        else:
            return f"write for example {str(example)!r}"
    return said


def expect_no_arguments(given: Constraint) -> None:
    """Raise ChoiceError for a constraint with arguments, of a kind that has none."""
    if given.args:
        raise ChoiceError(f"constraint {given.name!r} has no arguments, got {str(given)!r}")


def count_bound(given: Constraint, least: int, what: str) -> Constraint:
    """Check a constraint without arguments that compares a count.

    Parameters
    ----------
    given : Constraint
    least : int
        The least bound that makes sense.
    what : str
        The name of the count, for the message.

    Returns
    -------
    Constraint
        The same.

    Raises
    ------
    ChoiceError
        If there are arguments, or the bound is not a whole number from `least` on.
    """
    expect_no_arguments(given)
    if given.bound != int(given.bound) or given.bound < least:
        raise ChoiceError(f"expected a whole number of {what}, {least} or more, got {str(given)!r}")
    return given


def knows(problem: Problem) -> set[Knows]:
    """Return the facts about a tree that the problem's constraints need."""
    return {given.module.knows(problem.encoded, given) for given in problem.constraints}


def early(problem: Problem) -> bool:
    """Return whether a constraint may require a tree to predict above the last level."""
    return any(given.module.early(given) for given in problem.constraints)


def rowed(problem: Problem) -> list[tuple[int, Constraint]]:
    """Return the constraints that need model constraints in addition to the formulation's, each with its number."""
    kept = problem.module.keeps(problem)
    return [(number, given) for number, given in enumerate(problem.constraints) if given.name not in kept]


def built(problem: Problem) -> "Model":
    """Build the formulation's model with the problem's side constraints.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Model

    Raises
    ------
    ChoiceError
        If the formulation lacks the variables that a constraint needs.
    SearchOnlyError
        If a model cannot express a constraint.
    """
    from odtc.model.builder import ModelBuilder
    from odtc.model.vectors import replaced
    from odtc.problem.described import Described
    from odtc.problem.expressions import missing

    model = replaced(problem.module.build(problem), problem=problem, described=Described(problem))
    for number, given in rowed(problem):
        module = given.module
        if module.SUBJECT == Subject.SETTLED:
            raise SearchOnlyError(
                f"constraint {str(given)!r} is supported only by the compiler's own search, because no row of a model "
                "can express which branch nodes separate rows; use `odtc fit --model dpflow`, with fewer splits "
                f"({option('encoding', 'auto:bins=8')}) or a smaller {option('depth')} if it is "
                f"refused{'; ' * bool(module.HINT)}{module.HINT}"
            )
        if why := missing(problem, model, module.needs(problem.encoded, given)):
            drop = problem.module.hinders(problem, given)
            same = problem.module.instead(problem, given)
            able = able_models(module)
            hint = (
                f"drop {drop}, with which it is not kept, or the constraint"
                if drop
                else f"{same} is the same here, and {able}"
                if same
                else able
            )
            raise ChoiceError(f"constraint {str(given)!r} {why}; {hint}")
        m = ModelBuilder.onto(model)
        module.rows(problem, model, given, m, _suffix(number))
        model = m.finish()
    return model


def able_models(kind: Member) -> str:
    """Return a sentence that names the formulations that support a kind, by default or with which parameters."""
    if kind.SUBJECT == Subject.SETTLED:
        return "`odtc fit --model dpflow` takes it, whose own search needs no model"
    models = tuple(FORMULATIONS.get(name) for name in FORMULATIONS.able(Compiled))
    names = [f"{name} with {params(form)}" if form else name for name, form in _able_of(models, kind)]
    *first, last = names or ["no model"]
    hint = f"; {kind.HINT}" if kind.HINT else ""
    if not {name.split()[0] for name in names} & set(FORMULATIONS.able(SearchesItself)):
        hint += f"; without a model, {command('fit')} keeps it by its own search (leave out {option('solver')})"
    return f"{', '.join(first)} and {last} take it{hint}" if first else f"{last} takes it{hint}"


@cache
def _able_of(models: tuple[Member, ...], kind: Member) -> list[tuple[str, dict[str, Any]]]:
    """Return the registered models that support a kind; each of them is built, so the result is kept."""
    from odtc.problem.support import able

    return able(lambda problem: takes(problem, kind))


def takes(problem: Problem, kind: Member) -> bool:
    """Return whether the model of a problem without constraints supports a kind.

    It is tried with the first text of the kind that the data supports; a kind that declares no texts is checked by its
    NEEDS.

    Parameters
    ----------
    problem : Problem
    kind : Member
        Of CONSTRAINTS.

    Returns
    -------
    bool
    """
    from odtc.problem.expressions import missing

    texts = kind.tries(problem.encoded)
    if not texts:
        return not missing(problem, problem.module.build(problem), kind.NEEDS)
    for text in reversed(texts):  # the first is the least bound
        with contextlib.suppress(ChoiceError):  # raised if this data lacks such a column or class
            given = posed(problem, [text])
            model = given.module.build(given)
            return not rowed(given) or not missing(given, model, kind.needs(given.encoded, given.constraints[0]))
    return False


def complete(problem: Problem, model: "Model", heap: HeapTree) -> np.ndarray:
    """Return the complete point of the model that represents this tree, with the variables of its constraints.

    Raises the exceptions of the formulation's `start`.
    """
    values = problem.module.start(problem, heap)
    for number, given in rowed(problem):
        own = given.module.values(problem, model, given, values)
        values = values | {f"{stem}{_suffix(number)}": value for stem, value in own.items()}
    return model.join(values)


def on_answers(problem: Problem) -> list[Constraint]:
    """Return the constraints on predictions, which can be evaluated on any rows."""
    return [given for given in problem.constraints if given.module.can(OnPredictions)]


def broken(problem: Problem, heap: HeapTree) -> list[tuple[Constraint, Fraction | float]]:
    """Return the constraints that a settled tree violates, each with its value."""
    valued = [(given, given.module.value(problem.encoded, given, heap)) for given in problem.constraints]
    return [(given, value) for given, value in valued if not given.holds(value)]


def mended(problem: Problem, heap: HeapTree) -> HeapTree | None:
    """Return a tree that satisfies all constraints, made from this one; None if no kind can repair it."""
    for _ in range(1 + 2 * len(problem.constraints)):  # repairing one constraint may break another one
        wrong = broken(problem, heap)
        if not wrong:
            return heap
        given = wrong[0][0]
        if not given.module.can(Repairs):
            return None
        heap = given.module.mend(problem.encoded, given, heap)
    return None


def posed(problem: Problem, texts: Iterable[str]) -> Problem:
    """Return the problem with these constraints. Raises ChoiceError for one that cannot be read, and for one that a
    learner, which has no model, cannot satisfy."""
    given = tuple(parse(text, problem.encoded) for text in texts)
    compared = [text for one in given for text in one.module.compared(one)]
    problem = replace(problem, encoded=carrying(problem.encoded, compared), constraints=given)
    if problem.module.can(Compiled):
        return problem
    able = problem.module.CONSTRAINTS
    for given in problem.constraints:
        if given.name not in able:
            raise ChoiceError(
                f"{problem.formulation!r} learns its tree without a model and cannot keep {str(given)!r}; "
                + (f"it keeps {', '.join(able)}" if able else "it keeps no constraint")
                + "; or use a model"
            )
    return problem


def expect(problem: Problem, heap: HeapTree) -> None:
    """Raise TreeError for a tree that violates a constraint."""
    for given, value in broken(problem, settle(heap.split, problem.encoded, heap.label, heap.beyond)):
        figure = f"that has {given.shown(value)}" if given.op else "that breaks it"
        raise TreeError(f"expected a tree that satisfies {str(given)!r}, got one {figure}; give another start")


def limits(problem: Problem) -> dict[str, int]:
    """Return the limits that a heuristic can satisfy itself (its LIMITS): rows of the data in a leaf, leaves."""
    found, most = {}, most_branch_nodes(problem)
    if (least := least_rows(problem)) > 1:
        found["least_rows"] = least
    if most is not None:
        found["most_leaves"] = most + 1
    return found


def least_missed(encoded: Encoded, heap: HeapTree, groups: list[Any]) -> HeapTree:
    """Return the tree without one group of its branch nodes: the group that costs least to remove.

    Parameters
    ----------
    encoded : Encoded
    heap : HeapTree
    groups : list of (list of int)
        Groups of branch nodes; their subtrees are removed, too.

    Returns
    -------
    HeapTree
    """
    kept = [np.where(np.isin(np.arange(len(heap.split)), group), -1, heap.split) for group in groups]
    return min((settle(split, encoded, None, heap.beyond) for split in kept), key=lambda tree: tree.loss(encoded))


def least_rows(problem: Problem) -> int:
    """Return the number of data rows that every leaf must have: 1, or the number of a constraint."""
    return max([1, *(int(given.bound) for given in problem.constraints if given.name == "leaf_rows")])


def most_branch_nodes(problem: Problem) -> int | None:
    """Return the largest number of branch nodes of a tree, None if no constraint limits it."""
    most = {"branch_nodes": 0, "leaves": 1}
    bounds = [int(given.bound) - most[given.name] for given in problem.constraints if given.name in most]
    return min(bounds) if bounds else None


def _suffix(number: int) -> str:
    return "" if number == 0 else str(number + 1)
