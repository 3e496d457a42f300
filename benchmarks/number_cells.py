"""The cells of benchmarks.numbers: one measurement each, in a process of its own."""

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.data import data_file
from benchmarks.made_tables import is_made, made_file
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_columns, rank_rows
from odtc.base import deadline
from odtc.data.reading import read
from odtc.formulations.dpflow import threshold_search
from odtc.problem.branch_penalty import objective
from tests import pipeline

ROOT = Path(__file__).resolve().parents[1]
WALL = 10  # times the limit of CPU time that a cell may take on the clock
ROUNDS = 3  # of a cell of tables of levels, of which the best counts
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")  # of adult
# name of a cell: (set, columns that are left out, encoding)
BINARY = {"adult levels": ("adult", NUMBERS, "onehot"), "adult 4 bins": ("adult", (), "auto:levels=3,bins=4")}
PEER = """
import sys
import pandas
from pycontree import ConTree
table = pandas.read_csv(sys.argv[1]).dropna()
X, y = table.iloc[:, :-1].to_numpy(float), pandas.factorize(table.iloc[:, -1])[0]
model = ConTree(max_depth=int(sys.argv[2]), time_limit=3600, verbose=False)
model.fit(X, y)
print((model.predict(X) != y).sum())
"""


class Limit(Exception):
    """The limit of a cell."""


def measure(kind: str, name: str, depth: int, tool: str, limit: float) -> dict:
    """One measurement: seconds of CPU, errors, the bound, whether it is proved, and the most memory."""
    return KINDS[kind](name, depth, tool, limit)


def _file(name: str) -> Path:
    if is_made(name):
        return made_file(name)
    return ROOT / "examples/iris/iris.csv" if name == "iris" else data_file(name)


# From arrays in memory to a proved tree over all thresholds.


def memory(name: str, depth: int, tool: str, limit: float) -> dict:
    """The search over all thresholds beside pycontree."""
    data = read(_file(name))
    X, y = np.ascontiguousarray(data.X), data.y.astype(np.int64)
    return (_search if tool == "odtc" else _contree)(X, y, depth, limit) | {"megabytes": _peak()}


def _search(X, y, depth, limit) -> dict:
    """The search over ranks, with kernels that are loaded before."""
    _warm(depth, int(y.max()) + 1)
    began = time.process_time()

    def check():
        if time.process_time() > began + limit:
            raise Limit

    ranked = rank_rows(rank_columns(X)[0], 1.0 - np.eye(int(y.max()) + 1)[y])
    search = RankSearch(ranked, check)
    try:
        search.solve(depth)
    except Limit:
        pass
    known = search.known(depth)
    return {
        "seconds": time.process_time() - began,
        "errors": ranked.cost(known.upper),
        "bound": ranked.cost(known.lower),
        "proved": known.exact,
    }


def _warm(depth: int, labels: int, ranks: int = 9) -> None:
    """Loads the kernels for these types of arguments."""
    random = np.random.default_rng(0)
    y = random.integers(0, labels, 90 + labels)
    search = RankSearch(rank_rows(random.integers(0, ranks, (len(y), 9)), 1.0 - np.eye(labels)[y]))
    for height in range(2, min(depth, 5 if ranks == 2 else 3) + 1):
        search.solve(height)
    if ranks > 2:
        search.nodes.gini(search.root)


def _contree(X, y, depth, limit) -> dict:
    """pycontree on the same rows."""
    from pycontree import ConTree

    # Its limit is one of wall time, on a busy machine little CPU time: the system ends it at the limit of CPU time.
    peer = ConTree(max_depth=depth, time_limit=WALL * limit, verbose=False)
    began, wall = time.process_time(), time.monotonic()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began + limit), resource.RLIM_INFINITY))
    peer.fit(X, y)
    seconds, wall = time.process_time() - began, time.monotonic() - wall
    return {"seconds": seconds, "errors": int((peer.predict(X) != y).sum()), "proved": wall < 0.95 * WALL * limit}


# The whole process.


def process(name: str, depth: int, tool: str, limit: float) -> dict:
    """`odtc fit FILE`, which checks its certificate, beside a script that reads the file and calls pycontree."""
    words = [sys.executable, "-c", PEER, str(_file(name)), str(depth)]
    if tool == "odtc":
        # A proof within the limit of CPU time may take longer on a busy machine.
        words = [sys.executable, "-m", "odtc", "fit", str(_file(name)), "--depth", str(depth), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    def end_at_limit():
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), resource.RLIM_INFINITY))

    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        environment.pop("OMP_NUM_THREADS", None)  # a user has none
        said = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, preexec_fn=end_at_limit
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if said.returncode:
        return {"seconds": seconds, "proved": False, "said": said.stderr[-200:]}
    facts = json.loads(said.stdout) if tool == "odtc" else {"objective": int(said.stdout), "termination": "optimal"}
    return {
        "seconds": seconds,
        "errors": facts["objective"],
        "proved": facts["termination"] == "optimal",
        "megabytes": after.ru_maxrss / 1024,
    }


# Tests of two answers.


def _posed(name: str, depth: int):
    known, auxiliary, encoding = BINARY.get(name, (name, (), "onehot"))
    return pipeline.pose(read(data_file(known), auxiliary=auxiliary), "dpflow", depth, encoding=encoding)


def _rows(encoded):
    return np.repeat(encoded.X, encoded.copies, axis=0).astype(np.int32), np.repeat(encoded.y, encoded.copies)


def onehot(name: str, depth: int, tool: str, limit: float) -> dict:
    """From rows of 0 and 1 to a proved tree, beside pystreed; the best of some rounds."""
    problem = _posed(name, depth)
    X, y = _rows(problem.encoded)
    if tool == "odtc":
        _warm(depth, int(y.max()) + 1, 2)
    best = math.inf
    for _ in range(ROUNDS):
        if tool == "odtc":
            found = _search(X.astype(float), y, depth, limit)
        else:
            began = time.process_time()
            paid, proved = _levels(problem, tool, WALL * limit, X, y)
            found = {"seconds": time.process_time() - began, "errors": paid, "proved": proved}
        best = min(best, found["seconds"])
        if best > 5:
            break
    return found | {"seconds": best, "megabytes": _peak()}


def limited(name: str, depth: int, tool: str, limit: float) -> dict:
    """The best tree at a limit of wall time, which is what pystreed has."""
    problem = _posed(name, depth)
    X, y = _rows(problem.encoded)
    if tool == "odtc":  # the levels of a table in bins are ordered, so that these are no tests of two answers
        for ranks in (2, 9):
            _warm(depth, int(y.max()) + 1, ranks)
    began, clock = time.process_time(), time.monotonic()
    with deadline.within(limit):
        paid, proved = _levels(problem, tool, limit, X, y)
    return {
        "seconds": time.process_time() - began,
        "wall": time.monotonic() - clock,
        "errors": paid,
        "proved": proved,
        "megabytes": _peak(),
    }


def _levels(problem, tool, limit, X, y):
    """(errors, whether they are proved)."""
    if tool == "odtc":
        found = threshold_search.search(problem)
        paid = objective(problem, found.heap)
        return paid, found.bound >= paid - 1e-9
    from pystreed import STreeDClassifier

    depth, clock = problem.topology.depth, time.monotonic()
    model = STreeDClassifier("accuracy", max_depth=depth, max_num_nodes=2**depth - 1, time_limit=limit)
    model.fit(X, y)
    return int((model.predict(X) != y).sum()), time.monotonic() - clock < 0.95 * limit


# The best tree after some seconds.


def anytime(name: str, depth: int, tool: str, limit: float) -> dict:
    """The best tree and the bound at a limit of CPU time; of pytrees-rs by its anytime search at one of wall time."""
    data = read(_file(name))
    X, y = np.ascontiguousarray(data.X), data.y.astype(np.int64)
    if tool == "odtc":
        return _search(X, y, depth, limit) | {"megabytes": _peak()}
    from pytrees import ConTreeClassifier

    began, clock = time.process_time(), time.monotonic()
    model = ConTreeClassifier(max_depth=depth, max_time=limit, use_lds=True, sort_by_heuristic=True).fit(X, y)
    return {
        "seconds": time.process_time() - began,
        "wall": time.monotonic() - clock,
        "errors": int((model.predict(X) != y).sum()),
        "proved": model.status_ == "optimal",
        "megabytes": _peak(),
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


KINDS = {"memory": memory, "process": process, "onehot": onehot, "limited": limited, "anytime": anytime}
