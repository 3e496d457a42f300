"""What cells of ten thousand times their size cost a tree of hyperplanes, in training and in testing.

    python -m benchmarks.heavy_tails [--depths 2] [--splits 10]

The set is `heavy-tails` of benchmarks.generalisation and its clean twin: the same rows without the factor. A tree is
trained on each and tested on the held-out rows of each. If the scaling of columns were all that the factor spoils, a
tree trained on the tails would be as good on clean rows as one trained on them; what is left is what the cells of the
tested rows no longer say. Means of the test accuracy over the splits, with standard errors of the differences.
"""

import argparse
from itertools import product

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.generalisation import OURS, heavy_twins
from odtc.workflow import pipeline

SECONDS = 300


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--depths", default="2")
    words.add_argument("--splits", type=int, default=10)
    asked = words.parse_args()
    twins = dict(zip(("clean", "tails"), heavy_twins()))
    print("| depth | trained on | clean rows | rows with tails |\n|---|---|---|---|")
    for depth in map(int, asked.depths.split(",")):
        right = {pair: np.zeros(asked.splits) for pair in product(twins, twins)}
        for split, (name, dataset) in product(range(asked.splits), twins.items()):
            inside, outside = train_test_split(
                np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=split
            )
            fit = pipeline.fit(dataset.taken(np.sort(inside)), OURS, depth, params={"seconds": SECONDS}, threads=1)
            for other, rows in twins.items():
                found = fit.tree.predict(rows.X[outside]) == rows.y[outside]
                right[name, other][split] = found.mean()
        for name in twins:
            shown = " | ".join(f"{100 * right[name, other].mean():.1f}" for other in twins)
            print(f"| {depth} | {name} | {shown} |")
        for other in twins:
            less = 100 * (right["tails", other] - right["clean", other])
            error = less.std(ddof=1) / np.sqrt(asked.splits)
            print(f"depth {depth}, tested on {other}: trained on tails {less.mean():+.1f} ± {error:.1f} points")


if __name__ == "__main__":
    main()
