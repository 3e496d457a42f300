"""Additional checks of `odtc verify` for a decoded solution: the encoding recomputed, the model file number by
number, the run record, and other solvers."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from odtc.base import deadline, phases
from odtc.base.text import count_of
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError, ModelError, OdtcError, TimeLimitReached, TreeError
from odtc.fileformats.model_files import names_in_file, read_model
from odtc.model.feasibility import TOLERANCE, Check, is_close
from odtc.model.milp import Model
from odtc.model.solution import NO_POINT, Solution, Termination, gap
from odtc.problem.constraints.constraint import complete
from odtc.problem.cuts.cut import arrange_tree
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.verification.against_file import check_against_file
from odtc.verification.encoding_again import check_encoding
from odtc.verification.file_as_written import Written, read_written
from odtc.workflow.manifest import Manifest
from odtc.workflow.provenance.claims import model_file, under_columns
from odtc.workflow.provenance.searched_again import SECONDS
from odtc.workflow.results.fit import Fit, tree_cost
from odtc.workflow.row_selection.selection import rounds_of, select_rows, undecided_text
from odtc.workflow.run_record import record_of
from odtc.workflow.solving import solve

ADDED = 5e-13  # relative: rounding of c·x, and of c, whose sums a manifest contains as doubles
LOGGED = 1e-4  # relative: rounding by the digits of a log


def recheck(
    done: Fit,
    dataset: Dataset | None,
    manifest: Manifest,
    path: Path,
    solution: Solution,
    solvers: tuple[str, ...] = (),
    time_limit: float | None = None,
    derived: Sequence[str] = (),
) -> tuple[Fit, str]:
    """Return (the run with more checks, a remark on missing checks and their reasons).

    Parameters
    ----------
    done : Fit
    dataset : Dataset or None
        The data file, read again, if it is available.
    manifest : Manifest
    path : path
        The solution file.
    solution : Solution
        As its file and its record state it.
    solvers : tuple of str
        Solvers that solve the model file again; `time_limit` seconds each.
    derived : sequence of str
        Figures of the record that were recomputed.

    Raises
    ------
    ChoiceError, SolverError
        If a solver is unknown or not installed.
    """
    checks, model = [], done.model
    if dataset is not None:
        phases.begin("deriving the encoding again")
        checks += [_check_encoding(model.problem, dataset), _check_rows(manifest, dataset)]
    found = model_file(manifest, solution.content or manifest.content, path)
    told, remark = [], ""
    if found is not None:
        phases.begin("checking the model file")
        told, remark = file_checks(model, solution, done.decoded.point_heap or done.decoded.heap, found)
        checks += same_model(manifest, model, solution, found[0])
    elif manifest.content:
        remark = "no model file of the content that was solved is there: rows are checked as the manifest builds them"
    if dataset is not None and dataset.selected is not None:
        phases.begin("selecting rows again")
        remark = "; ".join(filter(None, [remark, _selected_again(model.problem, dataset, time_limit)]))
    checks += told
    of_edited = solution.scope_objective  # of an edited model, whose columns have costs of their own
    paid = tree_cost(model.problem, done.decoded.heap)
    record = record_of(path)
    if record is not None:
        # The numbers that trees of an edited model can cost are not known.
        rounded = done.proof.bound if model.edited is None else math.inf
        stated = solution.objective if of_edited is None else of_edited
        checks.append(check_record(record, stated, derived, rounded))
    if solvers and paid is not None:
        checks += confirm(model, solution, paid if of_edited is None else of_edited, solvers, found, time_limit)
    return replace(done, decoded=replace(done.decoded, checks=[*done.decoded.checks, *checks])), remark


def _check_encoding(problem: Problem, dataset: Dataset) -> Check:
    """Check the encoding by deriving it again; rows that may be moved are distinguished by their cells, as in the
    model."""

    def by_cells(again: Encoded) -> Encoded:
        return problem.module.prepared(replace(problem, encoded=replace(again, cost=problem.encoded.cost))).encoded

    if (boxes := problem.module.boxes(problem)) is None:
        return check_encoding(problem.encoded, dataset, radius=())
    return check_encoding(problem.encoded, dataset, by_cells, boxes.radius)


def _selected_again(problem: Problem, dataset: Dataset, seconds: float | None) -> str:
    """Report the part of a selection that is only claimed by the run; "" if the same rows are selected again in some
    seconds."""
    chosen = dataset.selected
    word = f"which {dataset.n_rows:,} of the {count_of(chosen.whole.n_rows, 'row')} were selected is stated by the run"
    scheme = chosen.facts["scheme"]
    try:
        if rounds_of(scheme) > 1:
            return f"{word}: {scheme} selects in rounds, which are not made again"
        if undecided_text(chosen.facts):
            return f"{word}: {undecided_text(chosen.facts)}, so that it cannot be repeated"
        with deadline.within(SECONDS if seconds is None else seconds):
            again = select_rows(chosen.whole, scheme, problem.topology.depth)
        if undecided_text(again.selected.facts):
            raise TimeLimitReached(undecided_text(again.selected.facts))
    except (ChoiceError, TimeLimitReached):
        return f"{word}, not recomputed ({option('time_limit')} allows longer)"
    same = np.array_equal(again.selected.rows, chosen.rows) and np.array_equal(again.weight, dataset.weight)
    return "" if same else f"{word}: {scheme} selects others here"


def _check_rows(manifest: Manifest, dataset: Dataset) -> Check:
    """Check "rows read": the numbers of rows and of rows left out equal those in the manifest."""
    stated = manifest.facts["data"]["n_rows"], manifest.facts["data"]["n_rows_dropped"]
    found = dataset.n_file_rows, dataset.n_dropped
    words, told = (f"{count_of(rows, 'row')}, {left_out:,} left out" for rows, left_out in (found, stated))
    return Check("rows read", stated == found, f"{words}; the manifest says {'the same' if stated == found else told}")


def check_record(
    facts: dict, objective: float | None, derived: Sequence[str] = (), rounded: float | None = None
) -> Check:
    """Check "run record": figures that follow from others are computed again, and no figure contradicts another.

    Parameters
    ----------
    facts : dict
        The record of a solution file, as its JSON.
    objective : float or None
        The cost of the point of that file.
    derived : sequence of str
        Its figures that were recomputed (odtc.workflow.provenance.searched_again).
    rounded : float or None
        Its bound, raised to the next number that a tree can cost.
    """
    wrong, bound = [], facts["bound"]
    stated, apart = facts["objective"], f"its objective is {facts['objective']!r}, the point costs {objective!r}"
    if None not in (stated, objective) and not is_close(stated, objective, ADDED, unit=0.0):
        wrong.append(apart)
    if facts["termination"] in NO_POINT:
        wrong.append(f"it ended as {facts['termination']}, and there is a point")
    stated, again = facts.get("gap"), gap(facts["objective"], bound)
    allowed, open_end = max(facts.get("options", {}).get("gap", 0.0), LOGGED), ""
    if facts["termination"] == Termination.OPTIMAL and None not in (objective, bound) and not facts.get("scope"):
        # Solvers stop at a bound from which nothing else costs less.
        least = bound if rounded is None else max(bound, rounded)
        if least < objective and (gap(objective, least) or 0.0) > allowed * (1 + LOGGED):
            open_end = f"it calls a cost of {objective:.10g} optimal, but its bound is {bound:.10g}"
    if open_end and "fit" in facts:  # a solver may end so, by a gap of its own; the search of odtc does not
        wrong.append(open_end)
    if (stated is None) != (again is None) or (stated != again and not is_close(stated, again, 1e-9)):
        wrong.append(f"its gap is {stated}, its objective and bound have {again}")
    for name in ("nodes", "seconds"):
        if facts[name] is not None and not facts[name] >= 0:
            wrong.append(f"its {name} are {facts[name]}")
    before = 0.0
    for seconds, _, lower in facts["history"]:
        if seconds is None or seconds < before:
            wrong.append("the times of its history do not rise")
            break
        before = seconds
        # Logs print some digits only.
        if None not in (lower, objective) and lower > objective and not is_close(lower, objective, LOGGED):
            wrong.append(f"its history has the bound {lower:.10g}, the point costs {objective:.10g}")
            break
    solver = facts["solver"] or "the solver"
    words, whose = "objective and gap are computed again", ""
    if "bound" in derived:
        words = "objective, bound and gap are recomputed"
    elif bound is not None:
        whose = f", and so is the bound, which no check contradicts{'; ' * bool(open_end)}{open_end}"
    return Check(
        "run record", not wrong, "; ".join(wrong) or f"{words}; nodes and seconds are as {solver} reported them{whose}"
    )


def file_checks(model: Model, solution: Solution, heap: HeapTree, found: tuple[Path, bytes]) -> tuple[list[Check], str]:
    """Return (checks of the tree and of the solver's point against the model file, why there are none).

    The tree's own point is exact; the solver's may deviate within the tolerance of solvers. If the file was edited,
    only the solver's point has to satisfy its constraints.
    """
    place, data = found
    try:
        written = read_written(data)
    except ModelError as problem:
        return [], f"{place.name} is not checked number by number: {problem}"
    names = _names(model, written)
    checks = []
    if model.edited is None:
        try:
            kept = arrange_tree(model.problem, model, heap)
            point, counted = complete(model.problem, model, kept), model.problem.module.objective(model.problem, kept)
        except TreeError as refused:
            return [Check("file rows", False, f"the tree is not a point of the model: {refused}")], ""
        checks = check_against_file(written, names, point, counted)
    if solution.x is not None:
        checks.append(_point_check(written, names, solution.x))
    return checks, ""


def same_model(manifest: Manifest, model: Model, solution: Solution, place: Path) -> list[Check]:
    """Check "model file" for a file whose content the manifest names: it states the model that the manifest describes,
    number by number. Other files are compared when the solution is opened (claims), so they are not checked here, and
    neither is a model that cannot be built again.

    Parameters
    ----------
    manifest : Manifest
    model : Model
        As the manifest describes it.
    solution : Solution
    place : Path
        The model file.
    """
    if solution.content not in ("", manifest.content) or model.edited is not None or model.recorded:
        return []
    try:
        same = under_columns(manifest, model, read_model(place)) is None
        text = f"{place.name} states {'the model' if same else 'another model than that'} that the manifest describes"
    except OdtcError as problem:
        same, text = False, f"{place.name} is not the model that the manifest describes: {problem}"
    return [Check("model file", same, text)]


def _point_check(written: Written, names: Sequence[bytes], x: np.ndarray) -> Check:
    """Check a solver's point, within the tolerance of solvers."""
    if not np.isfinite(x).all():
        return Check("file and point", False, "the solver's point has values that are not finite")
    checks = check_against_file(written, names, x, None, Fraction(TOLERANCE))
    wrong = [check for check in checks if not check.passed]
    told = "; ".join(f"{check.name.removeprefix('file ')} {check.text}" for check in wrong or checks)
    return Check("file and point", not wrong, f"the solver's point, tolerance {TOLERANCE:g}: {told}")


def _names(model: Model, written: Written) -> list[bytes]:
    """Return the names of the columns of the model in the file."""
    names = names_in_file(model.edited or model, lambda name: name.encode() in written.columns)
    return [name.encode() for name in names]


def confirm(
    model: Model,
    solution: Solution,
    paid: float,
    solvers: Sequence[str],
    found: tuple[Path, bytes] | None,
    time_limit: float | None,
) -> list[Check]:
    """Return one check for each solver that solves the model again: "confirm NAME", failed if it contradicts the tree
    or the bound.

    Parameters
    ----------
    model : Model
        Solved again if the file is not available.
    solution : Solution
        With the bound that is claimed, None for none.
    paid : float
        The cost of the tree.
    solvers : sequence of str
    found : (path, bytes) or None
        The model file.
    time_limit : float or None
        Seconds for each solver.

    Raises
    ------
    ChoiceError, SolverError
        If a solver is unknown or not installed.
    """
    if found is not None:
        asked, of = read_model(found[0]), found[0].name
    else:
        asked, of = replace(model, problem=None), "the model that was built, whose file is not there"
    solving = phases.over(solvers, f"having {', '.join(solvers)} solve the model")
    checks = [_confirmed(solution, paid, name, solve(asked, name, time_limit=time_limit)) for name in solving]
    return [replace(check, text=f"{of}: {check.text}") for check in checks]


def _confirmed(solution: Solution, paid: float, name: str, said: Solution) -> Check:
    who = said.solver or name
    optimal = said.termination == Termination.OPTIMAL
    bound = said.bound if said.bound is not None else said.objective if optimal else None
    told = [
        f"{what} {value:.10g}" for what, value in (("objective", said.objective), ("bound", bound)) if value is not None
    ]
    words = f"{who} ended as {str(said.termination).replace('_', ' ')} with {', '.join(told) or 'nothing'}"
    wrong = []
    if said.termination == Termination.ERROR:
        wrong.append(f"so it confirms nothing{': ' * bool(said.message)}{said.message}")
    if said.termination in NO_POINT:
        wrong.append("but the tree is a point of the model")
    if bound is not None and bound > paid and not is_close(bound, paid):
        wrong.append(f"but the tree costs {paid:.10g}")
    claimed = solution.bound
    if None not in (claimed, said.objective) and said.objective < claimed and not is_close(said.objective, claimed):
        wrong.append(f"but no tree below {claimed:.10g} is claimed")
    if wrong:
        return Check(f"confirm {name}", False, f"{words}, {' and '.join(wrong)}")
    if optimal and claimed is not None and is_close(claimed, paid):
        return Check(f"confirm {name}", True, f"{words}: it agrees that the tree is optimal")
    if optimal and said.objective is not None and said.objective < paid and not is_close(said.objective, paid):
        more = f"the tree costs {paid:.10g}, so it is not the best, which nothing claimed"
        return Check(f"confirm {name}", True, f"{words}: {more}")
    return Check(f"confirm {name}", True, f"{words}: nothing in that contradicts the tree or its bound")
