"""Compilation of all numba loops before the first search: for an image of a container, or a machine that is set up
once for many.

A search compiles them by itself, but only once that pays (odtc.base.compiled_loops).
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from odtc.base import compile_apart, system

# The modules of loops, with the names of those that are compiled one by one; a test finds each module that has
# `compile_now`.
LOOPS = (
    ("odtc.algorithms.thresholds.compiled", "depth_two"),
    ("odtc.algorithms.thresholds.compiled", "depth_two of int64"),
    ("odtc.algorithms.thresholds.compiled", "best_pair"),
    ("odtc.algorithms.thresholds.compiled", "best_pair of int64"),
    ("odtc.algorithms.bins.bin_bound", ""),
    ("odtc.algorithms.moments.kernels", ""),
    ("odtc.algorithms.moments.medians", ""),
    ("odtc.algorithms.constrained.sweeps.threshold_kernel", ""),
    ("odtc.algorithms.constrained.few_tests.subset_trees", ""),
    ("odtc.verification.compiled_pairs", ""),
    ("odtc.verification.constrained.sweep_kernel", ""),
)


class Compiled(NamedTuple):
    """Result of compiling some loops: the module and their name, their place on disk (None if they were not compiled,
    because no folder can be written or their process was ended), and the wall seconds."""

    module: str
    name: str
    place: Path | None
    seconds: float


def compile_all() -> Iterator[Compiled]:
    """Compile the loops, each in a process of its own, modules in parallel on the cores of this process, and yield
    each result once its module is complete.

    Yields
    ------
    Compiled

    Raises
    ------
    ImportError
        If numba is not installed, or not for this numpy.
    """
    with ThreadPoolExecutor(system.cores()) as side_by_side:
        modules = [side_by_side.submit(_compile, module) for module in dict(LOOPS)]
        try:
            for done in as_completed(modules):
                yield from done.result()
        finally:  # also if the caller stops reading, or is interrupted
            side_by_side.shutdown(wait=False, cancel_futures=True)
            compile_apart.end_all()


def _compile(module: str) -> list[Compiled]:
    """Compile the loops of a module one by one, because they share the files of numba on disk."""
    told = []
    for name in (name for other, name in LOOPS if other == module):
        began = time.monotonic()
        told.append(Compiled(module, name, compile_apart.finish(module, name), time.monotonic() - began))
        if told[-1].place is None:
            break
    return told
