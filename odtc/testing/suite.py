"""The component types of plug-ins, and the laws of each."""

import importlib
from pathlib import Path

from odtc.base.plug_ins import name_files
from odtc.base.registry import Registry, did_you_mean
from odtc.data.encoding import ENCODINGS
from odtc.data.file_text.data_files import READERS
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.fileformats.model_files import FORMATS
from odtc.fileformats.solution_files import POINTS
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts.cut import CUTS
from odtc.problem.formulation import FORMULATIONS
from odtc.solvers.protocols import SOLVERS
from odtc.testing.law import Case, Law, cases_of
from odtc.trees.exporting import EXPORTERS
from odtc.workflow.row_selection.selection import SELECTIONS

# The word of `KIND` -> the registry; its laws are odtc.testing.laws.<word>s.
KINDS: dict[str, Registry] = {
    "formulation": FORMULATIONS,
    "cut": CUTS,
    "constraint": CONSTRAINTS,
    "solver": SOLVERS,
    "exporter": EXPORTERS,
    "reader": READERS,
    "encoding": ENCODINGS,
    "selection": SELECTIONS,
    "heuristic": HEURISTICS,
    "format": FORMATS,
    "point": POINTS,
}


def kinds() -> tuple[str, ...]:
    """Return the component types of plug-ins."""
    return tuple(KINDS)


def laws(kind: str, name: str) -> tuple[Law, ...]:
    """Return the laws for a plug-in.

    Parameters
    ----------
    kind : str
        "formulation", "cut", …: one of `kinds()`.
    name : str
        The registered name.

    Returns
    -------
    tuple of Law

    Raises
    ------
    ChoiceError
        If the kind or the member is unknown, or the member is not complete.
    """
    return _laws_of(kind).laws(member(kind, name))


def cases(
    kind: str, name: str, *, law: str | None = None, templates: Path | None = None, plug_in: Path | None = None
) -> list[Case]:
    """Return each law of a plug-in, in each way in which it is tried.

    Parameters
    ----------
    kind, name : str
        As in `laws`.
    law : str or None
        The name of one law; None: all.
    templates : Path or None
        A folder of templates of your own, in which an exporter may be.
    plug_in : Path or None
        A file or folder of your own plug-ins, which is added to ODTC_PLUGINS from then on.

    Returns
    -------
    list of Case

    Raises
    ------
    ChoiceError
        As in `laws`, or if there is no such law.
    """
    if plug_in is not None:
        name_files([plug_in])
    found = member(kind, name, templates)
    known = _laws_of(kind).laws(found)
    if law is not None:
        names = [one.name for one in known]
        if law not in names:
            raise ChoiceError(f"unknown law {law!r} of a {kind}{did_you_mean(law, names)}; known: {', '.join(names)}")
        known = tuple(one for one in known if one.name == law)
    return list(cases_of(kind, name, found, known))


def kinds_of(name: str, templates: Path | None = None) -> list[str]:
    """Return the component types that have a plug-in of this name; raises ChoiceError if there is none."""
    names = {kind: _names(kind, templates) for kind in KINDS}
    found = [kind for kind in KINDS if name in names[kind]]
    if not found and name in TASKS.names():
        raise ChoiceError(
            f"{name!r} is a task, of which `odtc check` has no laws; hold its trees against every tree of small "
            "tables, as examples/my-task of the repository is"
        )
    if not found:
        known = [member for members in names.values() for member in members]
        raise ChoiceError(f"nothing is called {name!r}{did_you_mean(name, known)}; see `odtc list models` and the like")
    return found


def member(kind: str, name: str, templates: Path | None = None):
    """Return the plug-in of this name, or the object that represents it if it is a template."""
    if kind not in KINDS:
        raise ChoiceError(f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}; known: {', '.join(KINDS)}")
    if kind in TEMPLATED:
        return _laws_of(kind).member(name, templates)
    return _laws_of(kind).member(name) if kind in FOUND_BY_LAWS else KINDS[kind].get(name)


TEMPLATED = ("exporter",)  # whose plug-ins may be templates, which are in no registry
FOUND_BY_LAWS = (*TEMPLATED, "solver")


def _names(kind: str, templates: Path | None) -> tuple[str, ...]:
    return _laws_of(kind).names(templates) if kind in TEMPLATED else KINDS[kind].names()


def _laws_of(kind: str):
    if kind not in KINDS:
        raise ChoiceError(f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}; known: {', '.join(KINDS)}")
    return importlib.import_module(f"odtc.testing.laws.{kind}s")
