"""Compilation of all kernels before the first search: for an image of a container, or a machine that is set up once for
many.

A search compiles the kernels that it needs by itself (odtc.base.kernels).
"""

import importlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import odtc
from odtc.base import kernels

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
