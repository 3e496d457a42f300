"""Report on installed packages, and whether each installed solver solves a tiny model correctly."""

import importlib
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

import odtc
from odtc.base import kernels
from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.errors import OdtcError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.solvers.executables import what_to_install
from odtc.solvers.solver import SOLVERS, version
from odtc.workflow import solving
from odtc.workflow.pipeline import build, decode

# Packages of each extra of pyproject.toml in addition to solvers; a test compares them.
PACKAGES = {
    "": (
        *("numpy", "scipy", "highspy", "polars", "liac-arff", "scikit-learn", "joblib", "threadpoolctl"),
        *("typer", "rich", "jinja2", "numba", "isal"),
    ),
    "plot": ("matplotlib",),
    "onnx": ("onnx",),
}
LIMIT = 30.0  # wall seconds that a solver has for the tiny model


# Modules whose function `compile_now` calls kernels on little data; a test finds each of them.
MODULES = (
    "odtc.algorithms.thresholds.rank_search",
    "odtc.algorithms.thresholds.node_moves",
    "odtc.algorithms.thresholds.prefix_sums",
    "odtc.algorithms.bins.bin_bound",
    "odtc.algorithms.moments.medians",
    "odtc.algorithms.constrained.sweeps.threshold_kernel",
    "odtc.algorithms.constrained.sweeps.stump_kernels",
    "odtc.algorithms.constrained.constrained_search",
    "odtc.verification.constrained.sweep_kernel",
)


@value_class
class Package:
    """An installed or missing package; `version` is None if it is not installed; `extra` is "" for packages of every
    install."""

    name: str
    extra: str
    version: str | None

    @property
    def passed(self) -> bool:
        return self.version is not None or bool(self.extra)

    def to_json(self) -> dict:
        return asdict(self)


@value_class
class Answer:
    """Result of the tiny model: `state` is "right", "wrong", "failed" or "not found"."""

    solver: str
    version: str | None
    state: str
    seconds: float | None
    words: str

    @property
    def passed(self) -> bool:
        return self.state in ("right", "not found")

    def to_json(self) -> dict:
        return asdict(self)


def system() -> dict:
    return {
        "odtc": odtc.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def packages() -> list[Package]:
    return [Package(name, extra, _version(name)) for extra, names in PACKAGES.items() for name in names]


def answers(names=None) -> Iterator[Answer]:
    """Each solver's answer to the tiny model, as it comes: its optimum is known by dynamic programming."""
    data = tiny()
    model = build(data, "flowoct", 2)
    problem = model.problem
    least = HEURISTICS.get("optimal").tree(problem.encoded, problem.topology).loss(problem.encoded)
    for name in names or SOLVERS.names():
        yield _asked(name, model, least)


def tiny() -> Dataset:
    """Return twelve rows whose best tree of depth 2 has one error: the parity of two columns, once inverted."""
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1, 2)], dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(np.int32)
    y[4] = 1 - y[4]
    return Dataset("tiny", X, y, tuple(Feature(name, NUMERIC) for name in "abc"), ("no", "yes"), np.ones(len(y)))


def _asked(name: str, model, least: float) -> Answer:
    module = SOLVERS.get(name)
    found = version(module)
    if found is None:
        return Answer(name, None, "not found", None, what_to_install(module))
    began = time.monotonic()
    try:
        solution = solving.solve(model, name, time_limit=LIMIT, threads=1)
        done = decode(model, solution)
    except (OdtcError, OSError) as problem:
        return Answer(name, found, "failed", time.monotonic() - began, " ".join(str(problem).split()))
    seconds, failed = time.monotonic() - began, [check for check in done.checks if not check.passed]
    if failed or abs(done.solution.objective - least) > 1e-6:
        words = (
            "; ".join(f"{check.name}: {check.text}" for check in failed)
            or f"it found {done.solution.objective:g} errors, the best tree has {least:g}"
        )
        return Answer(name, found, "wrong", seconds, words)
    return Answer(
        name,
        found,
        "right",
        seconds,
        f"{done.solution.objective:g} error, {str(done.solution.termination).replace('_', ' ')}, verified",
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# Compilation of all kernels before the first search: for an image of a container, or a machine that is set up once for
# many.
#
# A search compiles the kernels that it needs by itself (odtc.base.kernels).


class Compiled(NamedTuple):
    """Result of compiling the kernels of a module, or of a problem: their folder (None if no folder can be written, and
    nothing was compiled), and the wall seconds."""

    name: str
    folder: Path | None
    seconds: float


def compile_all() -> Iterator[Compiled]:
    """Compile the kernels of one module after the other, then the kernels of whole problems, and yield each result."""
    for name in MODULES:
        kernel_module = importlib.import_module(name)
        assert kernel_module.__file__ is not None
        yield _compiled(name, kernels.folder_of(kernel_module.__file__), kernel_module.compile_now)
    for name, solve in PROBLEMS.items():
        yield _compiled(name, kernels.folder_of(__file__), solve)
    kernels.report()


def _compiled(name: str, folder: Path | None, run: Callable[[], object]) -> Compiled:
    began = time.monotonic()
    if folder is not None:
        run()
    return Compiled(name, folder, time.monotonic() - began)


def _columns(ranks: int, shape: tuple[int, int] = (200, 8)) -> np.ndarray:
    """Return float64 (rows, columns): random columns with this many values."""
    return np.random.default_rng(0).integers(0, ranks, shape).astype(float)


def _numbers(ranks: int, depth: int, shape: tuple[int, int]) -> None:
    target = np.random.default_rng(1).integers(0, 5, shape[0])
    odtc.fit(X=_columns(ranks, shape), y=target, task="regression", depth=depth, time_limit=60)


def _lines() -> None:
    target = np.random.default_rng(1).integers(0, 99, 60)
    odtc.fit(X=_columns(40, (60, 2)), y=target, task="regression", leaf="linear", depth=2, time_limit=60)


def _classes(ranks: int, depth: int, classes: int, weighted: bool = False) -> None:
    random = np.random.default_rng(1)
    weights = random.integers(2**29, 2**30, 200).astype(float) if weighted else None
    odtc.fit(X=_columns(ranks), y=random.integers(0, classes, 200), depth=depth, weights=weights, time_limit=60)


def _near_optimal() -> None:
    odtc.near_optimal(X=_columns(40, (60, 3)), y=np.arange(60) % 2, within=1, depth=2)


def _models() -> None:
    X, target = _columns(2, (60, 6)), np.arange(60) % 7
    odtc.build(X=X, y=target % 2, model="dpflow", depth=4)
    odtc.build(X=X, y=target, model="dpflow", depth=2, task="regression", leaf="linear")


PROBLEMS: dict[str, Callable[[], object]] = {
    "classes by thresholds": lambda: _classes(40, 3, 2),
    "three classes by thresholds": lambda: _classes(40, 2, 3),
    "classes with weights": lambda: _classes(40, 2, 2, weighted=True),
    "classes by binary columns": lambda: _classes(2, 4, 2),
    "numbers by thresholds": lambda: _numbers(10**6, 4, (100, 2)),
    "numbers by many thresholds": lambda: _numbers(10**6, 2, (2_000, 8)),
    "numbers by binary columns": lambda: _numbers(2, 4, (200, 8)),
    "linear leaves": _lines,
    "models of the dynamic program": _models,
    "near-optimal sets": _near_optimal,
}
