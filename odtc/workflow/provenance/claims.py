"""Check that the claims of a solution file are about the model that was built.

A solution names the model and the content of the model file that was solved. If it names none, another program wrote
it, and it is unknown which file that program read; if it names another content, the file was edited, or written again
by another program.
"""

import hashlib
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from odtc.base.atomic_write import stem_of
from odtc.base.commit import MODELS
from odtc.base.compression import unpacked
from odtc.errors import ModelError, OdtcError, SolutionError
from odtc.fileformats.model_files import names_in_file, read_model
from odtc.fileformats.solution_files import RawPoint
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model
from odtc.model.name_spans import Words
from odtc.model.points import align, name_list
from odtc.model.solution import Solution, Termination
from odtc.workflow.manifest import SUFFIX, Manifest
from odtc.workflow.provenance.in_memory import is_same, of_edited, unproved


def settled_claim(manifest: Manifest, model: Model, solution: Solution, path: Path) -> tuple[Model, Solution]:
    """Return the model, with the edited one if that was solved, and the solution with the claim that it can make.

    Parameters
    ----------
    manifest : Manifest
    model : Model
        The model that the manifest describes, built again.
    solution : Solution
        As its file states it; `model` and `content` are the names in the file, "" if it has none.
    path : Path
        The solution file; the model file is expected next to it.
    """
    if not solution.has_solution:
        return model, solution
    if not solution.model or not manifest.identity:
        told = "its model" if manifest.identity else "its model, and neither does the manifest"
        why = f"the file does not name {told}, so its claim{_claimed(solution)} does not count as a proof"
        how = f"`odtc verify {path} --confirm SOLVER` has it solved again"
        return model, unproved(solution, f"{why}; `odtc solve` on the model file writes one that does, and {how}")
    if model.rowless:
        return model, unproved(solution, f"{model.recorded}, so nothing is proved")
    if solution.content in ("", manifest.content):
        return model, solution
    solved = file_of(manifest, solution.content, path)
    if solved is None:
        why = "the model file that was solved is not the one that was built, and it is not at hand"
        return model, unproved(solution, f"{why}, so nothing is proved")
    edited = "the model file was edited since it was built, so nothing is proved"
    try:
        solved = under_columns(manifest, model, solved)
    except OdtcError as problem:
        return model, unproved(solution, f"{edited}: {problem}")
    if solved is None:  # the same model in other words
        return model, solution
    if not np.array_equal(solved.c[: model.n_cols], model.c) or solved.offset != model.offset:
        return model, unproved(solution, f"the objective in {edited}")
    absent = np.zeros(solved.n_cols - len(solution.x))  # values of the columns behind those of the model: 0
    return replace(model, edited=solved), of_edited(model, solved, replace(solution, x=np.append(solution.x, absent)))


def point_of(manifest: Manifest, model: Model, raw: RawPoint, content: str, path: Path) -> np.ndarray | None:
    """Return the point of a solution file; with the additional columns of its user if a model file with them is
    available.

    Parameters
    ----------
    manifest : Manifest
    model : Model
        The model that the manifest describes, built again.
    raw : RawPoint
        The content of the file.
    content : str
        The content of the model file that was solved, "" if it is not known.
    path : Path
        The solution file.

    Raises
    ------
    SolutionError
        If the file has other columns.
    """
    try:
        return manifest.point(raw)
    except SolutionError:
        solved = file_of(manifest, content, path) if content else None
        if solved is None or raw.names is None or solved.n_cols <= model.n_cols:
            raise
        longer = under_columns(manifest, model, solved)
        if longer is None or (raw.n_columns is not None and raw.n_columns != longer.n_cols):
            raise
        names = names_in_file(longer, set(name_list(solved.columns)).__contains__)
        return align([NamedBlock(tuple(names))], raw.names, raw.values)


def _claimed(solution: Solution) -> str:
    """Return the claims of a solution, in brackets; "" if it claims nothing."""
    claims = ["optimal"] if solution.termination == Termination.OPTIMAL else []
    claims += [f"bound {solution.bound:.10g}"] if solution.bound is not None else []
    return f" ({', '.join(claims)})" if claims else ""


def model_file(manifest: Manifest, content: str, path) -> tuple[Path, bytes] | None:
    """Find the model file of this content next to a solution or its manifest, and its bytes, unpacked; None if none is
    there.

    Parameters
    ----------
    manifest : Manifest
    content : str
        The SHA-256 of its bytes.
    path : path
        The solution file.
    """
    stems = dict.fromkeys([stem_of(path), str(manifest.path).removesuffix(SUFFIX)])
    for place in (Path(stem + ending) for stem in stems for ending in MODELS):
        try:
            data = unpacked(place.read_bytes()) if place.is_file() else b""
        except (OSError, EOFError, zlib.error, OdtcError):  # one that is damaged has another content
            continue
        if data and hashlib.sha256(data).hexdigest() == content:
            return place, data
    return None


def file_of(manifest: Manifest, content: str, path: Path) -> Model | None:
    """Return the model file of this content next to the solution or the manifest; None if there is none."""
    found = model_file(manifest, content, path)
    try:
        return None if found is None else read_model(found[0])
    except ModelError:
        return None


def under_columns(manifest: Manifest, model: Model, other: Model) -> Model | None:
    """Return another model under the columns of this one, in their order; None if it is the same model.

    Columns that this one does not have come last. Raises SolutionError if it lacks some.
    """
    names, columns = name_list(other.columns), model.columns
    if other.n_cols > model.n_cols:
        known = {name: at for at, name in enumerate(names)}
        wanted = names_in_file(model, known.__contains__)
        if any(name not in known for name in wanted):
            # Of the possible names of columns in a file, those that fit most columns.
            lacking = min(
                ([name for name in of if name not in known] for of in (name_list(model.columns), wanted)), key=len
            )
            raise SolutionError(f"it lacks columns of the model, {lacking[0]!r} is the first")
        rest = sorted(set(known) - set(wanted), key=known.get)
        place = np.array([known[name] for name in (*wanted, *rest)])
        columns = (*columns, NamedBlock(tuple(rest), model.n_cols, "own columns"))
    else:
        raw = RawPoint("", Words.of(names), np.arange(other.n_cols, dtype=float), n_columns=other.n_cols)
        place = manifest.point(raw).astype(int)
    moved = replace(
        other,
        c=other.c[place],
        col_lower=other.col_lower[place],
        col_upper=other.col_upper[place],
        integrality=other.integrality[place],
        columns=columns,
        matrix=other.A.tocsc()[:, place],
        terms=(),
    )
    return None if is_same(moved, model) else moved
