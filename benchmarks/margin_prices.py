"""What prices of margins by held-out rows are worth to SVM1-ODT: `-p penalties=folds` beside its hard margins.

    python -m benchmarks.margin_prices [--sets 8] [--seconds 12] [--depth 2]

Sets of scikit-learn's make_classification, 6 columns of which 4 tell the classes apart, a
tenth of the labels drawn at random, seeds from 200 on; 150 rows train, 1,050 others test. Each fit has the same wall
seconds: hard margins from the tree of --start oblique and of --start regularised, and prices by folds from the tree
that these rank first; beside them oblique_search, which has no solver.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.generalisation import OURS, made
from tests import pipeline

TRAIN, ROWS = 150, 1200
WAYS = {
    "hard, from oblique": ("svm1_odt", {}, "oblique"),
    "hard, from regularised": ("svm1_odt", {}, "regularised"),
    "penalties=folds": ("svm1_odt", {"penalties": "folds"}, "cart"),
    OURS: (OURS, {}, None),
}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--sets", type=int, default=8)
    words.add_argument("--seconds", type=float, default=12.0)
    words.add_argument("--depth", type=int, default=2)
    asked = words.parse_args()
    warnings.simplefilter("ignore")
    print(f"| seed | {' | '.join(WAYS)} |\n{'|---' * (len(WAYS) + 1)}|")
    found = []
    for seed in range(200, 200 + asked.sets):
        whole = made("made", *make_classification(ROWS, 6, n_informative=4, flip_y=0.1, random_state=seed))
        train, test = whole.taken(np.arange(TRAIN)), whole.taken(np.arange(TRAIN, ROWS))
        right = []
        for model, params, start in WAYS.values():
            told = {} if start is None else {"start": start, "time_limit": asked.seconds}
            fit = pipeline.fit(train, model, asked.depth, params=params, threads=1, **told)
            right.append(100 * float((fit.tree.predict(test.X) == test.y).mean()))
        found.append(right)
        print(f"| {seed} | {' | '.join(f'{one:.1f}' for one in right)} |", flush=True)
    print(f"| mean | {' | '.join(f'{one:.1f}' for one in np.mean(found, axis=0))} |")


if __name__ == "__main__":
    main()
