"""Accuracy on new rows of trees that split on sets of levels, compared with trees that split on single levels.

    python -m benchmarks.subsets [-o subsets.csv] [--depths 2,3] [--splits 10]

Fixed before the first run. The tables are all tables of $ODTC_DATA or ../shared/data with categorical columns; coded
levels are declared as categories, as their description names them (of ordinal codes, those that the papers use as
categories, and dermatology). Split s: 75 % of the rows train, drawn by class (scikit-learn's train_test_split, seed s),
the others test. Both trees are those of the default command with a time limit of 10 seconds:

    before   `odtc fit --encoding auto:levels=3`: one level in each split
    after    `odtc fit`: sets of levels where `auto` takes them

The file has a line for each table and depth with the mean accuracy over the splits. Over the tables: the signed-rank
test of Wilcoxon for each depth. Where no column has four levels or more, both trees are the same, and the test leaves
the table out.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.model_selection import train_test_split

import odtc
from benchmarks.data import data_file, expect_data_files

ALL = "all"
# Table -> its columns of coded levels; those of words are categories anyway.
TABLES = {
    "adult": "",
    "adult_test": "",
    "balance-scale": ALL,
    "car-evaluation": "",
    "car-evaluation_papers": ALL,
    "compas_6172": "",
    "compas_all": "",
    "default-credit-card": "SEX,EDUCATION,MARRIAGE",
    "dermatology": ALL,
    "german-credit": "",
    "hayes-roth": ALL,
    "heart-cleveland": "sex,cp,fbs,restecg,exang,slope,thal",
    "house-votes-84": "",
    "kr-vs-kp": "",
    "monks-1": ALL,
    "monks-2": ALL,
    "monks-3": ALL,
    "seismic-bumps": "",
    "soybean-small": ALL,
    "tic-tac-toe": "",
}
NUMBERS = ("age",)  # of the columns of a table with coded levels
ENCODINGS = {"before": "auto:levels=3", "after": "auto"}
SECONDS = 10


def table(name: str):
    """Read a table with its coded levels as categories."""
    path = data_file(name)
    coded = TABLES[name].split(",")
    if coded == [ALL]:
        numbers = NUMBERS if name == "dermatology" else ()
        coded = [one.name for one in odtc.read(path).features if one.name not in numbers]
    return odtc.read(path, categorical=[one for one in coded if one])


def accuracies(dataset, depth: int, seed: int) -> dict[str, float]:
    """Return the share of correct test rows of both trees of a split of the rows."""
    inside, outside = train_test_split(np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=seed)
    train, test = dataset.taken(np.sort(inside)), dataset.taken(np.sort(outside))
    fits = {
        name: odtc.fit(train, depth=depth, encoding=encoding, time_limit=SECONDS)
        for name, encoding in ENCODINGS.items()
    }
    shares = {name: float((fit.tree.predict(test.X) == test.y).mean()) for name, fit in fits.items()}
    return shares | {f"proved_{name}": float(fit.proof.termination == "optimal") for name, fit in fits.items()}


def main() -> None:
    """Run the study, and print the tests."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("subsets.csv"))
    words.add_argument("--depths", default="2,3")
    words.add_argument("--splits", type=int, default=10)
    given = words.parse_args()
    expect_data_files(words, TABLES)
    fields = ["table", "depth", "before", "after", "proved_before", "proved_after"]
    lines = []
    with given.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fields, lineterminator="\n")
        writer.writeheader()
        for depth in map(int, given.depths.split(",")):
            for name in TABLES:
                dataset = table(name)
                found = [accuracies(dataset, depth, seed) for seed in range(given.splits)]
                means = {field: round(float(np.mean([one[field] for one in found])), 4) for field in found[0]}
                lines.append({"table": name, "depth": depth} | means)
                writer.writerow(lines[-1])
                stream.flush()
    for depth in sorted({line["depth"] for line in lines}):
        gain = np.array([line["after"] - line["before"] for line in lines if line["depth"] == depth])
        p = wilcoxon(gain[gain != 0]).pvalue if gain.any() else 1.0
        print(
            f"depth {depth}: {(gain > 0).sum()} tables better, {(gain < 0).sum()} worse, {(gain == 0).sum()} equal; "
            f"mean {gain.mean():+.4f}, p = {p:.3f}"
        )


if __name__ == "__main__":
    main()
