"""Tables of numbers that a name describes, as `parity-60000x12x3`: a rule, rows, columns, classes; it is the seed, too.

parity: the class is how many of two sums are positive, x0 - 0.3 and x1 · x2, so that no single test tells much;
linear: which slice of equal weight a sum of half of the columns and noise lies in; coin: drawn by lot. 15 of 100 rows
of parity have a random class. Shapes of real life: planted, a tree of depth 5 over skewed numbers of two decimals;
whole, the same over whole numbers of 2 to 60 values; mixed, every other column has names of 3 to 12 levels; factor,
columns that go together, as they are sums of four factors, whose products decide; rare, few rows are not of the first
class, where two numbers are large together; clusters, scikit-learn's make_classification. 15 of 100 rows of these have
a class by lot, of rare 3 of 100, which leaves the first class 9 of 10 rows or so.
"""

import re
import zlib
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import make_classification

FOLDER = Path(".venv/made-tables").resolve()  # cells run in folders of their own
RULES = "parity|linear|coin|planted|whole|mixed|factor|rare|clusters"
NAME = re.compile(rf"({RULES})-(\d+)x(\d+)x(\d+)")
DEPTH = 5  # of a planted tree
LOT = 0.15  # rows that have a class by lot


def is_made(name: str) -> bool:
    """Whether a name describes a table."""
    return bool(NAME.fullmatch(name))


def made_file(name: str) -> Path:
    """The CSV file of a table, written when it is first asked for.

    Parameters
    ----------
    name : str
        RULE-ROWSxCOLUMNSxCLASSES.

    Returns
    -------
    Path
    """
    path = FOLDER / f"{name}.csv"
    if not path.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        rule, *sizes = NAME.fullmatch(name).groups()
        X, y = _rows(rule, *map(int, sizes), np.random.default_rng(zlib.crc32(name.encode())))
        columns = {f"x{number}": column for number, column in enumerate(X.T)}
        if rule == "mixed":
            names = [[f"level {level:.0f}" for level in column] for column in X.T[1::2]]
            columns |= {f"x{2 * at + 1}": column for at, column in enumerate(names)}
        pl.DataFrame({**columns, "class": y}).write_csv(path)
    return path


def _rows(rule, rows, columns, classes, random):
    if rule in OF_REAL_LIFE:
        X, y = OF_REAL_LIFE[rule](rows, columns, classes, random)
        part = LOT / 5 if rule == "rare" else LOT
        return X, np.where(random.random(rows) < part, random.integers(0, classes, rows), y)
    X = random.normal(size=(rows, columns)).round(4)
    by_lot = random.integers(0, classes, rows)
    if rule == "coin":
        return X, by_lot
    if rule == "parity":
        y = ((X[:, 0] > 0.3).astype(int) + (X[:, 1] * X[:, 2] > 0)) % classes
        return X, np.where(random.random(rows) < 0.15, by_lot, y)
    half = X[:, : max(1, columns // 2)].sum(axis=1)
    score = half + random.normal(size=rows) * half.std()
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def _planted(rows, columns, classes, random):
    X = np.exp(random.normal(size=(rows, columns)) * random.uniform(0.3, 1.5, columns)).round(2)
    return X, _by_tree(X, classes, random)


def _whole(rows, columns, classes, random):
    X = (random.beta(1.5, 3, size=(rows, columns)) * random.integers(2, 61, columns)).astype(int)
    return X, _by_tree(X, classes, random)


def _mixed(rows, columns, classes, random):
    X = random.gamma(2.0, 10.0, size=(rows, columns)).round(1)
    for column in range(1, columns, 2):
        levels = random.integers(3, 13)
        X[:, column] = random.choice(levels, rows, p=random.dirichlet(np.full(levels, 2.0)))
    return X, _by_tree(X, classes, random)


def _factor(rows, columns, classes, random):
    factors = random.normal(size=(rows, 4))
    X = factors @ random.normal(size=(4, columns)) + 0.7 * random.normal(size=(rows, columns))
    score = factors[:, 0] * factors[:, 1] + np.abs(factors[:, 2]) + 0.5 * factors[:, 3]
    return X.round(3), np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def _rare(rows, columns, classes, random):
    X = random.standard_t(4, size=(rows, columns)).round(3)
    score = np.minimum(X[:, 0], X[:, 1]) + 0.5 * np.abs(X[:, 2]) - 0.4 * X[:, 3]
    ends = np.quantile(score, 1 - 0.08 * 0.5 ** np.arange(classes - 1))
    return X, np.searchsorted(ends, score)


def _clusters(rows, columns, classes, random):
    drawn = {"n_informative": max(4, columns // 3), "n_redundant": columns // 4, "n_clusters_per_class": 3}
    seed = int(random.integers(2**31))
    X, y = make_classification(rows, columns, n_classes=classes, class_sep=0.8, flip_y=0, random_state=seed, **drawn)
    return X.round(4), y


def _by_tree(X, classes, random):
    """The class of each row by a random tree, with tests at 3 to 7 of 10 of the rows that come to them."""
    y, parts = np.empty(len(X), int), [np.arange(len(X))]
    for _ in range(DEPTH):
        halves = []
        for part in parts:
            column = X[part, random.integers(X.shape[1])]
            right = column > np.quantile(column, random.uniform(0.3, 0.7)) if len(part) else np.zeros(0, bool)
            halves += [part[~right], part[right]]
        parts = halves
    for part in parts:
        y[part] = random.integers(classes)
    return y


OF_REAL_LIFE = {
    "planted": _planted,
    "whole": _whole,
    "mixed": _mixed,
    "factor": _factor,
    "rare": _rare,
    "clusters": _clusters,
}
