"""Compilation of all kernels before the first search: for an image of a container, or a machine that is set up once for
many.

A search compiles the kernels that it needs by itself (odtc.base.kernels).
"""

import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from odtc.base import kernels

# Modules whose function `compile_now` calls kernels on little data; a test finds each of them.
MODULES = (
    "odtc.algorithms.thresholds.rank_search",
    "odtc.algorithms.bins.bin_bound",
    "odtc.algorithms.moments.search",
    "odtc.algorithms.moments.medians",
    "odtc.algorithms.constrained.sweeps.threshold_kernel",
    "odtc.algorithms.constrained.constrained_search",
    "odtc.verification.compiled_pairs",
    "odtc.verification.constrained.sweep_kernel",
)


class Compiled(NamedTuple):
    """Result of compiling the kernels of a module: their folder (None if no folder can be written, and nothing was
    compiled), and the wall seconds."""

    module: str
    folder: Path | None
    seconds: float


def compile_all() -> Iterator[Compiled]:
    """Compile the kernels of one module after the other, and yield each result."""
    for name in MODULES:
        began, kernel_module = time.monotonic(), importlib.import_module(name)
        assert kernel_module.__file__ is not None
        if (folder := kernels.folder_of(kernel_module.__file__)) is not None:
            kernel_module.compile_now()
        yield Compiled(name, folder, time.monotonic() - began)
    kernels.report()
