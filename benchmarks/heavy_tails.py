"""What cells of ten thousand times their size cost a tree of hyperplanes, in training and in testing.

    python -m benchmarks.heavy_tails [--depths 2] [--splits 10] [--sparse]

The set is `heavy-tails` of benchmarks.generalisation and its clean twin: the same rows without the factor. A tree is
trained on each and tested on the held-out rows of each. If the scaling of columns were all that the factor spoils, a
tree trained on the tails would be as good on clean rows as one trained on them; what is left is what the cells of the
tested rows no longer say. With --sparse hyperplanes have few columns, so that fewer cells can spoil them. Means of the
test accuracy over the splits, with standard errors of the differences.
"""

import argparse
from itertools import product

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.generalisation import OURS, heavy_twins
from odtc.trees.tree import Branch
from odtc.workflow import pipeline

SECONDS = 300


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--depths", default="2")
    words.add_argument("--splits", type=int, default=10)
    words.add_argument("--sparse", action="store_true", help="-p sparse=true")
    asked = words.parse_args()
    twins = dict(zip(("clean", "tails"), heavy_twins()))
    params = {"seconds": SECONDS, "sparse": asked.sparse}
    print("| depth | trained on | clean rows | rows with tails | columns of a hyperplane |\n|---|---|---|---|---|")
    for depth in map(int, asked.depths.split(",")):
        right = {pair: np.zeros(asked.splits) for pair in product(twins, twins)}
        columns: dict[str, list[int]] = {name: [] for name in twins}
        for split, (name, dataset) in product(range(asked.splits), twins.items()):
            inside, outside = train_test_split(
                np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=split
            )
            fit = pipeline.fit(dataset.taken(np.sort(inside)), OURS, depth, params=params, threads=1)
            columns[name] += [len(node.split.features) for node, _ in fit.tree.walk() if isinstance(node, Branch)]
            for other, rows in twins.items():
                found = fit.tree.predict(rows.X[outside]) == rows.y[outside]
                right[name, other][split] = found.mean()
        for name in twins:
            shown = " | ".join(f"{100 * right[name, other].mean():.1f}" for other in twins)
            print(f"| {depth} | {name} | {shown} | {np.mean(columns[name]):.1f} |")
        for other in twins:
            less = 100 * (right["tails", other] - right["clean", other])
            error = less.std(ddof=1) / np.sqrt(asked.splits)
            print(f"depth {depth}, tested on {other}: trained on tails {less.mean():+.1f} ± {error:.1f} points")


if __name__ == "__main__":
    main()
