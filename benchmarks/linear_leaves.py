"""R² on new rows of trees with linear leaves, compared with trees of means that have one level more.

    python -m benchmarks.linear_leaves [-o linear_leaves.csv] [--splits 10] [--files "{}.csv"]

Fixed before the first run. Nine regression tables of the KEEL repository, as $ODTC_DATA/NAME.csv with the target in the
last column (`--files` gives another form of the names), and the diabetes table of scikit-learn. Split s: 75 % of the
rows train (scikit-learn's train_test_split, seed s), the others test. All trees have ten rows or more in each leaf and
a time limit of 10 seconds for each fit:

    1, 2   lines with one level and means with two, over all thresholds
    2, 3   lines with two levels and means with three, over eight bins of each column

A test row without a prediction does not occur, because rows with missing cells are left out. The file has a line for
each table and pair with the means over the splits. Over the tables: the signed-rank test of Wilcoxon for each pair.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

import odtc
from benchmarks.data import data_folder, expect_data_folder

OWN = "diabetes"  # of scikit-learn
TABLES = OWN, "autoMPG6", "baseball", "ele-1", "laser", "mortgage", "plastic", "treasury", "wankara", "wizmir"
PAIRS = {1: "auto", 2: "auto:bins=8"}  # levels of the tree with lines, and its encoding
SECONDS, LEAST = 10, "leaf_rows >= 10"
FIELDS = "table", "lines", "means", "r2_lines", "r2_means", "proved_lines", "proved_means"


def read(name: str, files: str, task: dict):
    """Read a table for a task."""
    if name == OWN:
        frame = load_diabetes(as_frame=True, scaled=False).frame
        return odtc.read(frame, target="target", **task)
    return odtc.read(data_folder() / files.format(name), **task)


def scores(name: str, files: str, depth: int, seed: int) -> dict[str, float]:
    """Return R² on the test rows, and whether the tree is proved, of both trees of a split of the rows."""
    found = {}
    for kind, levels, leaf in (("lines", depth, "linear"), ("means", depth + 1, "constant")):
        dataset = read(name, files, {"task": "regression", "leaf": leaf})
        inside, outside = train_test_split(np.arange(dataset.n_rows), test_size=0.25, random_state=seed)
        train, test = dataset.taken(np.sort(inside)), dataset.taken(np.sort(outside))
        fit = odtc.fit(train, depth=levels, encoding=PAIRS[depth], constraints=LEAST, time_limit=SECONDS)
        found[f"r2_{kind}"] = float(r2_score(test.sums[:, -1], fit.tree.answers(test.X)))
        found[f"proved_{kind}"] = float(fit.proved)
    return found


def main() -> None:
    """Run the study, and print the tests."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("linear_leaves.csv"))
    words.add_argument("--splits", type=int, default=10)
    words.add_argument("--files", default="{}.csv", help="the names of the files, with {} for the table")
    given = words.parse_args()
    expect_data_folder(words)
    absent = [name for name in TABLES if name != OWN and not (data_folder() / given.files.format(name)).exists()]
    if absent:
        words.error(f"expected {given.files} in {data_folder()} (ODTC_DATA) for {', '.join(absent)}")
    lines = []
    with given.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for depth in PAIRS:
            for name in TABLES:
                each = [scores(name, given.files, depth, seed) for seed in range(given.splits)]
                means = {field: round(float(np.mean([one[field] for one in each])), 4) for field in each[0]}
                lines.append({"table": name, "lines": depth, "means": depth + 1} | means)
                writer.writerow(lines[-1])
                stream.flush()
    for depth in PAIRS:
        gain = np.array([line["r2_lines"] - line["r2_means"] for line in lines if line["lines"] == depth])
        p = wilcoxon(gain[gain != 0]).pvalue if gain.any() else 1.0
        print(
            f"lines with {depth}, means with {depth + 1} levels: {(gain > 0).sum()} tables better, "
            f"{(gain < 0).sum()} worse; median {np.median(gain):+.4f}, p = {p:.3f}"
        )


if __name__ == "__main__":
    main()
