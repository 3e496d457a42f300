"""Convex-hull selection on large sets, beside one linear program per row.

    python -m benchmarks.hulls [--data skin-segmentation,statlog-shuttle,…] [--depth 2] [--jobs 2] [--sample 20]

"select s" is the whole of `odtc.workflow.row_selection.selection.select_rows` with convex_hull, in wall seconds on
`--jobs` processes (which
are started before); "LP ms" is the mean of (7) of Zhu et al. 2020 for rows drawn at random (seed 0), each against
all others of its cluster, by HiGHS on one thread; "all LPs s" is that mean times the rows: extrapolated, not
run. "off by" is the largest error of a dropped row's mixture of kept rows, in units of its column's
range within the cluster. The data is looked for in $ODTC_DATA or ../shared/data.
"""

import argparse
import time

import numpy as np
from scipy.optimize import linprog

from benchmarks.data import data_file, data_folder
from odtc import read
from odtc.algorithms.convex_hull import hull
from odtc.workflow.row_selection.selection import clusters_of, coordinates, first_tree, select_rows

SETS = "skin-segmentation,statlog-shuttle,magic04,letter-recognition,pendigits"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", default=SETS)
    words.add_argument("--depth", type=int, default=2)
    words.add_argument("--jobs", type=int, default=2)
    words.add_argument("--sample", type=int, default=20)
    asked = words.parse_args()
    warm(asked.jobs)
    print("| data | rows | columns | clusters | kept | select s | off by | LP ms | all LPs s | ratio |")
    print("|---" * 10 + "|")
    for name in asked.data.split(","):
        file = data_file(name)
        if file is None:
            print(f"| {name} | not in {data_folder()} |")
            continue
        line(name, read(file), asked)


def warm(jobs: int) -> None:
    """Processes that are started, and what they import, are not measured."""
    from joblib import Parallel, delayed

    Parallel(jobs)(delayed(hull)(np.random.default_rng(k).random((20, 3))) for k in range(2 * jobs))


def line(name: str, dataset, asked) -> None:
    began = time.perf_counter()
    part = select_rows(dataset, "convex_hull", asked.depth, jobs=asked.jobs)
    seconds = time.perf_counter() - began
    clusters = clusters_of(
        dataset, first_tree(dataset, asked.depth), coordinates(dataset), np.ones(dataset.n_rows, bool)
    )
    error = max(hull(cluster.Z).error for cluster in clusters)
    each = np.mean([program(*drawn) for drawn in draw(clusters, asked.sample)])
    everything = each * dataset.n_rows
    print(
        f"| {name} | {dataset.n_rows:,} | {clusters[0].Z.shape[1]} | {len(clusters)} | {part.n_rows:,} "
        f"({100 * part.n_rows / dataset.n_rows:.1f} %) | "
        f"{seconds:.2f} | {error:.1e} | {1000 * each:.1f} | {everything:,.0f} | {everything / seconds:,.0f} |",
        flush=True,
    )


def draw(clusters, sample: int):
    """(points of a cluster, place in it) of rows drawn evenly from all."""
    ends = np.cumsum([len(cluster.rows) for cluster in clusters])
    for row in np.random.default_rng(0).integers(0, ends[-1], sample).tolist():
        at = int(np.searchsorted(ends, row, side="right"))
        yield clusters[at].Z, row - (int(ends[at - 1]) if at else 0)


def program(Z: np.ndarray, place: int) -> float:
    """Seconds of the linear program: whether a point is a mixture of the others."""
    others = np.delete(Z, place, axis=0)
    if not len(others):
        return 0.0
    began = time.perf_counter()
    linprog(
        np.zeros(len(others)),
        A_eq=np.vstack([others.T, np.ones(len(others))]),
        b_eq=np.append(Z[place], 1.0),
        method="highs",
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
