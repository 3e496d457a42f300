"""The component types of plug-ins, and the property tests of each."""

import importlib
from pathlib import Path

from odtc.base.plug_ins import name_files
from odtc.base.registry import Registry
from odtc.base.text import did_you_mean
from odtc.data.cells.data_files import READERS
from odtc.data.encoding import ENCODINGS
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.fileformats.model_files import FORMATS
from odtc.fileformats.solution_files import POINTS
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts.cut import CUTS
from odtc.problem.formulation import FORMULATIONS
from odtc.solvers.protocols import SOLVERS
from odtc.testing.property import Case, Property, cases_of
from odtc.trees.exporting import EXPORTERS
from odtc.workflow.row_selection.selection import SELECTIONS

# The value of `TYPE` in a plug-in -> the registry; its property tests are odtc.testing.properties.<word>s.
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


def types() -> tuple[str, ...]:
    """Return the component types of plug-ins."""
    return tuple(KINDS)


def properties(kind: str, name: str) -> tuple[Property, ...]:
    """Return the property tests for a plug-in.

    Parameters
    ----------
    kind : str
        "formulation", "cut", …: one of `types()`.
    name : str
        The registered name.

    Returns
    -------
    tuple of Property

    Raises
    ------
    ChoiceError
        If the type or the plug-in is unknown, or the plug-in is not complete.
    """
    return _properties_of(kind, find(kind, name))


def cases(
    kind: str, name: str, *, property: str | None = None, templates: Path | None = None, plug_in: Path | None = None
) -> list[Case]:
    """Return each property of a plug-in, in each way in which it is tried.

    Parameters
    ----------
    kind, name : str
        As in `properties`.
    property : str or None
        The name of one property; None: all.
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
        As in `properties`, or for an unknown property.
    """
    if plug_in is not None:
        name_files([plug_in])
    found = find(kind, name, templates)
    known = _properties_of(kind, found)
    if property is not None:
        names = [one.name for one in known]
        if property not in names:
            raise ChoiceError(
                f"unknown property test {property!r} of the type {kind}{did_you_mean(property, names)}; "
                f"known: {', '.join(names)}"
            )
        known = tuple(one for one in known if one.name == property)
    return list(cases_of(kind, name, found, known))


def kinds_of(name: str, templates: Path | None = None) -> list[str]:
    """Return the component types that have a plug-in of this name; raises ChoiceError if there is none."""
    names = {kind: _names(kind, templates) for kind in KINDS}
    found = [kind for kind in KINDS if name in names[kind]]
    if not found and name in TASKS.names():
        raise ChoiceError(
            f"{name!r} is a task, for which `odtc check` has no property tests; compare its trees with every "
            "tree of small tables, as the test that `odtc new task NAME` writes does"
        )
    if not found:
        known = [one for members in names.values() for one in members]
        raise ChoiceError(
            f"no plug-in is called {name!r}{did_you_mean(name, known)}; `odtc list TYPE` prints the names of a type"
        )
    return found


def find(kind: str, name: str, templates: Path | None = None):
    """Return the plug-in of this name, or the object that represents it if it is a template."""
    if kind not in KINDS:
        raise ChoiceError(f"unknown type {kind!r}{did_you_mean(kind, KINDS)}; known: {', '.join(KINDS)}")
    if kind in TEMPLATED:
        return _module_of(kind).find(name, templates)
    return _module_of(kind).find(name) if kind in FOUND_BY_PROPERTIES else KINDS[kind].get(name)


TEMPLATED = ("exporter",)  # whose plug-ins may be templates, which are in no registry
FOUND_BY_PROPERTIES = (*TEMPLATED, "solver")


def _names(kind: str, templates: Path | None) -> tuple[str, ...]:
    return _module_of(kind).names(templates) if kind in TEMPLATED else KINDS[kind].names()


def _properties_of(kind: str, plug_in) -> tuple[Property, ...]:
    return tuple(one for one in _module_of(kind).PROPERTIES if one.applies(plug_in))


def _module_of(kind: str):
    if kind not in KINDS:
        raise ChoiceError(f"unknown type {kind!r}{did_you_mean(kind, KINDS)}; known: {', '.join(KINDS)}")
    return importlib.import_module(f"odtc.testing.properties.{kind}s")
