"""Report on installed packages, and whether each installed solver solves a tiny model correctly."""

import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata

import numpy as np

import odtc
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
SOLVER_SECONDS = 30.0  # wall seconds that a solver has for the tiny model


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
        solution = solving.solve(model, name, time_limit=SOLVER_SECONDS, threads=1)
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
