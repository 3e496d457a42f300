"""The layout of the packages, held by reading the source: a DAG of imports, registered members, described modules."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

import odtc
from odtc.base.registry import Registry
from odtc.cli import catalogue
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.formulation import FORMULATIONS
from odtc.trees.exporting import EXPORTERS

PACKAGE = Path(odtc.__file__).parent

# A package -> the packages that it may import; everyone may import odtc.errors, and the names of `odtc` itself.
BASE = {"base"}
ARRAYS = BASE | {"algorithms"}
BRIDGE = BASE | {"model"}
TREES = ARRAYS | {"data", "trees"}
PROBLEM = TREES | {"model", "problem"}
COMPILER = PROBLEM | {"heuristics", "verification", "formulations"}
RUN = COMPILER | {"fileformats", "solvers", "workflow"}
LAW = {
    "base": set(),
    "algorithms": BASE,
    "model": BASE,
    "fileformats": BRIDGE,
    "solvers": BRIDGE | {"fileformats"},
    "data": ARRAYS,
    "trees": BASE | {"data"},
    "problem": TREES | {"model"},
    "heuristics": TREES,
    "verification": PROBLEM - {"algorithms"},
    "formulations": PROBLEM | {"heuristics", "verification"},
    "workflow": RUN - {"workflow"},
    "estimators": RUN,
    "evaluation": RUN | {"estimators"},
    "testing": RUN,
    "cli": RUN | {"estimators", "evaluation", "testing"},
}
# The layers of odtc/data, from the lowest -> the other parts of it that each may import; the rest of it may import all.
LAYERS_OF_DATA = {
    "reading_spec": set(),
    "cells": {"reading_spec"},
    "table": {"reading_spec", "cells"},
}
# The certificate checker stands alone: nothing of the compiler, so that it shares none of its mistakes.
CHECKER = {
    f"verification/{name}.py"
    for name in (
        "certificate",
        "alike_rows",
        "labels",
        "coverage",
        "claim",
        "interval_bound",
        "three_levels",
        "node_cuts",
        "pair_bound",
        "pair_kernel",
        "threshold_columns",
        "constrained/constrained_certificate",
        "constrained/stated_constraints",
        "constrained/multiplier_bound",
        "constrained/listed_cases",
        "constrained/one_column",
        "leaf_sums/__init__",
        "leaf_sums/bound",
        "leaf_sums/squares",
        "leaf_sums/likelihood",
        "leaf_sums/two_levels",
        "leaf_sums/every_tree",
    )
}
CHECKER_MAY = {"base", "data", "errors", "trees", "verification"}

# A library -> the only places that may import it: one place to change, and a quick start of everything else.
ONLY_IN = {
    "typer": {"cli"},
    "rich": {"cli/console"},
    "jinja2": {"base/templates"},
    "subprocess": {"solvers/child_process", "testing/generated_code"},
    "multiprocessing": set(),
    "hypothesis": {"testing"},
    **dict.fromkeys(("resource", "fcntl", "pwd", "grp", "termios", "msvcrt", "winreg", "_winapi"), {"base/system"}),
    "highspy": {"solvers/adapters", "formulations/cg/restricted_master", "model/in_packages"},
    "gurobipy": {"solvers/drivers", "solvers/adapters", "model/in_packages"},
    "cplex": {"solvers/drivers", "solvers/adapters"},
    "xpress": {"solvers/drivers", "solvers/adapters"},
    "coptpy": {"solvers/drivers", "solvers/adapters"},
    "ortools": {"solvers/drivers"},
    "pyscipopt": {"solvers/drivers", "solvers/adapters"},
    "sklearn": {
        "heuristics",
        "formulations",
        "estimators",
        "algorithms/hyperplanes",
        "trees/exporters",
        "trees/drawing",
        "trees/importing",
        "data/encodings",
        "data/tasks/policy",
        "testing/problems",
    },
    "onnx": {"trees/exporters"},
    "matplotlib": {"trees/drawing", "evaluation/plots"},
    "distributed": {"base/cluster"},
    "polars": {
        "data/cells",
        "data/table",
        "data/reading",
        "data/frames",
        "testing/properties/readers",
    },
    "arff": {"data/cells/readers"},
    "joblib": {
        "algorithms/thresholds/workers",
        "evaluation/studies",
        "trees/importing",
        "algorithms/hyperplanes",
        "workflow/row_selection",
    },
}
# What the wheel carries of examples is a text that `odtc new` writes, and no module of odtc.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "templates" not in path.relative_to(PACKAGE).parts[:-1])
MOST_MODULES = 20  # of a package, at one level
MOST_MEMBERS = 40  # of a folder of registered members, one file each
KERNELS = (
    "algorithms/bins/three_levels",
    "algorithms/constrained/few_splits/four_levels",
    "algorithms/thresholds/block_groups",
    "algorithms/thresholds/depth_two",
    "algorithms/thresholds/few_nodes/three_leaves",
    "algorithms/thresholds/binary_triples",
    "algorithms/near_optimal/pair_counts",
    "verification/pair_kernel",
)
MOST_PARAMETERS = 8  # of a function; the commands have an option each
MOST_LINES = 100  # of a function, its signature and docstring aside
# Loops over arrays that numba compiles as one function each.
COMPILED_WHOLE = {
    "algorithms/thresholds/depth_two.py": "depth_two",  # in records of arrays it takes up to 2.5 times as long
    "algorithms/near_optimal/pair_counts.py": "pair_counts",
    "algorithms/constrained/sweeps/threshold_kernel.py": "subtrees",
    "verification/pair_kernel.py": "least_pair",
    "verification/constrained/sweep_kernel.py": "two_levels",
}
MAY_HAVE_MORE = {
    "testing/exhaustive.py": "cheapest",  # the judge takes plain arrays, none of the records it judges
    # numba compiles these, and takes arrays, not records
    "algorithms/constrained/sweeps/threshold_kernel.py": "subtrees",
    "verification/constrained/sweep_kernel.py": "two_levels",
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """What a module says; each is parsed once for all laws."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module; to walk through a tree takes as long as to parse it."""
    return tuple(ast.walk(tree_of(path)))


@functools.cache
def imports(path: Path):
    return tuple(_imports(path))


def _imports(path: Path):
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "odtc":
                yield from (f"odtc.{alias.name}" for alias in node.names)
            else:
                yield node.module


def packages_of(path: Path):
    """The packages of odtc that a module imports, its own aside."""
    names = {parts[1] for name in imports(path) if (parts := name.split("."))[0] == "odtc" and len(parts) > 1}
    return {name for name in names if (PACKAGE / name).is_dir()}


def law_of_modules(law):
    """A law of single modules as one test a package: for pytest a test of each module costs more than the law."""

    @pytest.mark.parametrize("package", sorted({name_of(path).split("/")[0] for path in MODULES}))
    def holds(package):
        for path in MODULES:
            if name_of(path).split("/")[0] == package:
                law(path)

    holds.__name__, holds.__doc__ = law.__name__, law.__doc__
    return holds


def test_the_law_names_every_package_and_is_acyclic():
    assert set(LAW) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rank = {}
    while len(rank) < len(LAW):
        ready = {name for name, may in LAW.items() if name not in rank and may <= set(rank)}
        assert ready, f"a cycle among {sorted(set(LAW) - set(rank))}"
        rank |= dict.fromkeys(ready)


def files_by_module() -> dict[str, Path]:
    return {"odtc." + name_of(path)[:-3].removesuffix("/__init__").replace("/", "."): path for path in MODULES}


@pytest.mark.parametrize("layer", LAYERS_OF_DATA)
def test_data_is_cells_then_a_table_then_a_data_set(layer):
    """No arrow leads back: imports inside functions count, too."""
    files, may = files_by_module(), {f"odtc.data.{part}" for part in LAYERS_OF_DATA[layer] | {layer}}
    own = {name: path for name, path in files.items() if f"{name}.".startswith(f"odtc.data.{layer}.")}
    assert own
    for name, path in own.items():
        of_data = {one for one in _imported(path, set(files)) if one.startswith("odtc.data.")}
        stray = {one for one in of_data if not any(f"{one}.".startswith(f"{part}.") for part in may)}
        assert not stray, (
            f"{name} is in the layer {layer!r} of odtc/data and imports {sorted(stray)}, which is above it"
        )


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions and for types count, too. `problem` has one circle of records and their protocols."""
    files = files_by_module()
    within = {name for name in files if not name.startswith("odtc.problem.")}
    above = {name: _imported(files[name], within) - {name} for name in within}
    while ready := {name for name, needs in above.items() if not needs}:
        above = {name: needs - ready for name, needs in above.items() if name not in ready}
    assert not above, f"a cycle among {sorted(above)}"


def _imported(path: Path, among: set[str]) -> set[str]:
    """Names of the modules among some that a module imports."""
    froms = [node for node in nodes_of(path) if isinstance(node, ast.ImportFrom)]
    found = {(node.module, f"{node.module}.{alias.name}") for node in froms for alias in node.names}
    return {whole if whole in among else module for module, whole in found} & among


@law_of_modules
def test_imports_follow_the_law(path):
    here = name_of(path).split("/")[0]
    if here in LAW:
        stray = packages_of(path) - LAW[here] - {here}
        assert not stray, f"{name_of(path)} imports {sorted(stray)}; {here} may import {sorted(LAW[here])}"
    for name in imports(path):
        allowed = ONLY_IN.get(name.split(".")[0])
        inside = allowed is None or any(name_of(path).removesuffix(".py").startswith(place) for place in allowed)
        assert inside, f"{name} may be imported only in {sorted(allowed)}"


# What only some systems have. Members of a registry may name their own programs, but no system's.
ONE_SYSTEM = re.compile(
    r"os\.(killpg|setsid|setpgid|getpgid|getuid|geteuid|fork|mkfifo|sched_\w+|nice|startfile|uname|getlogin)|"
    r"signal\.(SIGKILL|SIGHUP|SIGUSR\d|SIGALRM|SIGBREAK|CTRL_\w+|alarm|setitimer|pthread_\w+|sigwait\w*|pause)|"
    r"sys\.platform|os\.name|\w+\.symlink_to|os\.symlink|os\.link"
)


@law_of_modules
def test_what_only_some_systems_have_is_behind_one_module(path):
    if name_of(path) == "base/system.py":
        return
    for node in nodes_of(path):
        named = ""
        if isinstance(node, ast.Attribute):
            named = ast.unparse(node)
        elif isinstance(node, ast.keyword) and node.arg in ("preexec_fn", "start_new_session", "creationflags"):
            named = "sys.platform"
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("/dev/", "/bin"))
        ):
            named = "sys.platform"
        assert not ONE_SYSTEM.fullmatch(named), f"{name_of(path)}:{node.lineno}: odtc.base.system has both branches"


# Who names the interpreter: one starts it (with -P), the others find programs and give scripts of users its name.
MAY_NAME_PYTHON = {"base/system.py", "solvers/executables.py", "solvers/solver.py", "testing/generated_code.py"}
STARTS = re.compile(
    r"os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*|startfile)|asyncio\.create_subprocess_\w+|pty\.\w+"
)


@law_of_modules
def test_processes_start_in_one_way_so_that_none_imports_from_the_working_directory(path):
    """`subprocess` and the packages with pools have their places (ONLY_IN); another Python is `child_python`."""
    for node in nodes_of(path):
        named = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        assert not STARTS.fullmatch(named), f"{name_of(path)}:{node.lineno}: odtc.solvers.child_process starts programs"
        if named == "sys.executable":
            assert name_of(path) in MAY_NAME_PYTHON, (
                f"{name_of(path)}:{node.lineno}: take odtc.base.system.child_python"
            )


@pytest.mark.parametrize("name", sorted(CHECKER))
def test_the_certificate_checker_uses_nothing_of_the_compiler(name):
    seen, stack = set(), [PACKAGE / name]
    while stack:
        path = stack.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        place = name_of(path).split("/")[0].removesuffix(".py")
        assert place in CHECKER_MAY, f"{name} reaches {name_of(path)}"
        for module in imports(path):
            if module.startswith("odtc."):
                target = PACKAGE / Path(*module.split(".")[1:])
                stack += [target.with_suffix(".py"), target / "__init__.py"]


def test_every_module_begins_with_a_sentence_and_no_room_is_crowded():
    for path in MODULES:
        doc = ast.get_docstring(tree_of(path)) or ""
        assert doc[:1].strip(), f"{name_of(path)} does not say what it is"
    for folder in {path.parent for path in MODULES}:
        count = len([path for path in folder.glob("*.py") if path.name != "__init__.py"])
        most = MOST_MEMBERS if folder in COLLECTIONS else MOST_MODULES
        assert count <= most, f"{name_of(folder)} holds {count} modules"


@law_of_modules
def test_no_function_has_more_parameters_than_a_reader_can_hold(path):
    for node in nodes_of(path):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        given, name = node.args, getattr(node, "name", "a lambda")
        names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
        if name_of(path).startswith(KERNELS):  # compiled functions take arrays, no records
            continue
        if name_of(path).startswith("cli/") or MAY_HAVE_MORE.get(name_of(path)) == name:
            continue
        own = names[1:] if names[:1] in (["self"], ["cls"]) else names
        assert len(own) <= MOST_PARAMETERS, f"{name_of(path)}: {name} has {len(own)} parameters: {', '.join(own)}"


@law_of_modules
def test_no_function_is_longer_than_a_reader_can_follow(path):
    for node in nodes_of(path):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = node.body[ast.get_docstring(node) is not None :]
        lines = node.end_lineno - body[0].lineno + 1 if body else 0
        may = COMPILED_WHOLE.get(name_of(path)) == node.name
        assert may or lines <= MOST_LINES, f"{name_of(path)}: {node.name} has {lines} lines behind its docstring"


REGISTRIES = {kind: registry for kind, registry in catalogue.REGISTRIES.items() if isinstance(registry, Registry)}
# Folders of registered members, one file each.
COLLECTIONS = {PACKAGE.parent / Path(*registry.package.split(".")) for registry in REGISTRIES.values()}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_member_is_registered_and_complete(kind):
    registry = REGISTRIES[kind]
    folder = PACKAGE.parent / Path(*registry.package.split("."))
    found = {
        path.parent.name if path.name == "__init__.py" else path.stem
        for path in [*folder.glob("*.py"), *folder.glob("*/__init__.py")]
        if any(
            isinstance(node, ast.Assign)
            and any(
                name.id == "NAME" for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
            )
            for node in tree_of(path).body
        )
    }
    rows, table = registry.tabled
    assert found.isdisjoint(rows) and found | set(rows) == {name.replace("-", "_") for name in registry.module_names}
    assert set(rows) == (set(importlib.import_module(table).MEMBERS) if table else set())
    for name in registry.module_names:
        module = registry.get(name)
        if name not in rows:
            assert importlib.import_module(module.module.__name__) is module.module
        assert not registry.contract.misfit(module.module)


@pytest.mark.parametrize("kind", REGISTRIES)
def test_members_of_a_collection_do_not_import_each_other(kind):
    registry = REGISTRIES[kind]
    alone = [name for name in registry.module_names if name not in registry.tabled[0]]
    members = {f"{registry.package}.{name.replace('-', '_')}" for name in alone}
    for member in members:
        path = PACKAGE.parent / Path(*member.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        stray = members.intersection(imports(path)) - {member}
        assert not stray, f"members of {kind} do not import each other: {name_of(path)} imports {sorted(stray)}"


def test_every_registered_name_is_listed_and_described():
    for kind in catalogue.REGISTRIES:
        for name, line in catalogue.registered(kind):
            assert line.strip(), f"{kind} {name} has no description"
            assert name in catalogue.describe(name)


# The groups through which other packages add members, whatever our own packages are called.
GROUPS = {
    "models": "odtc.formulations",
    "cuts": "odtc.cuts",
    "encodings": "odtc.encodings",
    "solvers": "odtc.solvers",
    "formats": "odtc.formats",
    "selections": "odtc.selections",
    "starts": "odtc.heuristics",
    "constraints": "odtc.constraints",
    "points": "odtc.points",
    "readers": "odtc.readers",
    "tasks": "odtc.tasks",
}


def test_the_entry_point_groups_stay():
    assert {kind: registry.group for kind, registry in REGISTRIES.items()} == GROUPS
    assert EXPORTERS.group == "odtc.exporters"


DECLARED = {"name", "module", "abilities", "can"}.union(
    *(registry.contract.hooks for registry in (*REGISTRIES.values(), EXPORTERS))
)


@law_of_modules
def test_nobody_looks_for_undeclared_names_of_a_plug_in(path):
    """A member of a registry has every name of its contract (odtc.base.registry), so nobody asks whether it has."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            of = ast.unparse(node.args[0])
            plug_in = re.search(r"\bmodule$|\.get\(|\bfind_solver\(", of)
            assert not plug_in or name_of(path) == "base/registry.py", f"{name_of(path)}:{node.lineno} looks into {of}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "module":
            asked = not node.attr.startswith("_") and name_of(path) != "base/registry.py"
            assert not asked or node.attr in DECLARED, f"{name_of(path)}:{node.lineno}: nobody declares {node.attr!r}"


# A formulation is asked for what it can do, never by its name; the one that is meant if none is named aside.
DEFAULT = "flowoct"
FORMULATION_NAMES = set(FORMULATIONS.names()) - set(HEURISTICS.names())


@law_of_modules
def test_no_formulation_is_asked_for_by_name_outside_its_package(path):
    here = name_of(path).split("/")
    if here[0] == "formulations":
        others = set(FORMULATIONS.names()) - {here[1].removesuffix(".py")}
    else:
        others = set(FORMULATIONS.names())
    for name in imports(path):
        parts = name.split(".")
        assert parts[:2] != ["odtc", "formulations"] or parts[2:3] == [] or parts[2] not in others, (
            f"{name_of(path)} imports {name}"
        )
    if here[0] == "formulations" or name_of(path) == "problem/formulation.py":
        return
    for node in nodes_of(path):
        named = []
        if isinstance(node, ast.Compare):
            named = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            named = node.args[:1] if ast.unparse(node.func.value) == "FORMULATIONS" else []
        elif isinstance(node, ast.Call):
            told = ast.unparse(node.func) == "option"  # advice in a sentence (odtc.base.wording)
            named = [] if told or name_of(path) == "evaluation/benchmark.py" else node.args
        for each in named:
            asked = isinstance(each, ast.Constant) and each.value in FORMULATION_NAMES - {DEFAULT}
            assert not asked, f"{name_of(path)}:{node.lineno} asks for {each.value!r} by name"
