"""Held-out accuracy of trees of hyperplanes beside CART, tuned CART, logistic regression and the majority.

    python -m benchmarks.generalisation -o generalisation.jsonl [--sets iris,wine] [--own] [--depths 2,3] [--splits 10]

Fixed before the first run, for all sets alike. Split s: 75 % of the rows train, drawn by class (scikit-learn's
train_test_split, seed s), the others test. What is chosen is chosen on the training rows of the split:

    majority        the class of most training rows
    cart            scikit-learn's tree of the depth, nothing chosen
    cart_tuned      of the depth at most: impurity gini or entropy, leaves of 1, 5 or 10 rows, ccp_alpha 0, .001, .003,
                    .01, .03, by 5 folds
    logistic        scikit-learn's LogisticRegressionCV on standardised columns, 10 values of C, 5 folds
    oblique_search  `odtc fit --model oblique_search` of the depth with its defaults and 120 s

The sets: the 19 of Tables 1 to 5 of papers/000 and 003 (in $ODTC_DATA or ../shared/data); with --own instead those of
scikit-learn and of its generators that no version of the search was tried on; --sets may name any other NAME.csv or
NAME.csv.gz of that folder, whose last column is the class. Levels become indicators; numbers
with missing cells are left out, as no hyperplane weighs them, for all but nothing else.

One line of JSON a cell, appended when it is done, split after split; what the file has already is not run again, and
`--beside FILE` takes the other models' figures, which do not change with ours, from the cells of an earlier file. The
table: means over the splits with their standard errors, and over the sets the signed-rank test of Wilcoxon of
oblique_search beside each other one, p by Holm. Seconds are CPU time.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.beside import BESIDE, beside
from benchmarks.constrained import had
from benchmarks.data import data_file, expect_data_files
from benchmarks.oblique import SETS as PRINTED
from odtc import read
from odtc.data.dataset import Dataset, Feature
from odtc.trees.tree import Branch
from tests import pipeline

SETS = sorted({name.partition("@")[0] for name, paper in PRINTED.items() if paper.beta is None})
OURS = "oblique_search"
SECONDS = 120.0


def made(name: str, X, y) -> Dataset:
    """A data set of arrays: columns x0, x1, …, classes 0, 1, …."""
    y = np.unique(y, return_inverse=True)[1].astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(X.shape[1]))
    return Dataset(name, np.asarray(X, float), y, features, tuple(map(str, range(y.max() + 1))), np.ones(len(y)))


def own_sets() -> dict[str, Dataset]:
    """Sets that were not looked at while the search was made, but for the last two of its tests' kinds."""
    from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_hastie_10_2, make_moons

    digits = load_digits(return_X_y=True)
    found = [
        made("breast-cancer-diagnostic", *load_breast_cancer(return_X_y=True)),
        made("digits-odd", digits[0], digits[1] % 2),
        made("moons", *make_moons(400, noise=0.3, random_state=11)),
        made("hastie", *make_hastie_10_2(800, random_state=11)),
    ]
    for classes, flip in ((2, 0.05), (2, 0.3), (3, 0.1), (5, 0.1)):
        X, y = make_classification(
            500, 15, n_informative=6, n_redundant=3, n_classes=classes, flip_y=flip, random_state=classes
        )
        found.append(made(f"made-{classes}-{flip:g}", X, y))
    rng, (_, tails) = np.random.default_rng(11), heavy_twins()
    rng.random(tails.X.shape)  # the noise comes behind the draws of the tails
    found.append(tails)
    found.append(made("noise", rng.normal(size=(300, 10)), rng.random(300) < 0.4))
    return {one.name: one for one in found}


def heavy_twins() -> tuple[Dataset, Dataset]:
    """Rows, and the same with a factor of 10,000 on some of their cells."""
    from sklearn.datasets import make_classification

    X, y = make_classification(400, 8, n_informative=4, random_state=11)
    factor = np.where(np.random.default_rng(11).random(X.shape) < 0.02, 1e4, 1.0)
    return made("clean", X, y), made("heavy-tails", X * factor, y)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("generalisation.jsonl"))
    words.add_argument("--sets", default=None, help="names between commas")
    words.add_argument("--own", action="store_true", help="the sets that need no data folder")
    words.add_argument("--depths", default="2,3")
    words.add_argument("--splits", type=int, default=10)
    words.add_argument(
        "--beside", type=Path, help="a file of an earlier run: what its cells say of the other models is taken"
    )
    words.add_argument("--dense", action="store_true", help="-p sparse=false for oblique_search; in a file of its own")
    words.add_argument("--table", action="store_true", help="run nothing, print the table")
    asked = words.parse_args()
    own = own_sets() if asked.own else {}
    names = list(own) if asked.own else SETS
    if asked.sets:
        unknown = sorted(set(asked.sets.split(",")) - set(names))
        if unknown and asked.own:
            words.error(f"expected --sets of {', '.join(names)}, got {', '.join(unknown)}")
        names = asked.sets.split(",")
    if not asked.own and not asked.table:
        expect_data_files(words, names, ", or take --own")
    warnings.simplefilter("ignore")
    found, earlier = had(asked.out), had(asked.beside) if asked.beside else []
    depths = list(map(int, asked.depths.split(",")))
    for split, name, depth in product(range(asked.splits), names, depths) if not asked.table else ():
        key = {"set": name, "depth": depth, "split": split}
        if any(key.items() <= record.items() for record in found):
            continue
        dataset = own[name] if own else read(data_file(name))
        known = next((one for one in earlier if key.items() <= one.items()), None)
        found.append(
            key | run(dataset, depth, split, known and {model: known[model] for model in BESIDE}, not asked.dense)
        )
        with asked.out.open("a") as stream:
            stream.write(json.dumps(found[-1]) + "\n")
    print(table([record for record in found if record["set"] in names and record["depth"] in depths]))


def run(dataset: Dataset, depth: int, split: int, facts: dict | None = None, sparse: bool = True) -> dict:
    """Test accuracy of every model (`facts` are those of the other models, if known), the leaves of ours, the mean
    number of columns that its nodes ask, and CPU seconds."""
    inside, outside = train_test_split(
        np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=split
    )
    train, test = dataset.taken(np.sort(inside)), dataset.taken(np.sort(outside))
    if facts is None:
        facts = {name: test for name, (_, test) in beside(dataset, np.sort(inside), np.sort(outside), depth).items()}
    y_test = test.y
    began = time.process_time()
    fit = pipeline.fit(train, OURS, depth, params={"seconds": SECONDS, "sparse": sparse}, threads=1)
    asked = [len(node.split.features) for node, _ in fit.tree.walk() if isinstance(node, Branch)]
    return facts | {
        OURS: float((fit.tree.predict(test.X) == y_test).mean()),
        "leaves": fit.tree.n_leaves,
        "columns": float(np.mean(asked)) if asked else 0.0,
        "cpu": round(time.process_time() - began, 2),
        "note": fit.decoded.solution.message,
    }


def table(found: list[dict]) -> str:
    """One line a set and depth, the means, and the tests."""
    models = (*BESIDE, OURS)
    cells = sorted({(record["depth"], record["set"]) for record in found})
    lines = [f"| set@depth | splits | {' | '.join(models)} | leaves | CPU s |", "|---" * (len(models) + 4) + "|"]
    means = []
    for depth, name in cells:
        mine = [record for record in found if (record["depth"], record["set"]) == (depth, name)]
        right = np.array([[record[model] for model in models] for record in mine])
        error = right.std(axis=0, ddof=1) / np.sqrt(len(mine)) if len(mine) > 1 else np.zeros(len(models))
        means.append((depth, right.mean(axis=0), error))
        shown = " | ".join(f"{100 * mean:.1f} ± {100 * e:.1f}" for mean, e in zip(right.mean(axis=0), error))
        leaves, cpu = (np.mean([record[word] for record in mine]) for word in ("leaves", "cpu"))
        lines.append(f"| {name}@{depth} | {len(mine)} | {shown} | {leaves:.1f} | {cpu:.1f} |")
    for depth in sorted({depth for depth, _, _ in means}):
        right = np.array([mean for at, mean, _ in means if at == depth])
        lines += ["", f"Depth {depth}, {len(right)} sets, means: " + compared(models, right)]
        ours, most = right[:, -1], right[:, 0] - np.array([error[-1] for at, _, error in means if at == depth])
        lines.append(f"Below the majority by more than a standard error on {int((ours < most).sum())} sets.")
    return "\n".join(lines)


def compared(models: tuple[str, ...], right: np.ndarray) -> str:
    """The means of each model, and for each but the last the p of Wilcoxon's test beside the last, by Holm."""
    from scipy.stats import wilcoxon

    text = ", ".join(f"{model} {100 * mean:.1f}" for model, mean in zip(models, right.mean(axis=0)))
    if len(right) < 6:
        return f"{text}; too few sets to test"
    p = np.array([wilcoxon(right[:, -1], right[:, k]).pvalue for k in range(len(models) - 1)])
    order, holm, least = np.argsort(p), np.empty(len(p)), 0.0
    for rank, k in enumerate(order):
        holm[k] = least = max(least, min(1.0, (len(p) - rank) * p[k]))
    return f"{text}; Wilcoxon of {models[-1]} beside " + ", ".join(
        f"{model} p = {value:.2g}" for model, value in zip(models, holm)
    )


if __name__ == "__main__":
    main()
