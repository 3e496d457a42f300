"""What cells of ten thousand times their size cost a tree of hyperplanes, in training and in testing.

    python -m benchmarks.heavy_tails [--depths 2] [--splits 10] [--dense]
    python -m benchmarks.heavy_tails --source [--depths 2,3] [--dense]
    python -m benchmarks.heavy_tails --made 30 [-o tails.jsonl]

The set is `heavy-tails` of benchmarks.generalisation and its clean twin: the same rows without the factor. A tree is
trained on each and tested on the held-out rows of each. If the scaling of columns were all that the factor spoils, a
tree trained on the tails would be as good on clean rows as one trained on them; what is left is what the cells of the
tested rows no longer say. Hyperplanes have few columns, unless --dense asks for any number: fewer cells can then spoil
them. Means of the test accuracy over the splits, with standard errors of the differences.

--source asks what is there to be reached: the 400 rows are a draw of four Gaussians in four columns, of which two more
columns are sums and two are noise. From this source 8,000 rows train and 100,000 test, without and with the factor.
Its rule of Bayes is right on as many rows with tails as on clean ones: whoever knows the source finds the row's place
from any four of the six columns that say something, but for rows of which three of them are hit. `not by four` is the
share of such rows. What trees of hyperplanes lose there is what a sum of columns cannot leave out.

--made: whether the nodes should be without columns with numbers far out that they do not need. Fixed before the run:
made sets of seeds from 90000 (make_classification, 300 rows to train, 3,000 to test, 6 to 15 columns, half of them
informative, 2 or 3 classes; the factor on 1 to 4 % of the cells), the tree of at most four leaves with C = 1 and of C =
10, with and without. Every fourth set has a further column that is far out in half of the rows of the first class and
in no other. The nodes leave such columns out from then on if over all sets accuracy on rows with tails gains more than
two paired standard errors, on clean rows it loses less than one, and on the sets whose far cells tell a class less than
one.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.utils.random import sample_without_replacement

from benchmarks.constrained import had
from benchmarks.generalisation import OURS, heavy_twins, made
from odtc.algorithms.hyperplanes import penalised
from odtc.trees.tree import Branch
from tests import pipeline

SECONDS = 300
TRAIN, TEST = 8000, 100_000
FACTOR, HIT, FLIPPED, SAYING, BASE = 1e4, 0.02, 0.01, 6, 4  # of heavy_twins; columns that say something, and their rank


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--depths", default="2")
    words.add_argument("--splits", type=int, default=10)
    words.add_argument("--dense", action="store_true", help="-p sparse=false")
    words.add_argument("--source", action="store_true", help="many rows, and the rule of Bayes")
    words.add_argument("--made", type=int, help="so many made sets")
    words.add_argument("-o", "--out", type=Path, default=Path("tails.jsonl"))
    asked = words.parse_args()
    if asked.made:
        print(of_made_sets(asked.made, asked.out))
        return
    if asked.source:
        print(of_the_source(tuple(map(int, asked.depths.split(","))), not asked.dense))
        return
    twins = dict(zip(("clean", "tails"), heavy_twins()))
    params = {"seconds": SECONDS, "sparse": not asked.dense}
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


class Source:
    """The distribution that heavy_twins is a draw of: scikit-learn's generator with its seed, drawn as it draws."""

    def __init__(self, n: int = 400, seed: int = 11):
        rng = np.random.RandomState(seed)
        corners = sample_without_replacement(2**BASE, 4, random_state=rng)
        self.centre = 2.0 * (corners[:, None] >> np.arange(BASE)[::-1] & 1) - 1
        z = rng.standard_normal((n, BASE))
        self.mix = [2 * rng.uniform(size=(BASE, BASE)) - 1 for _ in corners]
        self.sums = 2 * rng.uniform(size=(BASE, SAYING - BASE)) - 1
        parts = np.split(z, 4)
        self.first = np.vstack([part @ mix + centre for part, mix, centre in zip(parts, self.mix, self.centre)])

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(rows without the factor, their classes)."""
        k = rng.integers(0, 4, n)
        u = np.einsum("ni,nij->nj", rng.normal(size=(n, BASE)), np.array(self.mix)[k]) + self.centre[k]
        y = np.where(rng.random(n) < FLIPPED, rng.integers(0, 2, n), k % 2)
        return np.hstack([u, u @ self.sums, rng.normal(size=(n, 2))]), y

    def bayes(self, X: np.ndarray) -> np.ndarray:
        """int64 (rows,): the class of the greater density."""
        density = np.zeros((len(X), 2))
        for k, (mix, centre) in enumerate(zip(self.mix, self.centre)):
            z = np.linalg.solve(mix.T, (X[:, :BASE] - centre).T)
            density[:, k % 2] += np.exp(-0.5 * (z**2).sum(axis=0)) / abs(np.linalg.det(mix))
        return density.argmax(axis=1)


def of_the_source(depths: tuple[int, ...], sparse: bool) -> str:
    """What trees of many rows and the rule of Bayes are right on, of clean rows and of rows with tails."""
    source, rng = Source(), np.random.default_rng(0)
    drawn, _ = make_classification(400, 8, n_informative=BASE, random_state=11, shuffle=False)
    if not np.allclose(drawn[:, :SAYING], np.hstack([source.first, source.first @ source.sums])):
        raise SystemExit("this version of scikit-learn draws otherwise: the source is not that of heavy_twins")
    X, y = source.draw(TRAIN + TEST, rng)
    hit = rng.random(X.shape) < HIT
    rows, few = {"clean": X, "tails": np.where(hit, FACTOR * X, X)}, hit[:, :SAYING].sum(axis=1) > SAYING - BASE
    right = 100 * (source.bayes(X[TRAIN:]) == y[TRAIN:]).mean()
    lines = [
        f"Bayes {right:.2f}; not by four {100 * few[TRAIN:].mean():.3f} %",
        "| depth | trained on | clean rows | rows with tails |",
    ]
    for depth, name in product(depths, rows):
        train = made(name, rows[name][:TRAIN], y[:TRAIN])
        fit = pipeline.fit(train, OURS, depth, params={"seconds": SECONDS, "sparse": sparse}, threads=1)
        found = [100 * (fit.tree.predict(rows[other][TRAIN:]) == y[TRAIN:]).mean() for other in rows]
        lines.append(f"| {depth} | {name} | {found[0]:.1f} | {found[1]:.1f} |")
    return "\n".join(lines)


def of_made_sets(sets: int, path: Path) -> str:
    """What nodes without the columns that they do not need gain on rows with tails and on clean ones."""
    found = had(path)
    for number in range(len(found), sets):
        found.append(one_made_set(90000 + number, number % 4 == 3))
        with path.open("a") as stream:
            stream.write(json.dumps(found[-1]) + "\n")
    lines = ["| C | sets | on | all columns | those that are needed | gain | CPU |", "|---" * 7 + "|"]
    for C, telling, on in product(("1", "10"), (None, False, True), ("clean", "tails")):
        mine = [one for one in found if telling is None or one["telling"] == telling]
        right = 100 * np.array([[one[C][way][on] for way in ("all", "needed")] for one in mine])
        cpu = np.divide(*(sum(one[C][way]["cpu"] for one in mine) for way in ("needed", "all")))
        gain = right[:, 1] - right[:, 0]
        told = {None: "all", False: "factor alone", True: "far cells tell a class"}[telling]
        lines.append(
            f"| {C} | {len(mine)}, {told} | {on} | {right[:, 0].mean():.1f} | {right[:, 1].mean():.1f} | "
            f"{gain.mean():+.2f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.2f} | {cpu:.1f} |"
        )
    return "\n".join(lines)


def one_made_set(seed: int, telling: bool) -> dict:
    """Accuracy of the trees of one set on clean rows and on rows with tails, with and without."""
    rng, n = np.random.default_rng(seed), 300
    d, K = int(rng.integers(6, 16)), int(rng.integers(2, 4))
    clean, y = make_classification(
        n + 3000, d, n_informative=d // 2, n_redundant=d // 4, n_classes=K, flip_y=0.05, random_state=seed
    )
    hit = rng.random(clean.shape) < rng.uniform(0.01, 0.04)
    tails = np.where(hit, FACTOR * clean, clean)
    if telling:
        says = np.where((y == 0) & (rng.random(len(y)) < 0.5), FACTOR, 1.0) * rng.normal(size=len(y))
        clean, tails = (np.column_stack([X, says]) for X in (clean, tails))
    low, high = np.quantile(tails[:n], [0.05, 0.95], axis=0)
    Z, loss = {"clean": (clean - low) / (high - low), "tails": (tails - low) / (high - low)}, 1.0 - np.eye(K)[y[:n]]
    found: dict = {"seed": seed, "telling": telling}
    for C, way in product((1.0, 10.0), ("all", "needed")):
        began = time.process_time()
        model = penalised._of_near_rows if way == "all" else penalised._penalised
        with mock.patch.object(penalised, "_penalised", model):
            tree = penalised.Grower(2, 0, False).paths(Z["tails"][:n], loss, np.inf, (C,))["tree", C][0]
        right = {name: float((tree.predict(rows[n:]) == y[n:]).mean()) for name, rows in Z.items()}
        found.setdefault(f"{C:g}", {})[way] = right | {"cpu": time.process_time() - began}
    return found


if __name__ == "__main__":
    main()
