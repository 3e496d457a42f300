"""Rows that Algorithm 1 of Zhu et al. (2020) keeps with the parameters of Tables 6 to 8, next to the printed shares.

    python -m benchmarks.printed_selection -o FILE.csv [--sets pendigits@2,avila@2] [--points 3000]

75 % of the complete rows train (the split of `odtc bench paper`, seed 0); the leaves and classes of CART make clusters.
The algorithm is run with three optimal solutions of LP (7): `hull`, mixtures of extreme points by the search for the
convex hull; `lp`, a vertex found by HiGHS and transformed by T of Theorem 4; `vertex`, the same without T, as the paper
takes it. The last two only if no cluster has more than --points points. `cart` is `hull` for the clusters of CART over
all thresholds, where `odtc select` takes 32 quantiles of each column. `eps` is the paper's ε′, and 0. `I`, `J` and
`kept` are shares of the training rows in %. Lines are appended; a line that the file has is not computed again.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data import data_file, expect_data_folder
from odtc import read
from odtc.algorithms.convex_hull import hull
from odtc.data.dataset import Dataset
from odtc.evaluation.studies.paper import parts
from odtc.evaluation.studies.paper_protocols import Line, Split, protocol
from odtc.workflow.row_selection.printed import SURE, heavy, solved, transformed
from odtc.workflow.row_selection.programs import by_algorithm, heavy_points
from odtc.workflow.row_selection.selection import Cluster, clusters_of_tree, coordinates

STUDIES = ("s1o-6", "s1o-7", "s1o-8")
GROUPS, GROUPS_OF_EPS = (["hull"], ["cart"], ["lp", "vertex"]), (["vertex"],)  # computed together
HEAD = (
    "set",
    "rows",
    "columns",
    "clusters",
    "largest",
    "eps",
    "beta1",
    "beta2",
    "way",
    "I",
    "J",
    "kept",
    "paper",
    "seconds",
)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, required=True)
    words.add_argument("--sets", help="SET@DEPTH between commas; by default all")
    words.add_argument("--points", type=int, default=3000)
    asked = words.parse_args()
    expect_data_folder(words)
    done = set()
    if asked.out.exists():
        done = {(line["set"], float(line["eps"]), line["way"]) for line in csv.DictReader(asked.out.open())}
    else:
        asked.out.write_text(",".join(HEAD) + "\n")
    for line in (line for study in STUDIES for line in protocol(study).lines):
        path = data_file(line.data)
        if path is None or (asked.sets and line.name not in asked.sets.split(",")):
            continue
        dataset = read(path)
        train = dataset.taken(parts(dataset.n_rows, Split((0,), 0.25))[0])
        clusters = clusters_of_tree(train, line.depth)[1]
        few = max(len(one.rows) for one in clusters) <= asked.points
        for eps in sorted({0.0, line.given["eps"]}):
            for ways in GROUPS if eps == 0.0 else GROUPS_OF_EPS:
                if (few or ways in GROUPS[:2]) and (line.name, eps, ways[0]) not in done:
                    mine = clusters_of_cart(train, line.depth) if ways == ["cart"] else clusters
                    append(asked.out, measured(line, mine, eps, ways))


def clusters_of_cart(train: Dataset, depth: int) -> list[Cluster]:
    """Leaves and classes of scikit-learn's tree over all thresholds; how near a row is to a hyperplane is left open."""
    leaf = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(train.X, train.y).apply(train.X)
    number, Z = leaf * len(train.classes) + train.y, coordinates(train)
    rows = [np.flatnonzero(number == one) for one in np.unique(number)]
    return [Cluster(some, Z[some], np.zeros(len(some))) for some in rows]


def append(path: Path, lines: list[list]) -> None:
    with path.open("a", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)
    for line in lines:
        print(dict(zip(HEAD, line)), flush=True)


def measured(line: Line, clusters: list[Cluster], eps: float, ways: list[str]) -> list[list]:
    """A line for each way; one solution of (7) serves both `lp` and `vertex`."""
    began, counts = time.process_time(), {way: np.zeros(4, np.int64) for way in ways}
    for cluster in clusters:
        extreme, found = chosen(cluster, eps, ways)
        for way, J in found.items():
            kept = by_algorithm(extreme, J, cluster.near, line.given["beta1"], line.given["beta2"])
            counts[way] += [len(extreme), np.count_nonzero(~extreme), len(J), len(kept)]
    spent, lines = round(time.process_time() - began, 1), []
    for way, (n, *found) in counts.items():
        sizes = [int(n), clusters[0].Z.shape[1], len(clusters), max(len(cluster.rows) for cluster in clusters)]
        given = [eps, line.given["beta1"], line.given["beta2"], way]
        shares = [round(float(100 * part / n), 3) for part in found]
        lines.append([line.name, *sizes, *given, *shares, line.printed[("kept", "S1O-DS")], spent])
    return lines


def chosen(cluster: Cluster, eps: float, ways: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(whether each row is outside I, the places of J by the way)."""
    d = cluster.Z.shape[1]
    if ways in GROUPS[:2]:
        found = hull(cluster.Z)
        return found.extreme, {ways[0]: heavy_points(found, d)}
    points, first = np.unique(cluster.Z, axis=0, return_index=True)
    b, mix = solved(points, eps, "")
    inside = b >= 1 - SURE
    extreme = np.zeros(len(cluster.Z), bool)
    extreme[first[~inside]] = True
    over = {way: mix[inside] if way == "vertex" else transformed(mix, inside) for way in ways}
    return extreme, {way: first[heavy(one, d)] for way, one in over.items()}


if __name__ == "__main__":
    main()
