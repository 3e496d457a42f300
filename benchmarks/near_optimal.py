"""The exact number of near-optimal trees, over binary tests beside tree-praxis, and over all thresholds.

    python -m benchmarks.near_optimal [--small] [--limit 45] [--only compas_6172,…]

A leaf costs a price, in rows that are predicted wrong; the trees are those within a share of the best penalised
objective, errors + price · leaves. tree-praxis rounds the price and the limit to whole rows, so both are rounded here.
It counts trees with twin leaves (two sibling leaves of one class), odtc does not; the column "with twins" is odtc's
count of those, too, to tell them apart from tree-praxis's (with `majority_leaf_only`). CPU seconds of one thread, from
arrays in memory to the count, the proof of the best tree included; imports and the loading of kernels not. The limit is
one of wall time. The data are looked for in $ODTC_DATA or ../shared/data.
"""

import argparse
import contextlib
import datetime
import io
import platform
import time
from math import floor

import numpy as np

from benchmarks.data import data_file
from odtc.algorithms.near_optimal.tree_set import TreeSet
from odtc.base import deadline
from odtc.data.reading import read
from odtc.errors import OdtcError
from odtc.formulations.dpflow.near_optimal_set import DpflowNearOptimalTrees
from tests.pipeline import pose

# (set, encoding, depth, price of a leaf as a share of the rows, share above the best)
BINARY = [
    ("compas_6172", "auto:levels=3,bins=4", 4, 0.005, 0.05),
    ("compas_6172", "auto:levels=3,bins=4", 5, 0.002, 0.03),
    ("tic-tac-toe", "onehot", 4, 0.01, 0.05),
    ("car-evaluation_papers", "onehot", 4, 0.005, 0.05),
    ("german-credit", "auto:levels=3,bins=4", 3, 0.005, 0.05),
]
ORDERED = [
    ("pima-diabetes", "thresholds", 3, 0.005, 0.05),
    ("ionosphere", "thresholds", 3, 0.005, 0.05),
    ("qsar-biodegradation", "thresholds", 3, 0.005, 0.05),
    ("magic04", "thresholds", 3, 0.001, 0.02),
]
SMALL = [("monks-1", "onehot", 3, 0.01, 0.2)]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--small", action="store_true")
    words.add_argument("--limit", type=float, default=45, help="wall seconds a cell")
    words.add_argument("--only", default="")
    given = words.parse_args()
    only = given.only.split(",") if given.only else None
    where = f"{platform.machine()}, Python {platform.python_version()}, measured {datetime.date.today()}"
    print(f"`python -m benchmarks.near_optimal --limit {given.limit:g}`, {where}.\n")
    count(SMALL[0], given.limit)  # loads the kernels
    cells = SMALL if given.small else BINARY
    print("| set, encoding | depth | price | within | best | trees | odtc s | with twins | tree-praxis | s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for cell in cells:
        if only is None or cell[0] in only:
            print(binary_line(cell, given.limit), flush=True)
    if given.small:
        return
    print("\n| set, all thresholds | depth | tests | price a leaf | within | best | trees | s |")
    print("|---|---|---|---|---|---|---|---|")
    for cell in ORDERED:
        if only is None or cell[0] in only:
            print(ordered_line(cell, given.limit), flush=True)


def count(cell, limit: float):
    """(what was counted, seconds, price, the greatest penalised objective)."""
    name, encoding, depth, price, share = cell
    dataset = read(data_file(name))
    price = floor(price * dataset.n_rows + 0.5)
    problem = pose(dataset, "dpflow", depth, encoding=encoding, params={"lambda": price / (1 + price)})
    with deadline.within(limit):
        began = time.process_time()
        first = DpflowNearOptimalTrees(problem, 0)
        spent = time.process_time() - began
        # The limit is a share of the objective with the price of leaves, which is one more price than of branch nodes.
        best = round(first.best * (1 + price)) + price
        within = (floor(best * (1 + share) + 0.5) - best) / (1 + price)
        del first
    with deadline.within(limit):
        began = time.process_time()
        found = DpflowNearOptimalTrees(problem, within)
    return found, time.process_time() - began, price, best, spent


def binary_line(cell, limit: float) -> str:
    name, encoding, depth, price, share = cell
    count(cell, limit)  # loads the kernels that a small table does not ask for
    found, seconds, whole, best, _ = count(cell, limit)
    trees = found.trees
    twins = TreeSet(trees.rows, trees.search, depth, trees.budget, twins=True)
    with deadline.within(limit):
        twins.count()
    shown = f"{twins.table.total:,}" if twins.complete else f"≥ {twins.table.total:,}"
    peer, spent = praxis(found.problem, depth, price, share)
    ratio = f"{seconds / spent:.1f}" if spent else ""
    return line(
        f"{name}, `{encoding}`", depth, whole, f"{100 * share:g} %", best, trees_of(found), f"{seconds:.2f}", shown,
        f"{peer:,}" if spent else "", f"{spent:.2f}" if spent else "", ratio,
    )  # fmt: skip


def ordered_line(cell, limit: float) -> str:
    name, encoding, depth, price, share = cell
    try:
        found, seconds, whole, best, _ = count(cell, limit)
    except OdtcError as problem:
        return line(name, depth, "", "", "", "", str(problem), "")
    tests = f"{found.problem.encoded.n_candidate_splits:,}"
    best = best if found.proved else f"{best} (not proved)"
    return line(name, depth, tests, whole, f"{100 * share:g} %", best, trees_of(found), f"{seconds:.1f}")


def trees_of(found) -> str:
    return f"{found.count:,}" if found.complete else f"≥ {found.count:,} ({found.stopped})"


def praxis(problem, depth, price, share) -> tuple[int, float]:
    """(trees, CPU seconds) of tree-praxis; zeros if it is not installed."""
    try:
        from praxis import PRAXIS
    except ImportError:
        return 0, 0.0
    encoded = problem.encoded
    X, y = np.asarray(encoded.X)[encoded.row_of].astype(np.uint8), encoded.dataset.y.astype(int)
    peer = PRAXIS()
    with contextlib.redirect_stdout(io.StringIO()):
        began = time.process_time()
        peer.fit(X, y, price, depth, share, majority_leaf_only=True, lookahead_k=depth)
        trees = int(peer.count_trees())
        return trees, time.process_time() - began


def line(*cells) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
