"""Modules that docs/extending.md named before they moved: they import for one more release, and say where they are now.

A finder at the end of `sys.meta_path` is asked only for modules that are not there, so that it costs nothing else.
"""

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

# The old module -> where its names are now; the first that has a name is taken.
MOVED = {
    "constraint": ("problem.constraints.constraint", "problem.constraints.kind"),
    "cut": ("problem.cuts.cut",),
    "dataset": ("data.dataset",),
    "dialect": ("solvers.capabilities",),
    "encoding": ("data.encoding", "data.binary_tests.column_tests"),
    "explain": ("trees.explanation",),
    "exporter": ("trees.exporting",),
    "format": ("fileformats.model_files", "fileformats.text_buffer"),
    "formulation": ("problem.formulation", "problem.problem", "problem.parameters", "problem.roles"),
    "heap": ("trees.heap_tree",),
    "heuristic": ("heuristics.heuristic",),
    "point": ("fileformats.solution_files",),
    "reader": ("data.reading",),
    "regularised": ("problem.branch_penalty",),
    "roles": ("problem.roles",),
    "selection": ("workflow.row_selection.selection",),
    "solution": ("model.solution", "solvers.messages"),
    "solver": ("solvers.solver", "solvers.solve", "solvers.protocols"),
    "split": ("data.splits",),
    "topology": ("trees.complete_tree",),
    "tree": ("trees.tree",),
}
RENAMED = {("topology", "Topology"): "CompleteTree"}


class Finder:
    """Finds and makes the old modules."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, old = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == "odtc" and old in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.partition(".")[2]

        def get(name: str) -> object:
            if name.startswith("__"):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return taken(old, MOVED[old], RENAMED.get((old, name), name))

        vars(module)["__getattr__"] = get


def taken(old: str, homes: tuple[str, ...], name: str) -> object:
    """The value of a name of an old module, with a DeprecationWarning; AttributeError if it is in none of its homes."""
    from odtc import extend

    for home in homes:
        value = vars(importlib.import_module(f"odtc.{home}")).get(name)
        if value is not None:
            now = "odtc.extend" if name in extend.__all__ else f"odtc.{home}"
            warnings.warn(
                f"odtc.{old} has moved and will go with the next release: import {name} from {now}",
                DeprecationWarning,
                stacklevel=3,
            )
            return value
    raise AttributeError(f"module 'odtc.{old}' has no attribute {name!r}")


def install() -> None:
    """Makes the old modules importable."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
