"""Tables of numbers that a name describes, as `parity-60000x12x3`: a rule, rows, columns, classes; it is the seed, too.

parity: the class is how many of two sums are positive, x0 - 0.3 and x1 · x2, so that no single test tells much; linear:
which slice of equal weight a sum of half of the columns and noise lies in; coin: drawn by lot. 15 of 100 rows of parity
have a random class.
"""

import re
import zlib
from pathlib import Path

import numpy as np
import polars as pl

FOLDER = Path(".venv/made-tables").resolve()  # cells run in folders of their own
NAME = re.compile(r"(parity|linear|coin)-(\d+)x(\d+)x(\d+)")


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
        pl.DataFrame({**columns, "class": y}).write_csv(path)
    return path


def _rows(rule, rows, columns, classes, random):
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
