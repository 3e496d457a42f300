"""All registries under the words of `odtc list`, and the texts of `odtc info`."""

import dataclasses

from odtc.base.text import did_you_mean
from odtc.data.cells.data_files import READERS
from odtc.data.encoding import ENCODINGS
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.fileformats.model_files import FORMATS
from odtc.fileformats.solution_files import POINTS
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.constraint import able_models
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts.cut import CUTS, hint
from odtc.problem.expressions import words
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parameter_key
from odtc.solvers.solver import SOLVERS, version
from odtc.trees.exporting import summaries
from odtc.workflow.row_selection.selection import SELECTIONS

REGISTRIES = {
    "models": FORMULATIONS,
    "cuts": CUTS,
    "encodings": ENCODINGS,
    "solvers": SOLVERS,
    "formats": FORMATS,
    "exporters": None,
    "selections": SELECTIONS,
    "starts": HEURISTICS,
    "constraints": CONSTRAINTS,
    "points": POINTS,
    "readers": READERS,
    "tasks": TASKS,
}


def registered(kind: str) -> list[tuple[str, str]]:
    """Return (name, one line) of every plug-in; raises ChoiceError for an unknown registry."""
    if kind not in REGISTRIES:
        raise ChoiceError(f"cannot list {kind!r}{did_you_mean(kind, REGISTRIES)}; known: {', '.join(REGISTRIES)}")
    return [(name, _member_line(kind, name)) for name in names_of(kind)]


def describe(name: str) -> str:
    """Return the description of a plug-in of any registry; raises ChoiceError for an unknown name."""
    names = {kind: names_of(kind) for kind in REGISTRIES}
    texts = [
        f"{name} ({kind}): {_member_line(kind, name)}{_details(kind, name)}" for kind in names if name in names[kind]
    ]
    if not texts:
        known = [one for found in names.values() for one in found]
        raise ChoiceError(
            f"no plug-in is called {name!r}{did_you_mean(name, known)}; `odtc list TYPE` prints the names of a type"
        )
    return "\n\n".join(texts)


def names_of(kind: str) -> tuple[str, ...]:
    """Return every name of a registry, without loading its plug-ins."""
    if kind == "exporters":
        return tuple(summaries())
    return REGISTRIES[kind].names()


def _member_line(kind: str, name: str) -> str:
    if kind == "exporters":
        return summaries()[name]
    module = REGISTRIES[kind].get(name)
    if kind == "models":
        return module.TITLE
    if kind == "solvers":
        return f"{version(module) or 'not found'}; {module.SUMMARY}; {module.DIALECT.words()}"
    return module.SUMMARY


OPTION_OF = {"encodings": "encoding", "selections": "select", "starts": "start"}  # that takes NAME:KEY=VALUE


def _details(kind, name) -> str:
    lines = []
    if kind in OPTION_OF:
        options = REGISTRIES[kind].get(name).OPTIONS.items()
        lines += [f"--{OPTION_OF[kind]} {name}:{key}=…  {text}" for key, (_, text) in options]
    if kind == "models":
        module = FORMULATIONS.get(name)
        lines += ["", f"paper: {module.PAPER}"]
        for field in dataclasses.fields(module.Params):
            about = field.metadata
            span = f", {about['least']} to below {about['below']}" if about["below"] is not None else ""
            choices = f", one of {', '.join(about['choices'])}" if about["choices"] else ""
            default = (
                str(field.default).lower()
                if isinstance(field.default, bool)
                else field.default
                if field.default != ""
                else "none"
            )
            lines.append(f"-p {parameter_key(field)}=…  {about['help']} (default {default}{span}{choices})")
        if changes := module.CHANGES:
            lines += ["", "The default differs from the printed model (-p literal=true) in these points:"]
            lines += [f"* {one.what} (optimum: {one.optimum}; relaxation: {one.relaxation})" for one in changes]
        doc = (module.module.__doc__ or "").strip()
        lines += ["", doc] if doc else []
    elif kind == "cuts":
        module = CUTS.get(name)
        lines.append(f"needs a model that says {words(module.NEEDS)}; valid for {module.VALID}; {hint(module)}")
    elif kind == "constraints":
        module = CONSTRAINTS.get(name)
        needs = f"needs a model that says {words(module.NEEDS)}: " if module.NEEDS else ""
        lines.append(f"{needs}{able_models(module)}")
    if kind in ("selections", "cuts", "constraints"):
        lines += ["", REGISTRIES[kind].get(name).module.__doc__.strip()]
    return "".join(f"\n{line}" for line in lines)
