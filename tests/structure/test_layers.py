"""The layout of DESIGN §2, §3 and §5, held by reading the source: imports point one way, every file is registered."""

import ast
import importlib
from pathlib import Path

import pytest

from odtc import catalogue
from odtc.registry import Registry

PACKAGE = Path(catalogue.__file__).parent

# One name a line, so that two changes seldom meet. From the bottom up; a module imports only from its own group's lower ones. A folder counts with its contract file.
LAYERS = [
    {
        "errors",
        "registry",
        "memory",
        "deadline",
        "shape",
        "line_search",
        "linear_program",
    },
    {
        "dataset",
        "split",
        "topology",
        "solution",
        "output",
        "words",
        "dialect",
        "process",
        "transcript",
        "status",
        "log",
    },
    {
        "tree",
        "explain",
        "model",
        "check",
    },
    {
        "column",
        "reader",
        "readers",
        "frame",
        "parameters",
        "cost",
        "alternating",
        "oblique",
        "encoding",
        "encodings",
    },
    {
        "subtree",
        "itemsets",
        "hull",
        "states",
        "lattice",
        "early",
        "scans",
        "intervals",
        "interval_program",
        "interval_model",
        "targets",
        "derivations",
        "pareto",
        "flow",
        "fixing",
        "budgeted",
        "levels",
        "trace",
        "paths",
        "joint",
        "heap",
        "planes",
        "gapped",
        "svm1",
        "scale",
        "leaf_errors",
        "branching",
        "regularised",
        "sampling",
        "short_subtrees",
        "decision_paths",
        "pricing",
        "columns",
        "restricted_master",
        "pricing_model",
        "branch_and_price",
        "column_sources",
        "features",
        "fairness",
        "mincut",
        "answers",
        "choices",
        "formulation",
        "dynamic_program",
        "state_flow",
        "formulations",
        "roles",
        "answered",
        "group",
        "constraint",
        "rate",
        "questions",
        "constraints",
        "cut",
        "cuts",
        "separation",
        "selection",
        "selections",
        "heuristic",
        "heuristics",
    },
    {
        "filters",
        "render",
        "exporter",
        "exporters",
        "drawing",
        "plot",
        "format",
        "formats",
        "cards",
        "card_fields",
        "card_reader",
        "model_text",
        "lp_reader",
        "lp_words",
        "portable",
        "point",
        "points",
    },
    {
        "program",
        "command",
        "described",
        "script",
        "lineup",
        "race",
        "solver",
        "solvers",
        "drivers",
    },
    {
        "report",
        "verify",
        "midpoints",
        "lower_bound",
        "certificate",
        "choice",
        "pool",
        "certify",
        "manifest",
        "run",
        "importer",
        "loop",
    },
    {
        "files",
        "pipeline",
        "catalogue",
        "worker",
        "estimator",
        "page",
        "compare",
        "doctor",
        "tune",
    },
    {
        "bench",
        "bench_table",
    },
    {
        "screen",
        "cli_options",
        "cli_bench",
        "cli_certify",
        "cli_compare",
        "cli_doctor",
        "cli_import",
        "cli_pool",
        "cli_select",
        "cli_report",
        "cli_solve",
        "cli_tune",
        "cli",
    },
    {
        "__main__",
    },
]
# Within a group: the contract before its collection, and what the contract itself stands on.
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ONLY_IN = {"typer": {name for name in LEVEL if name.startswith("cli")}, "rich": {"screen"}, "jinja2": {"render"}, "subprocess": {"process"}, "highspy": {"solvers", "restricted_master"}, "gurobipy": {"drivers"},
           "cplex": {"drivers"}, "xpress": {"drivers"}, "coptpy": {"drivers"}, "ortools": {"drivers"}, "pyscipopt": {"drivers"},
           "sklearn": {"heuristics", "formulations", "sampling", "estimator", "alternating", "exporters", "drawing", "encodings"}, "onnx": {"exporters"}, "matplotlib": {"drawing", "plot"}, "polars": {"column", "reader", "readers", "frame"}, "arff": {"readers"}, "joblib": {"tune", "importer", "alternating", "selection"}}
MODULES = sorted(PACKAGE.rglob("*.py"))


def place(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            if node.module == "odtc":
                yield from (f"odtc.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    here = place(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "odtc":
            assert here in ONLY_IN.get(parts[0], {here}), f"{name} may be imported only in {ONLY_IN[parts[0]]}"
        elif len(parts) > 1 and parts[1] in LEVEL and here != "__init__":
            assert LEVEL[parts[1]] <= LEVEL[here], f"{here} lies below {parts[1]}"
            siblings = here == parts[1] and here.endswith("s") and path.parent != PACKAGE
            assert not siblings, f"members of {here} do not import each other: {name}"


def test_every_module_has_a_layer_and_begins_with_a_sentence():
    for path in MODULES:
        if path.name == "__init__.py" and path.parent != PACKAGE:
            continue
        assert place(path) in LEVEL or path.name == "__init__.py", path
        assert (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")[:1].strip(), f"{path} says not what it is"


REGISTRIES = {kind: registry for kind, registry in catalogue.REGISTRIES.items() if isinstance(registry, Registry)}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_file_of_a_collection_is_registered_and_complete(kind):
    registry = REGISTRIES[kind]
    folder = PACKAGE / registry.package.split(".")[1]
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files == {name.replace("-", "_") for name in registry.module_names}
    for name in registry.module_names:
        module = registry.get(name)
        assert importlib.import_module(module.__name__) is module
        assert not [word for word in registry.required if not hasattr(module, word)]


def test_every_registered_name_is_listed_and_described():
    for kind in catalogue.REGISTRIES:
        for name, line in catalogue.members(kind):
            assert line.strip(), f"{kind} {name} has no description"
            assert name in catalogue.describe(name)
