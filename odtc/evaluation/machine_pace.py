"""Speed of this machine at this moment: a small model is built and written to nowhere, and its CPU seconds are
measured, so that estimates for a large model are valid for this machine and this hour.

On a shared machine the same work takes three times the CPU seconds of an idle hour, so nothing is stored for later.
"""

import hashlib
import time
from typing import Any

import numpy as np

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.fileformats.models import mps
from odtc.problem.counts import counts_of
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.complete_tree import CompleteTree

MODEL, ROWS, COLUMNS, DEPTH = "flowoct", 1000, 20, 3  # some 120,000 nonzeros
RUNS = 2  # the first loads its modules


class _Nowhere:
    """Stream that hashes its input, as a file of a model is hashed, and stores nothing."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> None:
        self.digest.update(data)


def pace() -> float:
    """CPU seconds that this machine takes now for a second of odtc.problem.counts.

    Returns
    -------
    float
    """
    random = np.random.default_rng(0)
    X, y = random.integers(0, 2, (ROWS, COLUMNS)).astype(float), random.integers(0, 3, ROWS).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(COLUMNS))
    data = Dataset("pace", X, y, features, ("a", "b", "c"), np.ones(ROWS))
    problem = Problem(encode(data), CompleteTree(DEPTH), MODEL, parse_params(MODEL, {}))
    said, took = counts_of(problem).seconds, np.inf
    for _ in range(RUNS):
        began = time.process_time()
        mps.write(problem.module.build(problem), _Nowhere(), False)
        took = min(took, time.process_time() - began)
    return took / said
