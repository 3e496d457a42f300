"""Mutation score: single changes of the code that checks and claims, each against the tests that run it.

    python -m benchmarks.mutation odtc/verification/verify.py … [--seconds 600] [--every 1] [--by "line text=>other"]

One process a mutation, forked of one that has imported the libraries, reads the module changed in one place, and runs
the tests of the module that came to the changed line when nothing was changed, quickest first, until one fails. A
change that no test sees survives and is printed. `--by` tries a change written by hand: a text that stands once in the
module, and what stands there instead.
"""

import argparse
import ast
import copy
import importlib.machinery
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERIFICATION = ("tests/unit/test_verify.py", "tests/unit/test_refusals.py", "tests/unit/test_forged_claims.py")
CERTIFICATES = (
    "tests/unit/test_certificate.py",
    "tests/unit/test_certificate_rules.py",
    "tests/unit/test_forged_certificates.py",
    "tests/unit/test_threshold_certificate.py",
    "tests/unit/test_constrained_certificate.py",
)
FILE = ("tests/unit/test_against_file.py",)
CONSTRAINTS = (
    "tests/unit/test_constraints.py",
    "tests/unit/test_constraint_figures.py",
    "tests/unit/test_path_constraints.py",
    "tests/laws/test_constraints.py",
)
ESTIMATOR = ("tests/unit/test_claims.py", "tests/unit/test_estimator.py", "tests/unit/test_estimator_input.py")
# The quick tests of each module, or of each folder.
TESTS = {
    "odtc/verification/verify.py": (*VERIFICATION, "tests/cli/test_identity.py"),
    "odtc/verification/known_trees.py": (*VERIFICATION, "tests/cli/test_identity.py"),
    "odtc/verification/against_file.py": FILE,
    "odtc/verification/file_as_written.py": FILE,
    "odtc/verification/objective_unit.py": ("tests/unit/test_objective_unit.py",),
    "odtc/verification": CERTIFICATES,
    "odtc/workflow/provenance": (*FILE, "tests/cli/test_identity.py"),
    "odtc/workflow/decoding.py": (
        "tests/unit/test_decoding.py",
        "tests/unit/test_in_python.py",
        "tests/unit/test_extend.py",
    ),
    "odtc/workflow/manifest.py": ("tests/laws/test_manifest.py", *VERIFICATION, "tests/cli/test_identity.py"),
    "odtc/model": (*VERIFICATION, "tests/unit/test_claims.py"),
    "odtc/model/solution.py": ("tests/unit/test_decoding.py",),
    "odtc/problem/constraints": CONSTRAINTS,
    "odtc/estimators": ESTIMATOR,
    "odtc/fileformats/status_words.py": ("tests/solvers/test_logs.py", "tests/files/test_solution_files.py"),
}
COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "rint", "ceil": "floor", "isnan": "isfinite"}
TEST_FAILED, NO_TEST_FAILED = 1, 0


def changes(node: ast.AST):
    """(what is changed, in words, and the function that changes a node in place) for each single change of a node."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if type(op) in COMPARE:
                yield f"{type(op).__name__} to {COMPARE[type(op)].__name__}", _set_item("ops", at, COMPARE[type(op)]())
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} to {other.__name__}", _set("op", other())
        for at in range(len(node.values)):
            yield f"without part {at + 1}", lambda node, at=at: node.values.pop(at)
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        yield (
            f"{type(node.op).__name__} to {ARITHMETIC[type(node.op)].__name__}",
            _set("op", ARITHMETIC[type(node.op)]()),
        )
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        for value in (True, False):
            if not (isinstance(node, ast.While) and value):
                yield f"condition always {value}", _set("test", ast.Constant(value))
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        other = not node.value if type(node.value) is bool else node.value + 1
        yield f"{node.value!r} to {other!r}", _set("value", other)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert, ast.USub)):
        yield f"without {type(node.op).__name__}", _set("op", ast.UAdd() if isinstance(node.op, ast.USub) else None)
    if isinstance(node, ast.Call):
        name = "id" if isinstance(node.func, ast.Name) else "attr"
        if (called := getattr(node.func, name, None)) in CALLS:
            yield f"{called} to {CALLS[called]}", lambda node: setattr(node.func, name, CALLS[called])
        if called == "Check":
            yield "check always passed", _set_item("args", 1, ast.Constant(True))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "without the call", _set("value", ast.Constant(None))


def _set(field, value):
    return lambda node: setattr(node, field, value)


def _set_item(field, at, value):
    return lambda node: getattr(node, field).__setitem__(at, value)


def mutants(source: str):
    """[(line, words, tree of the changed module)], one a change; messages and annotations stay as they are."""
    tree = ast.parse(source)
    spared = set()
    for node in ast.walk(tree):
        kept = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        kept += getattr(node, "decorator_list", [])
        if isinstance(node, (ast.JoinedStr, ast.Raise)):
            kept.append(node)
        spared |= {id(inner) for one in kept if one is not None for inner in ast.walk(one)}
    places = [at for at, node in enumerate(ast.walk(tree)) if id(node) not in spared and hasattr(node, "lineno")]
    nodes = list(ast.walk(tree))
    for at in places:
        for number, (words, _) in enumerate(list(changes(nodes[at]))):
            changed = copy.deepcopy(tree)
            node = list(ast.walk(changed))[at]
            list(changes(node))[number][1](node)
            changed = _Tidy().visit(changed)
            yield node.lineno, words, ast.fix_missing_locations(changed)


class _Tidy(ast.NodeTransformer):
    """Takes out the operators that a change has removed."""

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return node if node.op is not None else node.operand

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return node if len(node.values) > 1 else node.values[0]


def by_hand(source: str, texts):
    """The same of changes written by hand."""
    for text in texts:
        old, _, new = text.partition("=>")
        if source.count(old) != 1:
            raise SystemExit(f"expected a text that stands once, got {old!r}, which stands {source.count(old)} times")
        yield source[: source.index(old)].count("\n") + 1, text, ast.parse(source.replace(old, new))


def tests_of(module: str, asked) -> list[str]:
    if asked.tests:
        return asked.tests.split(",")
    names = [name for name in TESTS if module == name or module.startswith(name + "/")]
    return [test for test in TESTS[max(names, key=len)] if (ROOT / test).exists()]


def in_child(work, limit: float):
    """What `work` returns in a process of its own; None if it takes longer than `limit` seconds or dies."""
    with tempfile.NamedTemporaryFile() as file:
        if not (pid := os.fork()):
            os.setsid()
            with open(os.devnull, "w") as null:
                os.dup2(null.fileno(), 1)
                os.dup2(null.fileno(), 2)
            code = 3
            try:
                Path(file.name).write_bytes(pickle.dumps(work()))
                code = 0
            finally:
                os._exit(code)
        until = time.monotonic() + limit
        while not os.waitpid(pid, os.WNOHANG)[0]:
            if time.monotonic() > until:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            time.sleep(0.02)
        answer = file.read()
        return pickle.loads(answer) if answer else None


class Baseline:
    """A plugin of pytest: which lines of a file each test comes to, and how long it takes."""

    def __init__(self, path: str):
        self.path, self.lines, self.seconds, self.failed, self.current = path, defaultdict(set), {}, [], ""

    def trace(self, frame, event, argument):
        return self.line if frame.f_code.co_filename == self.path else None

    def line(self, frame, event, argument):
        self.lines[frame.f_lineno].add(self.current)
        return self.line

    def pytest_runtest_logstart(self, nodeid, location):
        self.current = nodeid
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def run_tests(tests, plugin=None) -> int:
    """The exit code of pytest: no slow tests, but all examples of the laws."""
    import pytest

    words = ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "-m"]
    return int(pytest.main([*words, "not (slow)", *tests], [plugin] if plugin else []))


def baseline(path: str, tests):
    plugin = Baseline(path)
    run_tests(tests, plugin)
    sys.settrace(None)
    return dict(plugin.lines), plugin.seconds, plugin.failed


def run_changed(path: str, tree: ast.AST, tests) -> int:
    """The exit code of pytest when the module of this path is the changed one."""
    code, plain = compile(tree, path, "exec"), importlib.machinery.SourceFileLoader.get_code

    def get_code(loader, name):
        return code if loader.path == path else plain(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code
    return run_tests(tests)


def _body(function) -> range:
    return range(function.body[0].lineno, function.end_lineno + 1)


def score(module: str, asked) -> tuple[int, int]:
    """(killed, tried) of a module; prints what survives."""
    path, source, tests = str(ROOT / module), (ROOT / module).read_text(encoding="utf-8"), tests_of(module, asked)
    found = in_child(lambda: baseline(path, tests), 900)
    if found is None or found[2]:
        raise SystemExit(f"the tests of {module} do not pass unchanged: {found and found[2]}")
    lines, seconds, _ = found
    killed = tried = 0
    tries = by_hand(source, asked.by) if asked.by else list(mutants(source))[:: asked.every]
    texts, until = source.splitlines(), time.monotonic() + asked.seconds
    inside = {line for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) for line in _body(node)}
    for line, words, tree in tries:
        if time.monotonic() > until:
            print(f"  {module}: the time is over after {tried} changes")
            break
        # Where the line runs at the import alone, or in a statement of several lines, all tests are asked.
        came = [test for test in lines.get(line, ()) if test] if line in inside else []
        chosen = sorted(came, key=lambda test: seconds.get(test, 0.0)) or tests
        limit = 20 + 5 * sum(seconds.get(test, 1.0) for test in (chosen if chosen is not tests else seconds))
        code = in_child(lambda tree=tree, chosen=chosen: run_changed(path, tree, chosen), limit)
        tried += 1
        killed += code != NO_TEST_FAILED
        if code == NO_TEST_FAILED:
            print(f"  lives: {module}:{line}: {words}: {texts[line - 1].strip()}", flush=True)
    print(f"{module}: {killed} of {tried} changes were seen by a test", flush=True)
    return killed, tried


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("modules", nargs="+", help="paths of modules, from the repository")
    words.add_argument("--seconds", type=float, default=600, help="for each module")
    words.add_argument("--every", type=int, default=1, help="only each n-th change")
    words.add_argument("--tests", help="test files or names between commas, in the place of those of the module")
    words.add_argument("--by", action="append", help="a change by hand, OLD=>NEW")
    asked = words.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    import hypothesis.strategies  # noqa: F401  what each child would import again
    import jinja2  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import scipy.sparse  # noqa: F401
    import sklearn.tree  # noqa: F401
    import typer  # noqa: F401

    found = [score(module, asked) for module in asked.modules]
    killed, tried = map(sum, zip(*found))
    print(f"in all {killed} of {tried} changes were seen by a test, {killed / max(1, tried):.1%}")


if __name__ == "__main__":
    main()
