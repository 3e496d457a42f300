"""The model file that was solved, found again and held against the tree: by a second reader, and by other solvers."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from odtc.base import phases
from odtc.errors import ModelError, OdtcError, TreeError
from odtc.fileformats.model_files import names_in_file, read_model
from odtc.model.feasibility import TOLERANCE, Check, is_close
from odtc.model.milp import Model
from odtc.model.solution import NO_POINT, Solution, Termination
from odtc.problem.constraints.constraint import complete
from odtc.problem.cuts.cut import arrange_tree
from odtc.trees.heap_tree import HeapTree
from odtc.verification.against_file import check_against_file
from odtc.verification.file_as_written import Written, read_written
from odtc.workflow.manifest import Manifest
from odtc.workflow.provenance.claims import under_columns
from odtc.workflow.solving import solve


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
