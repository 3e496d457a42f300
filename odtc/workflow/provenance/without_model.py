"""Record of a run without a model: STEM.run.json, and the run computed again from its tree and its data.

`odtc fit` without a solver writes a tree and no model, so its claims are only in its record. It names the tree and the
data file by their SHA-256; the tree is read and counted again on the rows, and only the bound, the end and the seconds
are claimed by the run.
"""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from odtc.base.commit import expect_settled
from odtc.base.json_schema import TEXT, SchemaError, read_object, schema_of, validate
from odtc.base.spec_fields import fields_by_name
from odtc.base.value_class import value_class
from odtc.data.cells.data_files import recorded_data
from odtc.data.codebook import codebook_of, with_labels
from odtc.data.reading import fingerprint, read_as, unlike_recorded
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import OdtcError, TreeError
from odtc.model.feasibility import Check, is_close
from odtc.problem.constraints.constraint import broken
from odtc.problem.exact_objective import costs_no_more
from odtc.problem.formulation import Learner
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.simplifying import simplify_tree
from odtc.trees.tree import Tree, read_tree
from odtc.verification.known_trees import against_known
from odtc.workflow.decoding import without_model
from odtc.workflow.first_trees import greedy, quickly_searched
from odtc.workflow.posing import POSED, pose_run
from odtc.workflow.provenance.rechecking import check_record
from odtc.workflow.provenance.searched_again import SearchedAgain, search_again, tree_size
from odtc.workflow.results.fit import Fit
from odtc.workflow.run_record import SCHEMA, solution_of
from odtc.workflow.run_record import SHAPE as RECORD
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec

SAME = 1e-13  # relative difference of figures that the same code has counted: only sums may be in another order
FIT = {
    "tree": {"file": TEXT, "sha256": TEXT},
    "data": {"name": TEXT, "path": TEXT, "sha256": TEXT},
    "reading": schema_of(ReadingSpec),
    "model": POSED,
    "certified": (True, False, None),
    "fewest_leaves?": (True, False, None),
    "fewest_columns?": (True, False, None),
    "repeats?": (True, False),
}


@value_class
class OpenedFit:
    """A run read back: its figures computed again, its specification, its data file. `note` is the reason why the data
    was not read, or why `fit` is None."""

    fit: Fit | None = None
    spec: RunSpec = RunSpec()
    data_path: str = ""  # from the current folder
    note: str = ""
    repeats: bool = True  # whether `odtc fit` with this specification makes the tree again
    selected: bool = False  # whether it was trained on some of the rows of its data file
    again: SearchedAgain | None = None  # figures that a search of some seconds derives again, if one was requested


def open_record(stem: str, tree_path: Path, data=None, seconds: float | None = 0.0) -> OpenedFit:
    """Read the run of STEM.run.json, if it is one without a model and `tree_path` is its tree.

    Parameters
    ----------
    stem : str
    tree_path : Path
        The tree as a file.
    data : path or None
        The data file, if it is no longer where the record says.
    seconds : float or None
        For a search that derives its figures again (odtc.workflow.provenance.searched_again); by default there is none.

    Returns
    -------
    OpenedFit
    """
    path = Path(f"{stem}.run.json")
    expect_settled(path)
    if not path.is_file():
        return OpenedFit()
    try:
        facts = read_object(path, "record of a run", TreeError, named=False)
        if "fit" not in facts:
            return OpenedFit()
        validate(facts, RECORD | {"fit": FIT})
        if facts["schema"] != SCHEMA:
            return OpenedFit(note=f"{path.name} has the schema {facts['schema']!r}, expected {SCHEMA!r}")
        told = facts["fit"]
        if told["tree"]["sha256"] != fingerprint(tree_path):
            return OpenedFit(note=f"{path.name} is the record of another tree than {tree_path.name}")
        where = recorded_data(path, told["data"]["path"], data)
        if why := unlike_recorded(where, told["data"]["sha256"], "the run"):
            return OpenedFit(note=f"nothing is counted again: {why}")
        spec = _spec(facts)
        if spec.reading.labels is not None:
            labels = os.path.relpath(path.resolve().parent / spec.reading.labels)
            spec = replace(spec, reading=replace(spec.reading, labels=labels))
        done, again = _again(facts, spec, where, tree_path, seconds)
        repeats, selected = told.get("repeats", True), done.selection is not None
        return OpenedFit(done, spec, os.path.relpath(where), repeats=repeats, selected=selected, again=again)
    except (OdtcError, SchemaError, ValueError, KeyError, TypeError) as problem:
        return OpenedFit(note=f"{path.name} could not be read as the record of this run: {problem}")


def _spec(facts: dict) -> RunSpec:
    told, options = facts["fit"], facts.get("options", {})
    known = {name: options[name] for name in fields_by_name(SolvingSpec) if name in options and name != "solver"}
    return RunSpec(ReadingSpec(**told["reading"]), ModelSpec(**told["model"]), SolvingSpec(**known))


def _again(
    facts: dict, spec: RunSpec, where: Path, tree_path: Path, seconds: float | None
) -> tuple[Fit, SearchedAgain]:
    tree = read_tree(tree_path)
    dataset = with_labels(read_as(where, replace(spec.reading, labels=None)), codebook_of(tree.features))
    problem = pose_run(spec.with_solving(time_limit=None), dataset)
    heap = HeapTree.from_tree(tree, problem.encoded, problem.topology, True, True)
    paid, said = problem.module.objective(problem, heap), facts["objective"]
    done = without_model(problem, heap, replace(solution_of(facts), objective=paid), None)
    same, bound = done.tree.to_json() == tree.to_json(), facts["bound"]
    checks = [
        Check(
            "tree file",
            same,
            f"{tree_path.name} has {'the' if same else 'other'} counts {'of' if same else 'than'} the data",
        ),
        Check(
            "objective",
            is_close(paid, said, SAME, unit=0.0),
            f"the tree costs {paid:.10g}, the run recorded {said:.10g}",
        ),
    ]
    told = {name: facts["fit"].get(name) for name in ("certified", "fewest_leaves", "fewest_columns")}
    again = search_again(problem, heap, seconds if bound is not None else 0.0)
    known = [*_known_trees(problem, tree_path, paid), *again.trees] if bound is not None else []
    if bound is not None:
        contradiction, others = against_known(problem, None, bound, known)
        fits = not contradiction and (bound <= paid or is_close(bound, paid, SAME, unit=0.0))
        checks.append(Check("bound", fits, f"the run recorded {bound:.10g}; this tree costs {paid:.10g}{others}"))
    if told["fewest_leaves"] or told["fewest_columns"]:
        smaller = _smaller(problem, heap, known, bool(told["fewest_columns"]))
        checks.append(Check("smallest", smaller is None, smaller or "no known tree with this objective is smaller"))
    done = replace(done, **told)
    # The cost of the tree is compared above.
    checks.append(check_record(facts, said, again.derived(done), done.proof.bound))
    return replace(done, decoded=replace(done.decoded, checks=[*done.decoded.checks, *checks])), again


def _known_trees(problem: Problem, tree_path: Path, paid: float) -> list[tuple[str, HeapTree]]:
    """Return other known trees than the tree of a run, by name: CART's, the result of a short search if it costs less
    than `paid`, and the tree of the certificate of the same stem."""
    found = [] if problem.module.can(Learner) else [*greedy(problem), *quickly_searched(problem, paid)]
    path = Path(str(tree_path).removesuffix(".tree.json") + ".certificate.json")
    with contextlib.suppress(OdtcError, SchemaError, KeyError, TypeError, ValueError):
        tree = Tree.from_json(read_object(path, "certificate", TreeError, named=False)["tree"])
        found.append((path.name, HeapTree.from_tree(tree, problem.encoded, problem.topology)))
    return found


def _smaller(problem: Problem, heap: HeapTree, known, columns: bool) -> str | None:
    """Return the first known tree that costs no more than this one and has fewer leaves, or with as many leaves fewer
    `columns`, in words; None if there is none."""
    own = simplify_tree(heap.to_tree(problem.encoded))
    with contextlib.suppress(TreeError):
        known = [
            ("this tree without needless splits", HeapTree.from_tree(own, problem.encoded, problem.topology)),
            *known,
        ]
    size = tree_size(problem, heap)
    for name, other in known:
        less = tree_size(problem, other)
        if less[: 1 + columns] < size[: 1 + columns] and not broken(problem, other):
            if costs_no_more(problem, other, heap):
                costs = problem.module.objective(problem, other)
                told = f"{name} costs {costs:.10g}, leaves {less[0]}, columns {less[1]}"
                return f"{told}; this tree has {size[0]} and {size[1]}"
    return None
