"""Whether other repeats of the folds, other standard errors or a weaker test beside the majority choose better trees.

    python -m benchmarks.held_out_rules -o rules.jsonl [--first 0] [--sets 34]

Fixed before the first run: made sets alone, 60 to 220 rows to train, 2,000 to test, 4 to 30 columns, depth 2: three in
five of make_classification (2 to 4 classes, 2 to 30 % of labels at random, half of them unbalanced), one in five noise,
one in five of small whole numbers. On each, six repeats of five folds are seen once, and all rules choose from the
same: 1, 2, 4 or 6 repeats, 0, 0.5 or 1 standard error, and 1, 1.5 or 2 corrected standard errors by which a tree has to
beat the majority. A default changes only if its mean gain over today's (2, 1, 2) is more than two paired standard
errors, and noise gets a tree no more often.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.constrained import had
from benchmarks.held_out_families import fold_error
from odtc.algorithms.hyperplanes import held_out
from odtc.algorithms.hyperplanes.penalised import PENALTIES, Grower

REPEATS, TEST, NOISE = 6, 2000, 3
RULES = list(product((1, 2, 4, 6), (0.0, 0.5, 1.0), (1.0, 1.5, 2.0)))
TODAY = (held_out.REPEATS, 1.0, 2.0)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("rules.jsonl"))
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--sets", type=int, default=34)
    asked = words.parse_args()
    found = had(asked.out)
    for number in range(asked.first, asked.first + asked.sets):
        if any(record["set"] == number for record in found):
            continue
        found.append({"set": number} | run(number))
        with asked.out.open("a") as stream:
            stream.write(json.dumps(found[-1]) + "\n")
    print(table(found))


def drawn(number: int) -> tuple[int, int, np.ndarray, np.ndarray]:
    """(kind, rows to train, X, y) of a made set; those to test come behind."""
    rng = np.random.default_rng(9000 + number)
    n, d, kind = int(rng.choice([60, 90, 140, 220])), int(rng.choice([4, 8, 15, 30])), int(rng.integers(5))
    if kind < NOISE:
        K = int(rng.choice([2, 2, 3, 4]))
        X, y = make_classification(
            n + TEST,
            d,
            n_informative=max(3, d // 3),
            n_redundant=0,
            n_classes=K,
            n_clusters_per_class=1 if K > 2 else 2,
            flip_y=float(rng.choice([0.02, 0.1, 0.3])),
            weights=None if rng.random() < 0.5 else [0.75] + [0.25 / (K - 1)] * (K - 1),
            class_sep=float(rng.choice([0.7, 1.2])),
            random_state=number,
        )
    elif kind == NOISE:
        X, y = rng.normal(size=(n + TEST, d)), rng.random(n + TEST) < 0.3
    else:
        X = rng.integers(0, 4, size=(n + TEST, d)).astype(float)
        y = ((X[:, 0] == X[:, 1]) | (X[:, 2] > 2)) ^ (rng.random(n + TEST) < 0.1)
    return kind, n, X, np.unique(y, return_inverse=True)[1]


def run(number: int) -> dict:
    """The test accuracy of what each rule chooses, whether it is a tree, and CPU seconds."""
    began, (kind, n, X, y) = time.process_time(), drawn(number)
    low, high = np.quantile(X[:n], [0.05, 0.95], axis=0)
    Z = (X - low) / np.where(high > low, high - low, 1)
    loss, weight, grower = 1.0 - np.eye(y.max() + 1)[y[:n]], np.ones(n), Grower(2, 0, False)
    held_out.REPEATS = REPEATS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = list(held_out.grown_folds(Z[:n], loss, grower, np.arange(n), np.inf, PENALTIES))
    full = grower.paths(Z[:n], loss, np.inf)
    keys = [(family, k) for family, path in full.items() for k in sorted({tree.leaves for tree in path})]
    trees = [held_out._at(full[family], leaves) for family, leaves in keys]
    losses = np.array(
        [
            [held_out._held_out_loss(held_out._at(paths[f], k), Z[:n], loss, weight, test) for f, k in keys]
            for _, test, paths in folds
        ]
    )
    chosen = {}
    for repeats, se, sure in RULES:
        held_out.SURE, seen = sure, losses[: held_out.FOLDS * repeats]

        def error(at: int, other: int, seen: np.ndarray = seen) -> float:
            return fold_error(seen[:, other] - seen[:, at])

        chosen[f"{repeats},{se},{sure}"] = held_out._chosen(seen, keys, se, error)[0]
    right = [float((tree.predict(Z[n:]) == y[n:]).mean()) for tree in trees]
    return {
        "noise": kind == NOISE,
        "best": max(right),
        "right": {rule: right[at] for rule, at in chosen.items()},
        "tree": {rule: trees[at].leaves > 1 for rule, at in chosen.items()},
        "cpu": round(time.process_time() - began, 1),
    }


def table(found: list[dict]) -> str:
    """A line for each rule: its gain over today's where there is something to find, and trees of noise."""
    some, noise = ([one for one in found if one["noise"] is kind] for kind in (False, True))
    today = ",".join(map(str, TODAY))
    mean = 100 * np.mean([one["right"][today] for one in some])
    best = 100 * np.mean([one["best"] for one in some])
    lines = [f"{len(some)} sets and {len(noise)} of noise; today {mean:.1f}, the best candidate of each {best:.1f}", ""]
    lines += ["| repeats, standard errors, beside the majority | gain | trees of noise |", "|---|---|---|"]
    for rule in some[0]["right"]:
        gain = 100 * np.array([one["right"][rule] - one["right"][today] for one in some])
        trees = sum(one["tree"][rule] for one in noise)
        lines.append(f"| {rule} | {gain.mean():+.2f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.2f} | {trees} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
