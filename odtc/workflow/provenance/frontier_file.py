"""`odtc verify STEM.frontier.json`: the points of a frontier compared with the data file that it names.

The problem is built again from its description in the file, and each tree is evaluated on the rows again. The claims of
a point must follow from its tree and its bound, and no known tree may contradict the bound, or the claim that no tree
exists. A short search derives bounds again; a sentence reports the bounds that it does not reach, which only the run
claims.
"""

from collections.abc import Sequence
from pathlib import Path

from odtc.base import deadline, phases
from odtc.base.json_schema import ANY, FLAG, NUMBER, TEXT, WHOLE, SchemaError, read_if_of, validate
from odtc.base.text import count_of, some
from odtc.base.value_class import value_class
from odtc.base.wording import command, option
from odtc.data.cells.data_files import recorded_data
from odtc.data.dataset import Dataset
from odtc.data.reading import read_as, unlike_recorded
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import ChoiceError, DataError, TimeLimitReached, TreeError
from odtc.model.feasibility import Check
from odtc.problem.constraints.constraint import broken
from odtc.problem.constraints.kind import Constraint
from odtc.problem.exact_objective import same_objective
from odtc.problem.formulation import FORMULATIONS, SearchesItself
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.known_trees import is_below
from odtc.workflow.constrained.frontier import (
    SCHEMA,
    SUFFIX,
    Point,
    frontier,
    frontier_facts,
    loosest_first,
    rising_constraints,
    tightening,
    varied,
)
from odtc.workflow.first_trees import greedy
from odtc.workflow.manifest import describe_data
from odtc.workflow.posing import POSED, pose_run
from odtc.workflow.provenance.searched_again import SECONDS, least_objective
from odtc.workflow.specification import ModelSpec, RunSpec

MAYBE = (NUMBER, None)
SHAPE = {
    "data": TEXT,
    "depth": WHOLE,
    "vary": TEXT,
    "constraints": [TEXT],
    "source?": {"path": TEXT, "sha256": TEXT},
    "model?": POSED,
    "points": [
        {
            "constraint": TEXT,
            "requested": NUMBER,
            "ended": TEXT,
            "searched": FLAG,
            "tree": ANY,
            **dict.fromkeys(("reached", "objective", "bound", "price"), MAYBE),
        }
    ],
}
MET = "a tree of a repeated search"
OF_DATA = ("path", "name")  # fields in which a copy of the data file may differ


@value_class
class RecheckedFrontier:
    """Result of verifying a frontier.

    Attributes
    ----------
    vary : str
    checks : tuple of Check
    claimed : tuple of str
        The numbers, each as its constraint, whose bound was not recomputed.
    note : str
        A sentence on these numbers; "" without any.
    """

    vary: str
    checks: tuple[Check, ...]
    claimed: tuple[str, ...] = ()
    note: str = ""


def read_frontier(path: str | Path) -> dict:
    """Read the JSON object of a STEM.frontier.json; raises TreeError for an incomplete one."""
    advice = f"make it again with {command('frontier')}"
    facts = read_if_of(path, SCHEMA, SUFFIX, "frontier", advice, TreeError)
    if facts is None:
        raise TreeError(f"expected the points of a frontier in {str(path)!r}, found none")
    try:
        validate(facts, SHAPE)
    except SchemaError as problem:
        raise TreeError(f"the frontier {str(path)!r} is damaged: {problem}; {advice}") from None
    return facts


def recheck_frontier(
    path: Path, data: Path | None = None, seconds: float | None = None, beside: Dataset | None = None
) -> RecheckedFrontier:
    """Check that a STEM.frontier.json belongs to its data file, and that its claims are true.

    Parameters
    ----------
    path : Path
    data : Path or None
        The data file, if it is no longer where the frontier says.
    seconds : float or None
        Limit of the search that derives the bounds again; None for the default of such a search, 0 for no search.
    beside : Dataset or None
        The data of the run with the same stem, to which the frontier must belong, too.

    Returns
    -------
    RecheckedFrontier

    Raises
    ------
    TreeError
        If the file is incomplete, or its data is missing.
    KeyboardInterrupt
        If it is interrupted.
    """
    facts = read_frontier(path)
    if told := _of_other_data(facts, path, beside):
        return RecheckedFrontier(facts["vary"], (Check("frontier", False, told),))
    dataset = _data(facts, path, data)
    texts, problem, rising = _posed(facts, path, dataset)
    given = tightening(rising, rising[0].op)
    stated, wrong = facts["points"], _wrong_head(facts, path, problem)
    if not wrong and [one["constraint"] for one in stated] != [str(one) for one in given]:
        wrong = f"its points are not the points of {facts['vary']!r}, the loosest first"
    if wrong:
        return RecheckedFrontier(facts["vary"], (Check("frontier", False, f"{path.name}: {wrong}"),))
    encoded = problem.encoded
    checks = [
        Check(
            "frontier",
            True,
            f"{path.name}: {count_of(len(given), 'number', '')}, trees of depth {problem.topology.depth} over the "
            f"{count_of(encoded.n_candidate_splits, 'split')} of {encoded.scheme} on "
            f"{count_of(int(encoded.copies.sum()), 'row')} of {dataset.name}",
        )
    ]
    phases.begin("counting the trees of a frontier again")
    points, wrong = _points(problem, given, stated)
    held = "each satisfies its number and the other constraints, and has the counts and the cost that are stated"
    checks.append(Check("trees", not wrong, f"{path.name}: {wrong or held}"))
    if wrong:
        return RecheckedFrontier(facts["vary"], tuple(checks))
    again = _searched_again(problem, texts, SECONDS if seconds is None else seconds)
    wrong = _contradicted(problem, points, [*greedy(problem), *_trees(points, "the tree of {}"), *_trees(again, MET)])
    held = "no known tree contradicts the bounds, or the claim that no tree exists"
    checks.append(Check("bounds", not wrong, f"{path.name}: {wrong or held}"))
    open_points = () if wrong else _not_derived(problem, points, again)
    return RecheckedFrontier(facts["vary"], tuple(checks), open_points, _note(path, open_points))


def _of_other_data(facts: dict, path: Path, dataset: Dataset | None) -> str:
    """Report that a frontier was made from another data file than the data set; "" if nothing shows this."""
    hashes = facts.get("source", {}).get("sha256"), None if dataset is None else dataset.source.get("sha256")
    if None in hashes or hashes[0] == hashes[1]:
        return ""
    return (
        f"{path.name} was made from a data file with the SHA-256 {hashes[0][:12]}…, and this run from "
        f"one with {hashes[1][:12]}…"
    )


def _note(path: Path, numbers: Sequence[str]) -> str:
    if not numbers:
        return ""
    return (
        f"{path.name}: that no tree costs less, or that there is none, is stated by the run, and was not recomputed "
        f"for {some(numbers)} ({option('time_limit')} searches longer)"
    )


def _data(facts: dict, path: Path, data: Path | None) -> Dataset:
    """Read the data file of a frontier in the same way as the run did; raises TreeError."""
    source = facts.get("source")
    if source is None or "model" not in facts:
        raise TreeError(
            f"cannot verify {str(path)!r}: it names no data file by its SHA-256, as one of data in memory or of an "
            f"earlier odtc; make it again from a data file with {command('frontier')}"
        )
    where = recorded_data(path, source["path"], data)
    if why := unlike_recorded(where, source["sha256"], "the frontier"):
        raise TreeError(f"cannot verify {str(path)!r}: {why}")
    try:
        return read_as(where, ReadingSpec.from_manifest(source))
    except (DataError, ChoiceError, KeyError, TypeError, ValueError) as problem:
        raise TreeError(f"cannot verify {str(path)!r}: its data cannot be read as it says: {problem}") from None


def _posed(facts: dict, path: Path, dataset: Dataset) -> tuple[list[str], Problem, list[Constraint]]:
    """Return (the texts of the numbers, the problem without them, their constraints); raises TreeError."""
    try:
        texts, model = varied(facts["vary"]), ModelSpec(**facts["model"])
        if model.model not in FORMULATIONS.able(SearchesItself):
            raise ChoiceError(f"{model.model} searches no frontier")
        problem = pose_run(RunSpec(model=model, fitting=True), dataset, later=texts[:1])
        return texts, problem, rising_constraints(problem, texts)
    except (DataError, ChoiceError, TypeError, ValueError) as other:
        raise TreeError(f"cannot verify {str(path)!r}: its problem cannot be built again: {other}") from None


def _wrong_head(facts: dict, path: Path, problem: Problem) -> str:
    """Return the first false statement of a frontier about its data or its trees, in words; "" for none."""
    encoded = problem.encoded
    there = describe_data(encoded, path.resolve().parent)
    if other := [key for key in {**there, **facts["source"]} if there.get(key) != facts["source"].get(key)]:
        if other := [key for key in other if key not in OF_DATA]:
            return f"of its data it states another {some(other)} than the data file has"
    here = {
        "depth": problem.topology.depth,
        "constraints": [str(given) for given in problem.constraints],
        "data": facts["source"].get("name"),
    }
    if other := [key for key, value in here.items() if facts[key] != value]:
        return f"its {some(other)} differs from its data"
    return ""


def _points(problem: Problem, given: list[Constraint], stated: list[dict]) -> tuple[list[Point], str]:
    """Return (the points, the loosest first, with their trees evaluated again; a text on the first false statement in
    them)."""
    encoded, points = problem.encoded, []
    for one, told in zip(given, stated):
        heap, paid = None, None
        if told["tree"] is not None:
            try:
                tree = Tree.from_json(told["tree"])
                heap = HeapTree.from_tree(tree, encoded, problem.topology, True, True)
            except TreeError as other:
                return [], f"the tree of {one} is none of this frontier: {other}"
            if against := broken(problem, heap):
                return [], f"the tree of {one} does not satisfy {against[0][0]}"
            value = one.module.value(encoded, one, heap)
            if not one.holds(value):
                return [], f"the tree of {one} has {one.shown(value)} of it"
            if heap.to_tree(encoded).to_json()["root"] != tree.to_json()["root"]:
                return [], f"the tree of {one} has counts that differ from the data"
            paid = problem.module.objective(problem, heap)
        points.append(Point(one, heap, paid, told["bound"], told["searched"]))
    for one, told, here in zip(given, stated, frontier_facts(problem, tightening(points, given[0].op))):
        for key, value in here.items():
            if not _same(problem, value, told[key]):
                return [], f"of {one} it states the {key} {_shown(told[key])}, and it is {_shown(value)}"
    for loose, tight in zip(points, points[1:]):
        if tight.heap is not None and loose.heap is None:
            return [], f"it has no tree for {loose.constraint}, although the tree of {tight.constraint} satisfies it"
        if tight.heap is not None and is_below(problem, tight.objective, loose.objective):
            return (
                [],
                f"the tree of {tight.constraint} costs less than the tree of {loose.constraint}, and satisfies it",
            )
    return points, ""


def _same(problem: Problem, here, told) -> bool:
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (here, told))
    return same_objective(problem, here, told) if numbers else here == told


def _shown(value) -> str:
    return "none" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _searched_again(problem: Problem, texts: list[str], seconds: float) -> list[Point]:
    """Return the points of a short search, the loosest first; an empty list without a result. Raises
    KeyboardInterrupt."""
    if not seconds > 0:
        return []
    phases.begin("searching again")
    interrupted: list[str] = []
    try:
        with deadline.within(None):
            found = loosest_first(frontier(problem, texts, seconds, interrupted.append))
            if interrupted or deadline.is_interrupted():
                raise KeyboardInterrupt
    except (ChoiceError, TimeLimitReached):
        return []
    return found


def _trees(points: list[Point], name: str) -> list[tuple[str, HeapTree]]:
    return [(name.format(point.constraint), point.heap) for point in points if point.heap is not None]


def _contradicted(problem: Problem, points: list[Point], trees: list[tuple[str, HeapTree]]) -> str:
    """Return the first bound or claim of infeasibility that a tree contradicts, in words; "" for none."""
    least = problem.module.least_rows(problem)
    for name, heap in trees:
        if broken(problem, heap) or heap.fewest_rows(problem.encoded) < least:
            continue
        paid, of_one = problem.module.objective(problem, heap), points[0].constraint
        value = of_one.module.value(problem.encoded, of_one, heap)  # the same of each number
        for point in points:
            if not point.constraint.holds(value):
                continue
            if point.bound is None:
                return f"it states that no tree satisfies {point.constraint}, and {name} does"
            if is_below(problem, paid, point.bound):
                return (
                    f"it states that no tree that satisfies {point.constraint} costs less than {point.bound:.10g}, and "
                    f"{name} costs {paid:.10g}"
                )
    return ""


def _not_derived(problem: Problem, points: list[Point], again: list[Point]) -> tuple[str, ...]:
    """Return the numbers whose bound neither equivalent points nor a repeated search reaches."""
    floor, found = least_objective(problem), []
    for place, point in enumerate(points):
        own = again[place].bound if again else floor
        if own is None:  # no tree satisfies it: whatever is stated of one is seen to be false before
            continue
        if point.bound is None or is_below(problem, max(own, floor), point.bound):
            found.append(str(point.constraint))
    return tuple(found)
